"""The regions of the layouts by numbers, and thresholds for them; each is a queue.

Three kinds of bad captions need three kinds of work: wrong ones are corrected or removed, vague
ones describe nothing, generic ones need more detail.
"""

import math
from collections.abc import Callable

from markupsafe import Markup

from backend.review.queue_form import as_query, clean_fields
from backend.review.views import PlaneView, ThresholdView
from traced_ui.templates import percent, render

#: Rows of a table, and (address, text) of the links below it.
_Lines = tuple[list[list[str]], list[tuple[str, str]]]
#: The regions of `backend.review.charts`, in plain words.
TITLES = {"wrong": "Probably wrong", "abstract": "Vague", "generic": "Generic", "good": "Good"}


def regions_html(view: PlaneView, dataset_id: int) -> Markup:
    """The named regions, each linked to its queue."""
    regions = [
        (
            _address(dataset_id, clean_fields(region.fields)),
            TITLES.get(region.name, region.name),
            f"{region.waiting:,}",
            region.meaning,
        )
        for region in view.regions
    ]
    return render("plane/regions.html", regions=regions)


def thresholds_html(view: PlaneView, dataset_id: int) -> str:
    """The thresholds for each precision, with links to the queues beyond them."""
    kinds = [
        ("wrong captions", *_lines(view.wrong, dataset_id, "p_error_from", "chance of", "or more")),
        (
            "vague captions",
            *_lines(view.abstract, dataset_id, "icc_to", "concreteness of", "or less"),
        ),
    ]
    if view.measured:
        generic = _lines(
            view.generic, dataset_id, "specificity_to", "share of", "or less", math.exp,
            order="specificity",
        )  # fmt: skip
        kinds.append(("generic captions", *generic))
    return render("plane/thresholds.html", kinds=kinds)


def _lines(
    thresholds: tuple[ThresholdView, ...],
    dataset_id: int,
    field: str,
    of: str,
    side: str,
    format_value: Callable[[float], float] = float,
    **fields: str,
) -> _Lines:
    """Rows of the table, and (address, text) of the links below it. `format_value`: how a threshold
    is displayed; `fields`: of the queue, in addition to `field`."""
    rows = [
        [
            percent(threshold.wanted),
            f"{of} {format_value(threshold.at):.2f} {side}",
            f"{percent(threshold.precision)} of {threshold.decided} decided "
            f"({percent(threshold.low)} to {percent(threshold.high)})",
            percent(threshold.recall),
            f"{threshold.waiting:,}",
        ]
        for threshold in thresholds
    ]
    links = [
        (_address(dataset_id, clean_fields({**fields, field: f"{threshold.at:.4f}"})), row[1])
        for threshold, row in zip(thresholds, rows, strict=True)
    ]
    return rows, links


def _address(dataset_id: int, fields: dict[str, str]) -> str:
    return f"?dataset={dataset_id}&{as_query(fields)}"
