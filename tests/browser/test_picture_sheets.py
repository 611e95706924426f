"""What the comparison of pages sees, and what it tolerates."""

import pytest
from PIL import Image, ImageDraw

from tests.browser import picture_sheets as sheets


def drawn(left: int = 40, colour: str = "#0b6e66", text: str = "12 pairs") -> Image.Image:
    """A page with a line of text and a button."""
    image = Image.new("RGB", (sheets.WIDTH, 150), "white")
    drawing = ImageDraw.Draw(image)
    drawing.text((10, 10), text, fill="#1d232b")
    drawing.rectangle((left, 80, left + 30, 96), fill=colour)
    return image


@pytest.mark.parametrize("changed", [drawn(left=52), drawn(colour="#b42318"), drawn(text="")])
def test_a_change_of_place_colour_or_text_is_seen(changed: Image.Image) -> None:
    assert sheets.differs(changed, drawn())


def test_a_letter_more_or_less_is_tolerated() -> None:
    assert not sheets.differs(drawn(text="11 pairs"), drawn())
