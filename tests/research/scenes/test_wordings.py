"""Drawn scenes in other languages: the models know every word, and errors are marked."""

import random

import pytest

from backend.engine.captions import Caption
from backend.engine.languages.identification import usual_language
from backend.engine.model_fit import check_tokenizer
from backend.errors import ModelMismatch
from research.scenes.architecture import TOKENS, make_tokenizer
from research.scenes.examples import LONGEST, short_description
from research.scenes.noise import fine_grained
from research.scenes.wordings import ENGLISH, wording_of
from research.scenes.world import make_scene

LANGUAGES = ("en", "de", "zh")
#: The numbers of a language's full stop and comma.
MARKS = (5, 6)


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_tokenizer_reads_every_word(code: str) -> None:
    wording, rng = wording_of(code), random.Random(1)
    assert (len(wording.tokens), wording.tokens[:5]) == (len(TOKENS), TOKENS[:5])
    tokenizer = make_tokenizer(wording.tokens)
    check_tokenizer("a model", tokenizer, len(TOKENS))
    texts: list[str] = []
    for _ in range(100):
        description = short_description(make_scene(rng), rng, wording)
        numbers = wording.token_numbers(wording.words(description))
        text = wording.text(description)
        read = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert len(numbers) <= LONGEST
        assert tokenizer.unk_token_id not in read
        assert [n for n in read if n not in MARKS] == [n for n in numbers if n not in MARKS]
        texts.append(text)
    assert usual_language(texts).code == code


@pytest.mark.parametrize("code", LANGUAGES)
def test_what_makes_a_caption_false_is_marked(code: str) -> None:
    wording, rng = wording_of(code), random.Random(2)
    marked = 0
    for _ in range(100):
        scene = make_scene(rng)
        description = short_description(scene, rng, wording)
        false = fine_grained(description, scene, rng)
        if false is None:
            continue
        changed = wording.is_changed(description, false.description)
        assert len(changed) == len(wording.token_numbers(wording.words(false.description)))
        marked += any(changed)
    assert marked > 60


def test_words_of_the_grammar_are_words_of_captions() -> None:
    wording, rng = wording_of("zh"), random.Random(3)
    whole = total = 0
    for _ in range(200):
        description = short_description(make_scene(rng), rng, wording)
        words = Caption.parse(wording.text(description)).words
        of_grammar = [word for word in wording.words(description) if word != "，"]
        total += len(of_grammar)
        whole += sum(word in words for word in of_grammar)
    assert whole / total > 0.95


def test_english_is_the_same_as_ever() -> None:
    rng = random.Random(4)
    description = short_description(make_scene(rng), rng, ENGLISH)
    assert ENGLISH.words(description) == description.words
    assert ENGLISH.text(description) == description.text


def test_a_tokenizer_of_no_language_is_refused() -> None:
    tokens = (*TOKENS[:5], *(f"[x{number}]" for number in range(len(TOKENS) - 5)))
    with pytest.raises(ModelMismatch):
        check_tokenizer("a model", make_tokenizer(tokens), len(tokens))
