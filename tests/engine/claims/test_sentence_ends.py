"""Where sentences of captions end, over 300 captions in the forms that models and people write."""

from pathlib import Path

import pytest

from backend.engine.claims.sentence_ends import sentence_ranges
from backend.engine.claims.sentences import sentences_of

LINES = (Path(__file__).parent / "sentence_ends.txt").read_text("utf-8").splitlines()
CAPTIONS = [line.split(" | ") for line in LINES if not line.startswith("#")]


def test_sentences_of_captions_end_where_a_reader_ends_them() -> None:
    """At least 99 of 100 ends, of those that are there and those that were found."""
    right = wrong = 0
    for sentences in CAPTIONS:
        text = " ".join(sentences)
        expected = {len(" ".join(sentences[: n + 1])) for n in range(len(sentences))}
        actual = {claim.end for claim in sentences_of(text)}
        right += len(expected & actual)
        wrong += len(expected ^ actual)
    assert len(CAPTIONS) == 300
    assert right / (right + wrong) >= 0.99


@pytest.mark.parametrize("sentences", CAPTIONS)
def test_the_pieces_join_to_the_text(sentences: list[str]) -> None:
    text = "\n".join(sentences)
    assert "".join(text[start:end] for start, end in sentence_ranges("en", text)) == text


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("J. K. Rowling smiles.", ["J. K. Rowling smiles."]),
        ("A. A dog runs.\nB. A cat sleeps.", ["A dog runs.", "A cat sleeps."]),
        ("B. Jones stands.\nHe waves.", ["B. Jones stands.", "He waves."]),
        ("a) A dog runs.", ["A dog runs."]),
        ("Z. Zidane runs.\n[ A dog.", ["Z. Zidane runs.", "[ A dog."]),
    ],
)
def test_an_initial_is_no_mark_of_a_list(text: str, claims: list[str]) -> None:
    assert [claim.of(text) for claim in sentences_of(text)] == claims
