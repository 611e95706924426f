"""Map page: all pictures of a dataset, similar ones close together; a drawn region is a queue.

Pairs, up to a hundred thousand, are sent to the browser as numeric arrays; a picture and its
caption are fetched only for the point under the mouse, and pictures above their points where the
map is enlarged until few are in view.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from backend.errors import SettingsError
from backend.review.charts import map_of, region_of
from backend.review.queue_form import as_query, cleaned
from backend.review.views import MapView
from backend.workspace import MOST_COUNTED, Workspace
from traced_ui.figures import C_COLOUR, S_COLOUR, VERDICT_LOOKS, map_layout
from traced_ui.highlighting import excerpt
from traced_ui.jobs import start_by
from traced_ui.login import seen_by
from traced_ui.messages import QUIET, event_value, explained, note
from traced_ui.page_dataset import PageDataset
from traced_ui.templates import counted, part, render

SCRIPT = Path(__file__).with_name("picture_map.js")
COLOURS = {"chance of error": "p_error", "concrete to vague": "icc", "verdict": "verdict"}
#: Number of pictures shown of a region.
SHOWN = 12
#: Pictures are shown above their points if at most so many points are in view; so many pixels lie
#: between two.
NEAR, TILE = 200, 52
#: Maximum number of points in a line sent by the browser.
_LONGEST_LINE = 5000
#: Points that need attention are orange: likely wrong, or abstract.
_CALM_TO_LOUD: list[tuple[float, str]] = [(0, C_COLOUR), (0.5, "#b7a27c"), (1, S_COLOUR)]
_UNKNOWN = "#9aa0a8"


def build(workspace: Workspace, dataset: PageDataset) -> tuple[Any, ...]:
    """Build the page; return what draws it: (function, inputs, outputs)."""
    with gr.Row(elem_id="map"):
        with gr.Column(scale=3, elem_id="map-left"):
            empty = gr.HTML(elem_id="map-empty")
            chart = gr.Plot(elem_id="map-chart", show_label=False, container=False, visible=False)
            tiles = gr.HTML(elem_id="map-tiles")
        with gr.Column(scale=1, min_width=330, elem_id="map-right"):
            colour = gr.Radio(list(COLOURS), value="chance of error", label="Colour",
                              elem_id="map-colour")  # fmt: skip
            hint = gr.HTML(elem_id="map-hint")
            region = gr.HTML(elem_id="map-region")
            start = gr.Button("Draw the map", elem_id="map-start")
            status = gr.HTML(elem_id="map-status")
    card = gr.HTML(elem_id="map-card")
    bus = gr.HTML("", elem_id="map-bus", js_on_load=SCRIPT.read_text(encoding="utf-8"))

    def draw(
        dataset_id: int | None, colours: str, request: gr.Request | None = None
    ) -> tuple[Any, str, str, str]:
        if dataset_id is None:
            return gr.Plot(visible=False), part("empty", "No dataset yet"), "", ""
        view = map_of(seen_by(workspace, request).store, dataset_id)
        if view is None:
            message = part(
                "empty", "No map yet",
                "It is drawn from the vectors stored by scoring; no picture is opened.",
            )  # fmt: skip
            return gr.Plot(visible=False), message, "", ""
        figure = map_figure(view, COLOURS.get(colours, "p_error"))
        below = render("map/hint.html", pairs=len(view.pairs), dataset_id=dataset_id,
                       run_id=view.run_id)  # fmt: skip
        return gr.Plot(figure, visible=True), "", below, ""

    def act(
        event: gr.EventData, dataset_id: int | None, request: gr.Request
    ) -> tuple[Any, Any, Any]:
        """Handle hovering over a point, a drawn line, or another part of the map in view."""
        if dataset_id is None:
            return "", "", ""
        visible_workspace = seen_by(workspace, request)
        try:
            action = event_value(event, "action", "")
            if action == "hover":
                pair = int(event_value(event, "pair", 0))
                return gr.skip(), card_html(visible_workspace, dataset_id, pair), gr.skip()
            if action == "look":
                run, view = int(event_value(event, "run", 0)), event_value(event, "view", None)
                pictures = tiles_html(visible_workspace, dataset_id, run, view,
                                   str(event_value(event, "frame", "")))  # fmt: skip
                return gr.skip(), gr.skip(), pictures
            if action == "region":
                run, line = int(event_value(event, "run", 0)), event_value(event, "line", None)
                return region_html(visible_workspace, dataset_id, run, line), gr.skip(), gr.skip()
        except Exception as error:
            return note(explained(error), "warning"), "", ""
        return "", "", ""

    bus.keypress(
        act, [dataset], [region, card, tiles], queue=False, trigger_mode="multiple", **QUIET
    )
    redraw = (draw, [dataset, colour], [chart, empty, hint, region])
    colour.change(*redraw, trigger_mode="always_last", **QUIET)
    start_by(start, status, workspace, dataset, "map", redraw)
    return redraw


def card_html(workspace: Workspace, dataset_id: int, pair_id: int) -> str:
    """The picture and the caption under the mouse."""
    view = workspace.review.open_pair(pair_id)
    if view.dataset_id != dataset_id:
        raise SettingsError("That pair belongs to another dataset.")
    span = (view.claim.start, view.claim.end) if view.claim is not None else None
    return render("map/card.html", pair=view, text=excerpt(view.caption, span, 300)[0])


def region_html(workspace: Workspace, dataset_id: int, run: int, line: object) -> str:
    """The queue of the drawn region, with its first pictures. Raises SettingsError."""
    fields = cleaned({"map": region_of(run, _line(line))})
    every = workspace.review.filter_of(dataset_id, {**fields, "review": "all"})
    waiting = workspace.review.filter_of(dataset_id, fields)
    counts = [workspace.review.queue_count(filter, MOST_COUNTED + 1) for filter in (every, waiting)]
    rows = workspace.review.queue_page(every, None, SHOWN).rows
    review = "" if counts[1] else "&review=all"
    address = f"?dataset={dataset_id}&{as_query(fields)}{review}"
    most = f"more than {MOST_COUNTED:,}"
    inside = counted(counts[0]) if counts[0] <= MOST_COUNTED else f"{most} pairs"
    undecided = f"{counts[1]:,}" if counts[1] <= MOST_COUNTED else most
    return render("map/region.html", address=address, inside=inside, undecided=undecided, rows=rows,
                  dataset_id=dataset_id)  # fmt: skip


def tiles_html(workspace: Workspace, dataset_id: int, run: int, view: Any, frame: str) -> str:
    """Pictures above their points, in pixels of the view (left, right, low, high, width and height
    in pixels); none if more than `NEAR` points are in view. Raises SettingsError."""
    left, right, low, high, width, height = _numbers(view, "That is no part of the map.", 6)
    points = map_of(workspace.store, dataset_id)
    if points is None or points.run_id != run or left == right or low == high:
        return ""
    across, down = (points.x - left) / (right - left), (high - points.y) / (high - low)
    inside = np.flatnonzero((across >= 0) & (across <= 1) & (down >= 0) & (down <= 1))
    if len(inside) > NEAR:
        return ""
    # Where pictures would overlap, the most suspicious one stands for the others.
    tiles: list[tuple[int, float, float]] = []
    for i in inside[np.argsort(-np.nan_to_num(points.p_error[inside]), kind="stable")]:
        x, y = float(across[i]) * width, float(down[i]) * height
        if all(max(abs(x - other_x), abs(y - other_y)) >= TILE for _, other_x, other_y in tiles):
            tiles.append((int(points.pairs[i]), x, y))
    return render("map/tiles.html", tiles=tiles, frame=frame)


def _line(corners: Any) -> list[tuple[float, float]]:
    """Parse the corners sent by the browser, alternating x and y. Raises SettingsError."""
    numbers = _numbers(corners, "That is not a region of the map.")
    return list(zip(numbers[::2], numbers[1::2], strict=False))


def _numbers(sent: Any, problem: str, count: int | None = None) -> list[float]:
    """The finite numbers sent by the browser. Raises SettingsError(`problem`)."""
    is_list = isinstance(sent, Sequence) and not isinstance(sent, str)
    if not is_list or len(sent) > 2 * _LONGEST_LINE or count not in (None, len(sent)):
        raise SettingsError(problem)
    try:
        numbers = [float(number) for number in sent]
    except (TypeError, ValueError, OverflowError) as error:
        raise SettingsError(problem) from error
    if not np.isfinite(numbers).all():
        raise SettingsError(problem)
    return numbers


def map_figure(view: MapView, colour: str) -> go.Figure:
    """One point per pair. `colour`: p_error, icc or verdict. Points needing attention are on
    top."""
    size = 7 if len(view.pairs) < 3000 else 5 if len(view.pairs) < 30_000 else 3
    if colour == "verdict":
        traces = [
            _points(view, np.flatnonzero(view.verdicts == name), name,
                    {"color": look, "symbol": mark, "size": size, "opacity": 0.8})
            for name, (look, mark) in VERDICT_LOOKS.items()
        ]  # fmt: skip
    else:
        values = view.p_error if colour == "p_error" else view.icc
        loudness = values if colour == "p_error" else -values
        by_loudness = np.argsort(loudness, kind="stable")[: int(np.isfinite(values).sum())]
        title = next(name for name, column in COLOURS.items() if column == colour)
        ends = ["0 %", "50 %", "100 %"] if colour == "p_error" else ["vague", "", "concrete"]
        scale = _CALM_TO_LOUD if colour == "p_error" else [
            (1 - at, look) for at, look in reversed(_CALM_TO_LOUD)
        ]  # fmt: skip
        marker = {
            "color": values[by_loudness], "cmin": 0, "cmax": 1, "colorscale": scale, "size": size,
            "opacity": 0.85 if size > 3 else 0.5,  # transparency shows where points overlap
            "colorbar": {
                "title": {"text": title, "side": "top"}, "orientation": "h", "thickness": 8,
                "lenmode": "pixels", "len": 170, "x": 0, "xanchor": "left", "xpad": 4, "y": 1,
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
    return go.Figure({"data": data, "layout": map_layout(has_legend=len(data) > 1)})


def _points(
    view: MapView, places: NDArray[np.intp], name: str, marker: dict[str, Any]
) -> dict[str, Any]:
    return {
        "type": "scattergl", "mode": "markers", "name": name, "marker": marker,
        "x": view.x[places], "y": view.y[places], "customdata": view.pairs[places],
        "hoverinfo": "none", "unselected": {"marker": {"opacity": 0.12}},
    }  # fmt: skip
