"""Map page: all pictures of a dataset as one contact sheet, alike ones near each other or by two
numbers; a drawn region is a queue.

Pairs, up to a hundred thousand, are sent to the browser as arrays. It lays pictures over them, one
for each cell of a grid, which become more where the map is enlarged (picture_map.js); a caption is
fetched only for the picture under the mouse.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np

from backend.counts import count_of
from backend.errors import SettingsError
from backend.features.picture_map.labels import labels_of
from backend.features.picture_map.part import (
    COLOURS,
    UPWARDS,
    map_figure,
    regions_html,
    render_in,
    thresholds_html,
)
from backend.features.picture_map.plane import plane_of
from backend.features.picture_map.views import ALIKE, map_of, region_of
from backend.review.queue_form import as_query, clean_fields
from backend.workspace import MOST_COUNTED, Workspace
from traced_ui.highlighting import excerpt
from traced_ui.jobs import start_by
from traced_ui.login import seen_by
from traced_ui.messages import QUIET, event_value, explain_on_page, note
from traced_ui.page_dataset import PageDataset
from traced_ui.pages import AddedPage, Page
from traced_ui.templates import part

SCRIPT = Path(__file__).with_name("picture_map.js")
LAYOUTS = {"alike": ALIKE, "wrong or vague": "icc", "wrong or generic": "specificity"}
#: Number of pictures shown of a region.
SHOWN = 12
#: Maximum number of points in a line sent by the browser.
_LONGEST_LINE = 5000
_IN_ADDRESS = f"""() => {{
  const wanted = new URL(location.href).searchParams.get("layout");
  return {list(LAYOUTS.values())}.includes(wanted) ? wanted : "{ALIKE}";
}}"""
_EMPTY = {
    ALIKE: ("No map yet", "It is drawn from the vectors stored by scoring; no picture is opened."),
    "icc": ("Not scored yet", "Find the dataset's errors first: Add data."),
    "specificity": ("Specificity has not been measured", "Measure it under Add data."),
}


def build(workspace: Workspace, dataset: PageDataset) -> tuple[Any, ...]:
    """Build the page; return what draws it: (function, inputs, outputs)."""
    with gr.Row(elem_id="map"):
        with gr.Column(scale=3, elem_id="map-left"):
            empty = gr.HTML(part("empty", "Drawing the map …"), elem_id="map-empty")
            chart = gr.Plot(
                elem_id="map-chart",
                elem_classes="chart-alone",
                show_label=False,
                container=False,
                visible=False,
            )
            gr.HTML(render_in("map_tiles.html"), padding=False)
        with gr.Column(scale=1, min_width=330, elem_id="map-right"):
            layout = gr.Radio([*LAYOUTS.items()], value=ALIKE, label="Lay out",
                              elem_id="map-layout")  # fmt: skip
            colour = gr.Radio(list(COLOURS), value="chance of error", label="Border",
                              elem_id="map-colour")  # fmt: skip
            hint = gr.HTML(elem_id="map-hint")
            region = gr.HTML(elem_id="map-region")
            regions = gr.HTML(elem_id="plane-regions")
            tables = gr.HTML(elem_id="plane-thresholds")
            start = gr.Button("Draw the map", elem_id="map-start")
            status = gr.HTML(elem_id="map-status")
    card = gr.HTML(elem_id="map-card")
    bus = gr.HTML("", elem_id="map-bus", js_on_load=SCRIPT.read_text(encoding="utf-8"))

    def draw(
        dataset_id: int | None, layout: str, colours: str, request: gr.Request | None = None
    ) -> tuple[Any, ...]:
        drawing = gr.Button("Draw the map", visible=layout == ALIKE)
        if dataset_id is None:
            return gr.Plot(visible=False), "", "", "", "", "", drawing
        store = seen_by(workspace, request).store
        view = map_of(store, dataset_id, layout)
        if view is None:
            message = part("empty", *_EMPTY[layout])
            return gr.Plot(visible=False), message, "", "", "", "", drawing
        labels = labels_of(store, view) if layout == ALIKE else []
        figure = map_figure(view, COLOURS.get(colours, "p_error"), labels)
        below = render_in("map_hint.html", pairs=len(view.pairs), dataset_id=dataset_id,
                       run_id=view.run_id, layout=layout, alike=ALIKE,
                       by_value=COLOURS.get(colours) != "verdict",
                       is_unfamiliar=workspace.review.is_unfamiliar(dataset_id))  # fmt: skip
        queues, thresholds = "", ""
        if layout != ALIKE:
            plane = plane_of(store, dataset_id)
            queues, thresholds = regions_html(plane, dataset_id), thresholds_html(plane, dataset_id)
        again = gr.Button("Draw the map again", visible=layout == ALIKE)
        return gr.Plot(figure, visible=True), "", below, "", queues, thresholds, again

    def act(event: gr.EventData, dataset_id: int | None, request: gr.Request) -> tuple[Any, Any]:
        """Handle hovering over a picture, or a drawn line."""
        if dataset_id is None:
            return "", ""
        visible_workspace = seen_by(workspace, request)
        try:
            action = event_value(event, "action", "")
            if action == "hover":
                pair = int(event_value(event, "pair", 0))
                return gr.skip(), card_html(visible_workspace, dataset_id, pair)
            if action == "region":
                run, line = int(event_value(event, "run", 0)), event_value(event, "line", None)
                layout = str(event_value(event, "layout", ALIKE))
                return region_html(visible_workspace, dataset_id, run, line, layout), gr.skip()
        except Exception as error:
            return note(explain_on_page(error), "error"), ""
        return "", ""

    bus.keypress(act, [dataset], [region, card], trigger_mode="multiple", **QUIET)
    outputs = [chart, empty, hint, region, regions, tables, start]
    redraw = (draw, [dataset, layout, colour], outputs)
    gr.on(None, None, None, [layout], js=_IN_ADDRESS, api_visibility="private")
    for control in (layout, colour):
        control.change(*redraw, trigger_mode="always_last", **QUIET)
    start_by(start, status, workspace, dataset, "map", redraw)
    return redraw


def card_html(workspace: Workspace, dataset_id: int, pair_id: int) -> str:
    """The picture and the caption under the mouse."""
    view = workspace.review.open_pair(pair_id)
    if view.dataset_id != dataset_id:
        raise SettingsError("That pair belongs to another dataset.")
    span = (view.claim.start, view.claim.end) if view.claim is not None else None
    return render_in("map_card.html", pair=view, text=excerpt(view.caption, span, 300)[0])


def region_html(
    workspace: Workspace, dataset_id: int, run: int, line: object, layout: str = ALIKE
) -> str:
    """The queue of the drawn region, with its first pictures. Raises SettingsError."""
    corners = _line(line)
    if layout == ALIKE:
        fields = clean_fields({"map": region_of(run, corners)})
    elif layout in UPWARDS:
        fields = clean_fields(box_of(corners, layout))
    else:
        raise SettingsError(f"There is no layout '{layout[:40]}'.")
    every = workspace.review.filter_of(dataset_id, {**fields, "review": "all"})
    waiting = workspace.review.filter_of(dataset_id, fields)
    counts = [workspace.review.queue_count(filter, MOST_COUNTED + 1) for filter in (every, waiting)]
    rows = workspace.review.queue_page(every, None, SHOWN).rows
    review = "" if counts[1] else "&review=all"
    address = f"?dataset={dataset_id}&{as_query(fields)}{review}"
    most = f"more than {MOST_COUNTED:,}"
    inside = count_of(counts[0]) if counts[0] <= MOST_COUNTED else f"{most} pairs"
    undecided_count = f"{counts[1]:,}" if counts[1] <= MOST_COUNTED else most
    return render_in("map_region.html", address=address, inside=inside, undecided=undecided_count,
                  rows=rows, dataset_id=dataset_id,
                  is_unfamiliar=workspace.review.is_unfamiliar(dataset_id),
                  unread=workspace.review.languages_not_read(dataset_id, rows),
    )  # fmt: skip


def box_of(corners: Sequence[tuple[float, float]], up: str) -> dict[str, str]:
    """The bounds of a box around the corners, as queue fields; none at an end of the scale.

    >>> box_of([(0.5, -0.1), (1.01, 0.25)], "icc")
    {'p_error_from': '0.5', 'icc_to': '0.25'}
    """
    fields: dict[str, str] = {}
    for name, values in (("p_error", [x for x, _ in corners]), (up, [y for _, y in corners])):
        low, high = round(min(values), 3), round(max(values), 3)
        if low > 0:
            fields[f"{name}_from"] = _text(name, low)
        if high < 1:
            fields[f"{name}_to"] = _text(name, max(high, 0.0))
    return fields


def _text(name: str, value: float) -> str:
    """A bound as a queue field; a share is stored as its logarithm."""
    return f"{value:g}" if name != "specificity" else f"{math.log(max(1e-9, value)):.4f}"


def _line(corners: Any) -> list[tuple[float, float]]:
    """Parse the corners sent by the browser, alternating x and y. Raises SettingsError."""
    problem = SettingsError("That is not a region of the map.")
    is_list = isinstance(corners, Sequence) and not isinstance(corners, str)
    if not is_list or not 6 <= len(corners) <= 2 * _LONGEST_LINE:
        raise problem
    try:
        numbers = [float(number) for number in corners]
    except (TypeError, ValueError, OverflowError) as error:
        raise problem from error
    if not np.isfinite(numbers).all():
        raise problem
    return list(zip(numbers[::2], numbers[1::2], strict=False))


PAGE = AddedPage(
    Page("map", "Map"),
    "Explore",
    build,
    Path(__file__).with_name("picture_map.css"),
    is_first=True,
    earlier={"plane": "map?layout=icc"},
)
