"""The contact sheet of bags: hostile captions are escaped, unreadable pictures leave a gap."""

import pytest

from backend.errors import ImageError
from backend.features.specificity.bags import Picture, contact_sheet
from backend.features.specificity.picture_bags import Bag
from tests.hostile.markup import HOSTILE, Structure, harmless

BAGS = {2: [Bag((0, 1), 0.875)]}


def sheet(text: str) -> str:
    pictures = {0: Picture(text, 1, [text, "not shown"]), 1: Picture("p1", 2, ["A cat."])}
    return contact_sheet(BAGS, pictures, lambda pair, size: b"jpeg")


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_escaped(text: str) -> None:
    result, expected = Structure(sheet(text)), Structure(sheet(harmless(text)))
    assert result.shape == expected.shape
    whole = "\n".join([result.text, *result.attributes])
    assert [word for word in text.split() if word not in whole] == []


def test_pictures_are_embedded_and_missing_ones_left_out() -> None:
    def thumbnail(pair: int, size: int) -> bytes:
        if pair == 2:
            raise ImageError("no picture")
        return b"jpeg"

    pictures = {0: Picture("p0", 1, ["A dog."]), 1: Picture("p1", 2, ["A cat."])}
    page = contact_sheet(BAGS, pictures, thumbnail)
    assert (page.count("<figure>"), page.count("data:image/jpeg;base64,anBlZw==")) == (2, 1)
    assert "alpha 0.875" in page
