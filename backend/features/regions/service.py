"""Over the API: where in its picture words of a pair's caption are."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, Any, Self

from pydantic import Field

from backend.errors import SettingsError
from backend.features.regions.exporting import region_cells
from backend.features.regions.finding import regions_of_pair
from backend.features.regions.stated_boxes import StatedBox, compare_with_stated, stated_boxes
from backend.review.views import PairView
from traced_ui.api import Endpoints, Id, Reader
from traced_ui.api_records import Record


class Region(Record):
    """Where words of a caption are in the picture."""

    word: str
    start: int
    end: int
    box: list[int] | None = Field(
        description="x0, y0, x1, y1 in pixels of the upright picture; null: nothing in it speaks "
        "for the word."
    )
    picture_size: tuple[int, int] | None = Field(
        description="Its width and height; null: the picture cannot be opened any more."
    )
    weight: float = Field(description="What the word adds to the match of its phrase (log-odds).")
    stated_box: list[int] | None = Field(
        description="Where the source states it to be; null: it does not."
    )
    is_inside: bool | None = Field(
        description="Whether `box` is in `stated_box`; null where either is not known."
    )

    @classmethod
    def of(cls, view: PairView, cells: Mapping[str, Any], boxes: Sequence[StatedBox]) -> Self:
        """`cells`: see `region_cells`; `boxes`: those that the source states."""
        word, size = view.caption[cells["start"] : cells["end"]], view.picture.size
        stated, is_inside = (
            compare_with_stated(word, cells["box"], size, boxes)
            if size is not None
            else (None, None)
        )
        return cls.model_validate(
            {
                **cells, "word": word, "picture_size": size, "is_inside": is_inside,
                "stated_box": stated and [round(edge) for edge in stated],
            }
        )  # fmt: skip


def regions(
    caller: Reader,
    pair: Id,
    start: Annotated[int | None, Field(ge=0)] = None,
    end: Annotated[int | None, Field(ge=1)] = None,
) -> list[Region]:
    """Where in the picture words of a pair's caption are, computed now if they are not yet.

    Args:
        pair: The pair's id.
        start: The words' first character in the caption; without it, those of the most suspect
            words.
        end: The character behind their last.
    """
    if (start is None) != (end is None):
        raise SettingsError("The place of words has both a start and an end.")
    span = (start, end) if start is not None and end is not None else None
    workspace = caller.workspace
    rows = regions_of_pair(
        workspace.store, workspace.engines.of_pair(pair), pair, span, caller.may_write
    )
    view = workspace.review.open_pair(pair)
    boxes = stated_boxes(workspace.review.extras_of([pair])[pair])
    return [Region.of(view, cells, boxes) for cells in region_cells(rows)]


ENDPOINTS = Endpoints((("GET", "/pairs/{pair}/regions", regions, HTTPStatus.OK),))
