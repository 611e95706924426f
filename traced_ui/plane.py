"""Wrong or vague? Chance of error, concreteness and specificity; each region is a queue.

Three kinds of bad captions need three kinds of work: wrong ones are corrected or removed, vague
ones describe nothing, generic ones need more detail. A region of the plane is a queue like any
other, with a URL.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import gradio as gr
import plotly.graph_objects as go
from markupsafe import Markup

from backend.errors import SettingsError
from backend.review.charts import plane_of
from backend.review.queue_form import as_query, cleaned, from_fields
from backend.review.views import PlanePoint, PlaneView, ThresholdView
from backend.verdict_texts import about_caption
from backend.workspace import MOST_COUNTED, Workspace
from traced_ui.figures import C_COLOUR, S_COLOUR, VERDICT_LOOKS, quiet
from traced_ui.login import seen_by
from traced_ui.messages import QUIET, event_value, note
from traced_ui.page_dataset import PageDataset
from traced_ui.templates import counted, part, percent, render

SCRIPT = Path(__file__).with_name("plane.js")
#: Rows of a table, and (address, text) of the links below it.
_Lines = tuple[list[list[str]], list[tuple[str, str]]]
#: Above this number of pairs a density heatmap is drawn too, because the points overlap.
_CROWDED = 1500


def build(workspace: Workspace, dataset: PageDataset) -> tuple[Any, ...]:
    """Build the page; return what draws it: (function, inputs, outputs)."""
    regions = gr.HTML(elem_id="plane-regions")
    with gr.Row(elem_id="plane-axes"):
        up = gr.Radio(
            [("vague below, concrete above", "icc"),
             ("generic below, specific above", "specificity")],
            value="icc", label="Upwards", scale=2, elem_id="plane-up",
        )  # fmt: skip
        colour = gr.Radio(
            [("verdict", "verdict"), ("how specific", "specificity"),
             ("backed by the picture", "support")],
            value="verdict", label="Colour", elem_id="plane-colour",
        )  # fmt: skip
    gr.HTML(render("plane/hint.html"))
    chart = gr.Plot(elem_id="plane-chart", show_label=False, container=False, visible=False)
    link = gr.HTML(elem_id="plane-link")
    tables = gr.HTML(elem_id="plane-thresholds")
    bus = gr.HTML("", elem_id="plane-bus", js_on_load=SCRIPT.read_text(encoding="utf-8"))

    def draw(
        dataset_id: int | None, upwards: str, colours: str, request: gr.Request
    ) -> tuple[Any, str, str, str]:
        if dataset_id is None:
            return gr.Plot(visible=False), "", part("empty", "No dataset yet"), ""
        view = plane_of(seen_by(workspace, request).store, dataset_id, upwards)
        if not view.cells:
            message = part("empty", "Not scored yet", "Find the dataset's errors first: Add data.")
            if upwards == "specificity":
                message = part(
                    "empty",
                    "Specificity has not been measured",
                    "Measure it under Add data.",
                )
            return gr.Plot(visible=False), "", message, ""
        figure = plane_figure(view, colours)
        cards, table = regions_html(view, dataset_id), thresholds_html(view, dataset_id)
        return gr.Plot(figure, visible=True), "", cards, table

    def selected(
        event: gr.EventData, dataset_id: int | None, upwards: str, request: gr.Request
    ) -> str:
        """A link to the queue of the box that was drawn, with the number of pairs in it."""
        if dataset_id is None:
            return ""
        ends = ("p_from", "p_to", "up_from", "up_to")
        sides = (float(event_value(event, end, place % 2)) for place, end in enumerate(ends))
        left, right, low, high = (round(min(1.0, max(0.0, side)), 3) for side in sides)
        bounds = {"p_error": (left, right), upwards: (low, high)}
        try:
            fields = cleaned(
                {
                    f"{name}_{end}": _text(name, value)
                    for name, ends_of in bounds.items()
                    for end, value, default in zip(("from", "to"), ends_of, (0, 1), strict=True)
                    if value != default
                }
            )
            filter = from_fields(dataset_id, fields)
        except SettingsError as problem:
            return note(str(problem), "warning")
        count = seen_by(workspace, request).review.queue_count(filter, MOST_COUNTED + 1)
        label = counted(count, "undecided pair")
        if count > MOST_COUNTED:
            label = f"{MOST_COUNTED:,}+ undecided pairs"
        return render("plane/link.html", address=_address(dataset_id, fields), count=label)

    bus.keypress(selected, [dataset, up], [link], trigger_mode="always_last", **QUIET)
    axes, drawn = [dataset, up, colour], [chart, link, regions, tables]
    for control in (up, colour):
        control.change(draw, axes, drawn, trigger_mode="always_last", **QUIET)
    return draw, axes, drawn


class _Scale(NamedTuple):
    """A number that colours the points: its name, how it is written, and the ends of the scale."""

    label: str
    value: Callable[[PlanePoint], float | None]
    low: float
    high: float


_SCALES = {
    "specificity": _Scale("share", lambda point: point.share, 0, 1),
    # A z-score: beyond two standard deviations the colour no longer changes.
    "support": _Scale("backed", lambda point: point.support, -2, 2),
}


def _text(name: str, value: float) -> str:
    """Format a bound as a queue field; a share is converted to its logarithm, as stored."""
    if not name.startswith("specificity"):
        return f"{value:g}"
    return f"{math.log(max(1e-9, min(1.0, value))):.4f}"


def _address(dataset_id: int, fields: dict[str, str]) -> str:
    return f"?dataset={dataset_id}&{as_query(fields)}"


def plane_figure(view: PlaneView, colour: str = "verdict") -> go.Figure:
    """Probability to the right, concreteness or specificity upwards: the lower right is wrong and
    abstract, or wrong and generic. `colour`: verdict, specificity or support."""

    def height(point: PlanePoint) -> float | None:
        return point.icc if view.up == "icc" else point.share

    points = [point for point in view.points if height(point) is not None]
    what = "concrete" if view.up == "icc" else "share"
    figure = go.Figure()
    if sum(cell.pairs for cell in view.cells) > _CROWDED:
        ground = [[0] * view.size for _ in range(view.size)]
        for cell in view.cells:
            ground[cell.up][cell.p_error] = cell.pairs
        middles = [(place + 0.5) / view.size for place in range(view.size)]
        figure.add_heatmap(
            x=middles, y=middles, z=[[count**0.5 for count in row] for row in ground],
            customdata=[[counted(count) for count in row] for row in ground], showscale=False,
            name="pairs",
            colorscale=[[0, "rgba(59,130,196,0)"], [1, "rgba(59,130,196,.55)"]],
            hovertemplate=f"error %{{x:.0%}}, {what} %{{y:.2f}}: %{{customdata}}<extra></extra>",
        )  # fmt: skip
    if scale := _SCALES.get(colour):
        valued_points = [
            (point, value) for point in points if (value := scale.value(point)) is not None
        ]
        values = [value for _, value in valued_points]
        figure.add_scattergl(
            x=[point.p_error for point, _ in valued_points],
            y=[height(point) for point, _ in valued_points],
            mode="markers",
            name=scale.label, customdata=values,
            marker={"color": values, "cmin": scale.low, "cmax": scale.high, "size": 6,
                    "colorscale": "Cividis", "opacity": 0.8,
                    "colorbar": {"title": {"text": scale.label}, "thickness": 12}},
            hovertemplate=f"error %{{x:.0%}}, {what} %{{y:.2f}}, {scale.label} %{{customdata:.2f}}"
            "<extra></extra>",
        )  # fmt: skip
        points = []
    for name, (colour, mark) in VERDICT_LOOKS.items():
        if members := [point for point in points if about_caption(point.decision) == name]:
            figure.add_scattergl(
                x=[point.p_error for point in members], y=[height(point) for point in members],
                mode="markers",
                name=name, marker={"color": colour, "symbol": mark, "size": 6, "opacity": 0.75},
                hovertemplate=f"error %{{x:.0%}}, {what} %{{y:.2f}}<extra>{name}</extra>",
            )  # fmt: skip
    for threshold in view.wrong[1:2] or view.wrong[:1]:
        figure.add_vline(x=threshold.at, line={"color": S_COLOUR, "dash": "dash", "width": 1})
    for threshold in (view.abstract[1:2] or view.abstract[:1]) if view.up == "icc" else ():
        figure.add_hline(y=threshold.at, line={"color": C_COLOUR, "dash": "dash", "width": 1})
    upwards = "vague below, concrete above"
    if view.up == "specificity":
        figure.add_hline(y=0.5, line={"color": C_COLOUR, "dash": "dash", "width": 1})
        upwards = "generic below, specific above"
    quiet(figure, "chance of error", upwards)
    figure.update_xaxes(range=[-0.01, 1.01])
    figure.update_yaxes(range=[-0.01, 1.01])
    figure.update_layout(height=460, dragmode="select", hovermode="closest")
    return figure


#: The regions of `backend.review.charts`, in plain words.
_TITLES = {"wrong": "Probably wrong", "abstract": "Vague", "generic": "Generic", "good": "Good"}


def regions_html(view: PlaneView, dataset_id: int) -> Markup:
    """The named regions, each linked to its queue."""
    regions = [
        (
            _address(dataset_id, cleaned(region.fields)),
            _TITLES.get(region.name, region.name),
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
            *_lines(view.abstract, dataset_id, "icc_to", "concrete–vague of", "or less"),
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
        (_address(dataset_id, cleaned({**fields, field: f"{threshold.at:.4f}"})), row[1])
        for threshold, row in zip(thresholds, rows, strict=True)
    ]
    return rows, links
