"""The contact sheet of bags: one self-contained web page with embedded pictures."""

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from backend.engine.specificity.bags import Bag
from backend.errors import ImageError, UnsafePath
from backend.templating import template_environment

TEMPLATES = Path(__file__).with_name("templates")
_SIDE = 160
_CAPTION = 200


@dataclass
class Picture:
    """A picture with its captions. `id`: the id of its first pair."""

    id: str
    pair: int
    captions: list[str]


def contact_sheet(
    made: Mapping[int, Sequence[Bag]],
    pictures: Mapping[int, Picture],
    thumbnail: Callable[[int, int], bytes] | None = None,
) -> str:
    """The page as HTML. `made`: bags by their size; `pictures`: by the row that bags name.

    `thumbnail`: (pair, size) to a JPEG; without it, and for a picture that cannot be read, the
    page shows captions only.
    """

    def source(pair: int) -> str:
        if thumbnail is None:
            return ""
        try:
            return "data:image/jpeg;base64," + b64encode(thumbnail(pair, _SIDE)).decode("ascii")
        except (ImageError, UnsafePath, OSError):
            return ""

    drawn = {
        row: {"id": picture.id, "caption": picture.captions[0][:_CAPTION],
              "source": source(picture.pair)}
        for row, picture in pictures.items()
    }  # fmt: skip
    shown = {
        size: [
            {
                "id": pictures[bag.members[0]].id,
                "alpha": bag.alpha,
                "pictures": [drawn[row] for row in bag.members],
            }
            for bag in bags
        ]
        for size, bags in made.items()
    }
    return template_environment(TEMPLATES).get_template("bags.html").render(made=shown)
