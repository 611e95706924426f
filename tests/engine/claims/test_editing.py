"""A claim is taken out of its caption with its separator; every other character stays."""

import pytest

from backend.engine.claims.claim import Claim
from backend.engine.claims.editing import place_in, without, without_all
from backend.engine.claims.finding import find_claims

PROSE = [
    ("A dog. A cat. It rains.", "A cat.", "A dog. It rains."),
    ("A dog. A cat. It rains.", "A dog.", "A cat. It rains."),
    ("A dog. A cat. It rains.\n", "It rains.", "A dog. A cat.\n"),
    ("A dog.  A cat.\n\nIt rains.", "A cat.", "A dog.\n\nIt rains."),
    ("A dog.\n\nA cat. It rains.", "A cat.", "A dog.\n\nIt rains."),
    ("A dog.\n\nA cat.\n\nIt rains.", "A cat.", "A dog.\n\nIt rains."),
    ("# Scene\n- A dog.\n- A cat.\n- It rains.", "A cat.", "# Scene\n- A dog.\n- It rains."),
    ("- A dog runs.\n- A cat.", "A cat.", "- A dog runs."),
    ("- A dog runs. A cat.\n- It rains.", "A dog runs.", "- A cat.\n- It rains."),
    ("A dog. “A cat.” It rains 🐈.", "It rains 🐈.", "A dog. “A cat.”"),
]  # fmt: skip
TAGS = [
    ("1girl, long_hair, smile, hat", "long_hair", "1girl, smile, hat"),
    ("1girl, long_hair, smile, hat", "1girl", "long_hair, smile, hat"),
    ("1girl, long_hair, smile, hat", "hat", "1girl, long_hair, smile"),
    ("1girl,(long_hair:1.2),smile,hat", "long_hair", "1girl,smile,hat"),
    ("1girl, ((long_hair)), smile, hat", "long_hair", "1girl, smile, hat"),
    ("1girl, (red, hat:1.2), smile", "red", "1girl, ( hat:1.2), smile"),
    ("1girl, saber \\(fate\\), smile, hat", "saber \\(fate\\)", "1girl, smile, hat"),
    ("1girl\nlong_hair\nsmile\nhat", "smile", "1girl\nlong_hair\nhat"),
    ("1girl, smile, hat, red, <lora:x:1>", "red", "1girl, smile, hat, <lora:x:1>"),
]


@pytest.mark.parametrize(("text", "words", "after"), PROSE)
def test_a_sentence_goes_with_the_white_space_on_one_side(
    text: str, words: str, after: str
) -> None:
    (claim,) = [claim for claim in find_claims(text) if claim.of(text) == words]
    assert without(text, claim) == after


@pytest.mark.parametrize(("text", "words", "after"), TAGS)
def test_a_tag_goes_with_its_separator_brackets_and_weight(
    text: str, words: str, after: str
) -> None:
    (claim,) = [claim for claim in find_claims(text, "tags") if claim.of(text) == words]
    assert without(text, claim) == after


@pytest.mark.parametrize(("text", "division"), [(PROSE[0][0], "auto"), (TAGS[0][0], "tags")])
def test_nothing_is_left_without_all_claims(text: str, division: str) -> None:
    assert without_all(text, find_claims(text, division)).strip() == ""  # type: ignore[arg-type]


def test_a_claim_is_found_in_the_caption_that_was_edited() -> None:
    caption = "A dog. A cat. A dog."
    dog, cat, again = find_claims(caption)
    assert place_in(caption, caption, dog) == dog
    assert place_in("A big dog. A cat. A dog.", caption, cat) == Claim(11, 17)
    assert place_in("A dog. A cow. A dog.", caption, cat) is None
    assert place_in("A dog. A cow. A dog.", caption, again) == Claim(14, 20, repeats=True)
    assert place_in("A dog. A dog. Both.", caption, dog) == Claim(0, 6)
    assert place_in("Hotdog", "dog", Claim(0, 3)) is None
