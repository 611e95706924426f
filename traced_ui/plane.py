"""Plane: how likely wrong and how abstract, both at once. Select a region, review it.

Two kinds of bad captions ask for two kinds of work: what is wrong is corrected or dropped, what is
abstract describes nothing. A region of the plane is a queue like any other, with an address.
"""

from pathlib import Path
from typing import Any

import gradio as gr
import plotly.graph_objects as go

from backend.errors import SettingsError
from backend.pipeline.queue_fields import as_query, cleaned, from_fields
from backend.views import PlaneView, ThresholdView
from backend.workspace import MOST_COUNTED, Workspace
from traced_ui.figures import C_COLOUR, MARK, S_COLOUR, quiet
from traced_ui.jobs import table
from traced_ui.markup import percent, safe
from traced_ui.messages import note

SCRIPT = Path(__file__).with_name("plane.js")
#: What a verdict looks like: name, colour, mark.
_VERDICTS = {
    "": ("undecided", MARK, "circle-open"),
    "correct": ("correct", "#5a9b6b", "circle"),
    "correction": ("wrong", S_COLOUR, "x"),
    "drop": ("wrong", S_COLOUR, "x"),
    "abstract": ("abstract", C_COLOUR, "diamond"),
    "unsure": ("unsure", "#9a6fb0", "square-open"),
}
#: Pairs from which on the ground is shaded as well: points alone no longer tell how many.
_CROWDED = 1500


def build(workspace: Workspace, dataset: gr.Dropdown) -> tuple[Any, ...]:
    """The page; returns what draws it: (function, inputs, outputs)."""
    chart = gr.Plot(elem_id="plane-chart", show_label=False, container=False, visible=False)
    with gr.Row(elem_id="plane-region"):
        fields = [
            gr.Number(label=label, minimum=0, maximum=1, step=0.01, value=value, min_width=110)
            for label, value in (
                ("Probability from", 0), ("to", 1), ("ICC from", 0), ("ICC to", 1),
            )
        ]  # fmt: skip
    link = gr.HTML(elem_id="plane-link")
    tables = gr.HTML(elem_id="plane-thresholds")
    bus = gr.HTML("", elem_id="plane-bus", js_on_load=SCRIPT.read_text(encoding="utf-8"))

    def draw(dataset_id: int | None) -> tuple[Any, str, str]:
        if dataset_id is None:
            return gr.Plot(visible=False), "", '<div class="empty"><h2>No dataset yet</h2></div>'
        view = workspace.plane(dataset_id)
        if not view.cells:
            told = (
                '<div class="empty"><h2>No scores yet</h2>The plane is drawn once the dataset is '
                "scored.</div>"
            )
            return gr.Plot(visible=False), "", told
        return gr.Plot(plane_figure(view), visible=True), "", thresholds_html(view, dataset_id)

    def region(dataset_id: int | None, *bounds: float | None) -> str:
        """A link to the queue of the region, and how many pairs wait in it."""
        if dataset_id is None:
            return ""
        p_from, p_to, icc_from, icc_to = (
            "" if value is None or value == default else f"{value:g}"
            for value, default in zip(bounds, (0, 1, 0, 1), strict=True)
        )
        asked = cleaned(
            {"p_error_from": p_from, "p_error_to": p_to, "icc_from": icc_from, "icc_to": icc_to}
        )
        try:
            filter = from_fields(dataset_id, asked)
        except SettingsError as problem:
            return note(str(problem), "warning")
        count = workspace.queue_count(filter, MOST_COUNTED + 1)
        told = f"{MOST_COUNTED:,}+" if count > MOST_COUNTED else f"{count:,}"
        return (
            f'<a class="t-button" href="{_address(dataset_id, asked)}">Review this region</a> '
            f"{told} undecided pairs"
        )

    def selected(event: gr.EventData) -> tuple[float, ...]:
        """A box was drawn: its sides become the fields, which lead to the link."""
        box = dict(event._data or {})
        sides = (box.get(key, default) for key, default in zip(_SIDES, (0, 1, 0, 1), strict=True))
        return tuple(round(min(1.0, max(0.0, float(side))), 3) for side in sides)

    options: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    bus.keypress(selected, None, fields, queue=False, **options)
    for number in fields:
        number.change(region, [dataset, *fields], [link], trigger_mode="always_last", **options)
    return draw, [dataset], [chart, link, tables]


_SIDES = ("p_from", "p_to", "icc_from", "icc_to")


def _address(dataset_id: int, fields: dict[str, str]) -> str:
    return safe(f"?dataset={dataset_id}&{as_query(fields)}")


def plane_figure(view: PlaneView) -> go.Figure:
    """Probability to the right, concreteness upwards: wrong and abstract is the lower right."""
    figure = go.Figure()
    if sum(cell.pairs for cell in view.cells) > _CROWDED:
        ground = [[0] * view.size for _ in range(view.size)]
        for cell in view.cells:
            ground[cell.icc][cell.p_error] = cell.pairs
        middles = [(place + 0.5) / view.size for place in range(view.size)]
        figure.add_heatmap(
            x=middles, y=middles, z=[[count**0.5 for count in row] for row in ground],
            customdata=ground, showscale=False, name="pairs",
            colorscale=[[0, "rgba(59,130,196,0)"], [1, "rgba(59,130,196,.55)"]],
            hovertemplate="p %{x:.2f}, ICC %{y:.2f}: %{customdata} pairs<extra></extra>",
        )  # fmt: skip
    named: dict[str, list[Any]] = {}
    for point in view.points:
        named.setdefault(_VERDICTS[point.decision or ""][0], []).append(point)
    for name, colour, mark in dict.fromkeys(_VERDICTS.values()):
        own = named.get(name, [])
        if own:
            figure.add_scattergl(
                x=[one.p_error for one in own], y=[one.icc for one in own], mode="markers",
                name=name, marker={"color": colour, "symbol": mark, "size": 6, "opacity": 0.75},
                hovertemplate="p %{x:.2f}, ICC %{y:.2f}<extra>" + name + "</extra>",
            )  # fmt: skip
    for threshold in view.wrong[1:2] or view.wrong[:1]:
        figure.add_vline(x=threshold.at, line={"color": S_COLOUR, "dash": "dash", "width": 1})
    for threshold in view.abstract[1:2] or view.abstract[:1]:
        figure.add_hline(y=threshold.at, line={"color": C_COLOUR, "dash": "dash", "width": 1})
    quiet(figure, "probability of error", "ICC: abstract below, concrete above")
    figure.update_xaxes(range=[-0.01, 1.01])
    figure.update_yaxes(range=[-0.01, 1.01])
    figure.update_layout(height=460, dragmode="select", hovermode="closest")
    return figure


def thresholds_html(view: PlaneView, dataset_id: int) -> str:
    return (
        "<h3>Where to draw the lines</h3><p>Drag a box in the plane, or type its sides, and review "
        "what lies in it. These lines keep the precision that you want among the pairs that people "
        "have decided (95 % interval in brackets).</p>"
        + _table("wrong captions", view.wrong, dataset_id, "p_error_from", "p of", "or more")
        + _table("abstract captions", view.abstract, dataset_id, "icc_to", "ICC of", "or less")
    )


def _table(
    what: str, found: tuple[ThresholdView, ...], dataset_id: int, field: str, of: str, side: str
) -> str:
    if not found:
        return (
            f"<h4>For {what}</h4><p>No line keeps a precision of 80 % yet: ten decided pairs are "
            "the least that one is drawn from.</p>"
        )
    head = ["precision wanted", "line", "precision there", "of all found", "waiting", ""]
    rows = [
        [
            percent(one.wanted),
            f"{of} {one.at:.2f} {side}",
            f"{percent(one.precision)} of {one.decided} decided "
            f"({percent(one.low)} to {percent(one.high)})",
            percent(one.found),
            f"{one.waiting:,}",
            _address(dataset_id, cleaned({field: f"{one.at:.4f}"})),
        ]
        for one in found
    ]
    # The table escapes its cells; the last one is a link.
    body = table(head[:-1], [row[:-1] for row in rows], {2, 4})
    links = " ".join(
        f'<a class="t-button small" href="{row[-1]}">Review beyond {safe(row[1])}</a>'
        for row in rows
    )
    return f"<h4>For {what}</h4>{body}<p>{links}</p>"
