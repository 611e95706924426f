"""The data of languages: what each file says is used, and errors made by it are right in form."""

import random

import pytest

from backend.engine.captions import Caption
from backend.engine.detection.localisation import has_content, most_suspect
from backend.engine.detection.types import SuspectWord
from backend.engine.english.word_kinds import WORD_KINDS, kind_of
from backend.engine.languages.language import KINDS, LANGUAGES, language_by_name
from backend.engine.noise.edits import OTHER, edits_by, rules_in
from backend.engine.noise.fine_grained import FineGrainedNoise
from backend.engine.noise.injection import ImageCaption, inject

CAPTIONS = {
    "de": "Ein roter Hund und zwei Katzen auf der Straße",
    "es": "Dos perros rojos con una pelota azul en la playa",
    "fr": "Deux chiens noirs avec une voiture rouge sur la plage",
    "zh": "两只红色的狗坐在长椅上面，在公园里。",
    "ja": "公園で赤い自転車に乗る男性と二匹の犬",
}
WITH_WORDS = [code for code, each in LANGUAGES.items() if each.groups]


@pytest.mark.parametrize("code", WITH_WORDS)
def test_a_language_has_the_usual_kinds_and_no_word_without_one(code: str) -> None:
    language = LANGUAGES[code]
    kinds = {group.kind for group in language.groups}
    assert {"colour", "count", "person", "object", "place"} <= kinds <= set(KINDS)
    assert kinds <= set(WORD_KINDS)
    listed = {word for group in language.groups for word in group.words.values()}
    assert {word for word in language.may_both_be_true if word not in listed} == set()


@pytest.mark.parametrize("code", WITH_WORDS)
def test_errors_keep_the_form_of_the_word_and_are_marked(code: str) -> None:
    rng, text = random.Random(0), CAPTIONS[code]
    source = FineGrainedNoise([text])
    assert source.language is LANGUAGES[code]
    kinds = set()
    for _ in range(60):
        noisy = source.make(text, rng)
        assert noisy is not None
        kinds |= set(noisy.kinds)
        marked = {noisy.text[start:end].lower() for start, end in noisy.changed}
        before = {word.lower() for word in Caption.parse(text).words}
        assert marked - before
        assert not marked & before or "negation" in noisy.kinds  # what it denies is marked too
    assert {"colour", "number", "noun"} <= kinds


@pytest.mark.parametrize(
    ("code", "text", "gained"),
    [
        ("de", "roter", {"gelber", "grüner", "blauer", "brauner", "weißer", "schwarzer", "grauer",
                         "violetter", "beiger"}),
        ("fr", "blanche", {"verte", "bleue", "noire", "brune", "grise", "violette"}),
        ("es", "rojas", {"amarillas", "negras", "blancas", "moradas"}),
        ("zh", "红", set("橙黄绿蓝紫粉棕白黑灰")),
    ],
)  # fmt: skip
def test_a_word_is_exchanged_for_the_same_form_of_others(
    code: str, text: str, gained: set[str]
) -> None:
    edits = edits_by(rules_in(LANGUAGES[code]), Caption.parse(text))
    assert {edit.gained for edit in edits} == gained


def test_a_language_without_words_takes_those_of_the_dataset() -> None:
    captions = ["Um cachorro em um banco", "Um gato em um banco", "Um gato em uma mesa"]
    source, rng = FineGrainedNoise(captions), random.Random(0)
    assert not source.language.groups
    noisy = source.make(captions[0], rng)
    assert noisy is not None
    assert (noisy.text, noisy.kinds) == ("Um gato em um banco", (OTHER,))


def test_captions_of_several_languages_each_get_errors_in_their_own() -> None:
    rng = random.Random(0)
    captions = [*CAPTIONS.values(), "Two red dogs on a bench in the park"]
    source = FineGrainedNoise(captions)
    for text in captions:
        noisy = source.make(text, rng)
        assert noisy is not None
        assert OTHER not in noisy.kinds


@pytest.mark.parametrize("code", WITH_WORDS)
def test_swaps_that_share_a_noun(code: str) -> None:
    text = CAPTIONS[code]
    other = text + (" X" if code != "zh" else "天")
    pairs = [ImageCaption("1", text), ImageCaption("2", other), ImageCaption("3", "???")]
    noisy = inject(pairs, 1.0, ["noun"])
    assert noisy[0] is not None
    assert noisy[0].text == other


def test_kinds_and_function_words_are_those_of_the_language() -> None:
    words = {"de": "Hunde", "fr": "voitures", "es": "perros", "zh": "自行车", "ja": "自転車"}
    assert {kind_of(word, LANGUAGES[code]) for code, word in words.items()} == {"object"}
    assert kind_of("红色", language_by_name("han")) == "colour"
    assert not has_content(["的", "两"], LANGUAGES["zh"])
    text = CAPTIONS["zh"]
    suspects = [SuspectWord(a, b, 0.9 if text[a:b] == "在" else 0.7 * (text[a:b] == "长椅"))
                for a, b in Caption.parse(text).spans]  # fmt: skip
    assert [text[word.start : word.end] for word in most_suspect(text, suspects)] == ["长椅"]


def test_a_script_without_a_file_has_no_words() -> None:
    assert not language_by_name("thai").words
