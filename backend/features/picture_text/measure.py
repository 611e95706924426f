"""The measure `x_picture_text`: whether what a caption quotes is written in its picture."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from backend.errors import missing_extra
from backend.features.picture_text.matching import share_shown
from backend.features.picture_text.quotations import quotations
from db.measures import Measure

if TYPE_CHECKING:
    from PIL import Image

#: The longer side of the copy, in pixels.
_SMALL = 1_000


def picture_text(caption: str, picture: Callable[[], "Image.Image"]) -> float | None:
    """How far the least visible quotation is there, 0 to 1; None if the caption quotes nothing.
    Raises SettingsError without RapidOCR, and what opening the picture raises."""
    quotes = quotations(caption)
    if not quotes:
        return None
    best = dict.fromkeys(quotes, 0.0)
    for view in _scales(picture()):
        lines = _reader()(view)
        best = {text: max(share, share_shown(text, lines)) for text, share in best.items()}
        if min(best.values()) == 1.0:
            break
    return min(best.values())


def _scales(picture: "Image.Image") -> Iterator["Image.Image"]:
    """The picture, and a small copy of a large one: RapidOCR overlooks letters that are as high as
    hundreds of pixels."""
    yield picture
    if max(picture.size) > _SMALL:
        copy = picture.copy()
        copy.thumbnail((_SMALL, _SMALL))
        yield copy


@cache
def _reader() -> Callable[["Image.Image"], list[str]]:
    """The lines of text in an RGB picture, from top to bottom."""
    import numpy as np

    try:
        from rapidocr import RapidOCR
    except ImportError as problem:
        raise missing_extra("Reading the text in pictures", "text") from problem
    engine: Any = RapidOCR(params={"Global.log_level": "critical"})

    def lines_in(picture: "Image.Image") -> list[str]:
        # The library takes arrays as OpenCV does: blue first.
        return list(engine(np.asarray(picture.convert("RGB"))[:, :, ::-1]).txts or ())

    return lines_in


PICTURE_TEXT = Measure(
    name="x_picture_text",
    title="Quoted text is there",
    explanation="Whether the picture shows the text that the caption quotes: 1 all of it, 0 none. "
    "Captions that quote nothing have no value.",
    low=0.0,
    high=1.0,
    line=0.7,
    compute=picture_text,
    order="missing text first",
    word="text",
    bar="Quoted text",
)
