# ruff: noqa: SIM905  (a list of words reads better as a line of text)
"""Phrases against captions checked by hand, and their properties. The grammar's own claims are in
tests/research/scenes/test_claimed_phrases.py: the engine does not know the drawn world."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.engine.captions import Caption
from backend.engine.english.phrases import phrases_of

CHECKED = Path(__file__).with_name("hand_checked_captions.tsv")


def hand_checked() -> list[tuple[str, set[tuple[int, int, str]]]]:
    """Captions in the style of COCO with their phrases, in text order."""
    checked = []
    for line in CHECKED.read_text(encoding="utf-8").splitlines():
        caption, _, listed = line.partition("\t")
        spans, place = set(), 0
        for entry in listed.split("|"):
            kind, _, text = entry.partition(":")
            place = caption.index(text, place)
            spans.add((place, place + len(text), kind))
            place += len(text)
        checked.append((caption, spans))
    return checked


def extracted(caption: str) -> set[tuple[int, int, str]]:
    return {(p.start, p.end, p.kind) for p in phrases_of(caption)}


def test_phrases_agree_with_hand_checked_captions() -> None:
    checked = hand_checked()
    assert len(checked) == 100
    right = sum(len(extracted(caption) & truth) for caption, truth in checked)
    total = sum(len(extracted(caption)) + len(truth) for caption, truth in checked)
    assert 2 * right / total >= 0.95


@pytest.mark.parametrize(
    ("caption", "phrases"),
    [
        ("", []),
        ("!? …", []),
        ("DSC_0042.JPG 2024", []),
        ("犬が走っている", []),
        ("A dog beside a dog", ["dog", "beside", "dog"]),
        ("A picture of an orange", ["orange"]),
        ("The orange cat's tail", ["orange", "cat's", "tail"]),
        ("Two teddy bears to the LEFT of a man.", ["Two", "teddy bears", "to the LEFT of", "man"]),
    ],
)
def test_special_captions(caption: str, phrases: list[str]) -> None:
    assert [phrase.text(caption) for phrase in phrases_of(caption)] == phrases


def test_phrases_beyond_what_the_model_reads_are_left_out() -> None:
    caption = "A red bus beside a tree"
    assert [p.text(caption) for p in phrases_of(caption, words_read=3)] == ["red", "bus"]


@given(st.text(max_size=80) | st.lists(st.sampled_from(
    (
    "a the red dog man's riding on of to left top in front two sunny covered with it and "
    ", is living room each other hot-dog"
    ).split()), max_size=14).map(" ".join))  # fmt: skip
def test_phrases_of_any_text_are_valid(text: str) -> None:
    """Phrases lie within the text, do not overlap, and their heads are words of the caption."""
    caption = Caption.parse(text)
    end = 0
    for phrase in phrases_of(text):
        assert end <= phrase.start <= phrase.head_start < phrase.head_end <= phrase.end
        assert caption.spans[phrase.word] == (phrase.head_start, phrase.head_end)
        end = phrase.end
