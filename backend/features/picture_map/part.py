"""What the page consists of: the chart, and beside the layouts by numbers their regions and
thresholds, each of which is a queue.

Three kinds of bad captions need three kinds of work: wrong ones are corrected or removed, vague
ones describe nothing, generic ones need more detail.
"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from backend.features.picture_map.labels import Label
from backend.features.picture_map.plane import PlaneView, ThresholdView
from backend.features.picture_map.thresholds import FEWEST, WANTED
from backend.features.picture_map.views import MapView
from backend.measures import ABSTRACT_THRESHOLD
from backend.review.queue_form import as_query, clean_fields
from backend.verdict_texts import UNDECIDED
from traced_ui.figures import AXIS, C_COLOUR, MARK, S_COLOUR, look, new_figure
from traced_ui.templates import percent, renderer_of

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

render_in = renderer_of(Path(__file__).with_name("templates"))
#: Colour and marker of each verdict if pairs are plotted as points.
VERDICT_LOOKS = {
    UNDECIDED: (MARK, "circle-open"),
    "right": ("#5a9b6b", "circle"),
    "wrong": (S_COLOUR, "x"),
    "vague": (C_COLOUR, "diamond"),
    "not sure": ("#9a6fb0", "square-open"),
}
COLOURS = {"chance of error": "p_error", "concrete to vague": "icc", "verdict": "verdict"}
#: What is up in a layout by numbers, its regions, each where its name stands, and their border.
UPWARDS = {
    "icc": "vague below, concrete above",
    "specificity": "generic below, specific above",
}
_CORNERS = {
    "icc": {"wrong": (0.75, 1), "abstract": (0.25, 0), "good": (0.25, 1)},
    "specificity": {"wrong": (0.75, 1), "generic": (0.25, 0), "good": (0.25, 1)},
}
_LINES = {"icc": ABSTRACT_THRESHOLD, "specificity": 0.5}
#: Points that need attention are orange: likely wrong, or abstract.
_P_ERROR_COLORSCALE: list[tuple[float, str]] = [(0, C_COLOUR), (0.5, "#b7a27c"), (1, S_COLOUR)]
#: So many pairs are drawn larger, and without WebGL, whose start takes a second without a graphics
#: card.
_FEW = 3000
_UNKNOWN = "#9aa0a8"
#: Rows of a table, and (address, text) of the links below it.
_Table = tuple[list[list[str]], list[tuple[str, str]]]
#: The regions of the plane, in plain words.
TITLES = {
    "wrong": "Probably wrong",
    "abstract": "Vague",
    "generic": "Generic",
    "good": "Probably right",
}


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
    return render_in("plane_regions.html", regions=regions)


def thresholds_html(view: PlaneView, dataset_id: int) -> str:
    """The thresholds for each precision, with links to the queues beyond them."""
    kinds = [
        (
            "wrong captions",
            view.decided.get("wrong", 0),
            *_threshold_lines(view.wrong, dataset_id, "p_error_from", "chance of", "or more"),
        ),
        (
            "vague captions",
            view.decided.get("abstract", 0),
            *_threshold_lines(view.abstract, dataset_id, "icc_to", "concreteness of", "or less"),
        ),
    ]
    if view.measured:
        generic = _threshold_lines(
            view.generic, dataset_id, "specificity_to", "share of", "or less", math.exp,
            order="specificity",
        )  # fmt: skip
        kinds.append(("generic captions", view.decided.get("generic", 0), *generic))
    return render_in(
        "plane_thresholds.html", kinds=kinds, fewest=FEWEST, lowest_precision=min(WANTED)
    )


def _threshold_lines(
    thresholds: tuple[ThresholdView, ...],
    dataset_id: int,
    field: str,
    of: str,
    side: str,
    format_value: Callable[[float], float] = float,
    **fields: str,
) -> _Table:
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


def map_figure(view: MapView, colour: str, labels: Sequence[Label] = ()) -> "Figure":
    """One point per pair. `colour`: p_error, icc or verdict. Points needing attention are on top.
    `labels`: of regions of the map; those of other layouts are their names."""
    size = 7 if len(view.pairs) <= _FEW else 5 if len(view.pairs) < 30_000 else 3
    if colour == "verdict":
        traces = [
            _points(view, np.flatnonzero(view.verdicts == name), name,
                    {"color": tint, "symbol": mark, "size": size, "opacity": 0.4})
            for name, (tint, mark) in VERDICT_LOOKS.items()
        ]  # fmt: skip
    else:
        values = view.p_error if colour == "p_error" else view.icc
        loudness = values if colour == "p_error" else -values
        by_loudness = np.argsort(loudness, kind="stable")[: int(np.isfinite(values).sum())]
        title = next(name for name, column in COLOURS.items() if column == colour)
        ends = ["0 %", "50 %", "100 %"] if colour == "p_error" else ["vague", "", "concrete"]
        scale = _P_ERROR_COLORSCALE if colour == "p_error" else [
            (1 - at, tint) for at, tint in reversed(_P_ERROR_COLORSCALE)
        ]  # fmt: skip
        marker = {
            "color": _round(values[by_loudness]), "cmin": 0, "cmax": 1, "colorscale": scale,
            "size": size, "opacity": 0.4,  # shows where points overlap
            "colorbar": {
                "title": {"text": title, "side": "top"}, "orientation": "h", "thickness": 8,
                "lenmode": "pixels", "len": 170, "x": 0, "xanchor": "left", "xpad": 14, "y": 1,
                "yanchor": "bottom", "ypad": 2, "outlinewidth": 0, "tickvals": [0, 0.5, 1],
                "ticktext": ends,
            },
        }  # fmt: skip
        unknown = {"color": _UNKNOWN, "symbol": "circle-open", "size": size}
        traces = [
            _points(view, np.flatnonzero(~np.isfinite(values)), "unknown", unknown),
            _points(view, by_loudness, title, marker),
        ]
    data = [trace for trace in traces if len(trace["x"])]
    layout = map_layout(has_legend=len(data) > 1, up=UPWARDS.get(view.layout))
    names = [(x, y, TITLES[name]) for name, (x, y) in _CORNERS.get(view.layout, {}).items()]
    layout["meta"] = {"labels": names or list(labels)}  # drawn by the script, above the pictures
    layout["shapes"] = [
        {"type": "line", "line": {"color": C_COLOUR, "dash": "dash", "width": 1}, **ends}
        for ends in _lines(view.layout)
    ]
    return new_figure({"data": data, "layout": layout})


def _lines(layout: str) -> list[dict[str, Any]]:
    """The borders between the regions of a layout by numbers."""
    if layout not in _LINES:
        return []
    right, up = 0.5, _LINES[layout]
    return [
        {"x0": right, "x1": right, "y0": 0, "y1": 1},
        {"x0": 0, "x1": right, "y0": up, "y1": up},
    ]


def _points(
    view: MapView, places: NDArray[np.intp], name: str, marker: dict[str, Any]
) -> dict[str, Any]:
    """Lists, which the browser's script reads too; Plotly would encode arrays."""
    return {
        "type": "scatter" if len(view.pairs) <= _FEW else "scattergl",
        "mode": "markers", "name": name, "marker": marker,
        "x": _round(view.x[places]), "y": _round(view.y[places]),
        "customdata": view.pairs[places].tolist(), "hoverinfo": "none",
        "unselected": {"marker": {"opacity": 0.12}},
    }  # fmt: skip


def _round(values: NDArray[np.float32]) -> list[float]:
    return [round(value, 4) for value in values.tolist()]


def map_layout(has_legend: bool, up: str | None = None) -> dict[str, Any]:
    """Layout of a map. `up`: the title of the axis upwards, the chance of error is across; None:
    axes have no meaning, are not shown, and have equal scales."""
    room = 26 if has_legend else 4
    axis = {**AXIS, "range": [-0.02, 1.02], "fixedrange": False}
    axes: dict[str, Any] = {
        "xaxis": {**axis, "visible": False},
        "yaxis": {**axis, "visible": False, "scaleanchor": "x"},
    }
    margin = {"l": 4, "r": 4, "t": 40, "b": room}
    if up is not None:
        axes = {
            "xaxis": {**axis, "title": "chance of error", "tickformat": ".0%"},
            "yaxis": {**axis, "title": up},
        }
        margin |= {"l": 56, "b": 44 + room}
    return {
        **look(0, margin, 0),
        "height": None,  # fills the height of the page, see picture_map.css
        "autosize": True,
        "legend": {
            "orientation": "h",
            "y": 0 if up is None else -0.1,
            "yanchor": "top",
            "x": 0,
            "itemsizing": "constant",
        },
        "template": None,
        "modebar": {
            "bgcolor": "rgba(0,0,0,0)",
            "color": MARK,
            "activecolor": C_COLOUR,
            "remove": ["toImage", "autoScale2d", *(["lasso2d"] if up else [])],
        },
        "showlegend": has_legend,
        "dragmode": "lasso" if up is None else "select",
        "hovermode": False,
        **axes,
    }
