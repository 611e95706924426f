"""The map's colours by probability, ICC and verdict, including pairs without values."""

import base64
import json
from typing import Any

import gradio as gr
import numpy as np
import plotly.graph_objects as go
import pytest

from backend.review.views import MapView
from backend.verdicts import UNDECIDED
from backend.workspace import Workspace
from db.queries import detections, runs, signals
from db.queries import plots as picture_map_queries
from db.queries.detections import DetectionRow
from traced_ui import picture_map
from traced_ui.figures import C_COLOUR, S_COLOUR
from traced_ui.picture_map import COLOURS, map_figure

NAN = float("nan")
#: Pairs 1 to 6, each at a different place.
P_ERROR = [0.9, 0.1, NAN, 0.5, 0.3, 0.7]
ICC = [0.2, NAN, NAN, 0.6, 0.9, 0.4]
VERDICTS = ["wrong", UNDECIDED, "correct", "abstract", "unsure", UNDECIDED]


def view_of(p: list[float] = P_ERROR, icc: list[float] = ICC, verdicts: Any = VERDICTS) -> MapView:
    count = len(p)
    pairs = np.arange(1, count + 1, dtype=np.int32)
    x, y = (pairs / 10).astype(np.float32), (pairs / 20).astype(np.float32)
    return MapView(
        7, pairs, x, y, np.array(p, np.float32), np.array(icc, np.float32), np.array(verdicts)
    )


def traces(figure: go.Figure) -> dict[str, Any]:
    return {trace.name: trace for trace in figure.data}


def colour_at(scale: Any, place: float) -> str:
    return next(str(look) for at, look in scale if at == place)


@pytest.mark.parametrize(
    ("colour", "title", "values", "order", "unknown", "loud_end"),
    [
        ("p_error", "chance of error", P_ERROR, [2, 5, 4, 6, 1], [3], 1),
        ("icc", "concrete to vague", ICC, [5, 4, 6, 1], [2, 3], 0),
    ],
)
def test_values_are_shown_on_a_colour_scale(
    colour: str, title: str, values: list[float], order: list[int], unknown: list[int],
    loud_end: int,
) -> None:  # fmt: skip
    """Orange marks what needs attention, likely wrong or abstract, and is drawn on top."""
    drawn = traces(map_figure(view_of(), colour))
    assert list(drawn) == ["unknown", title]
    known = drawn[title]
    assert list(known.customdata) == order
    np.testing.assert_allclose(known.marker.color, [values[pair - 1] for pair in order], rtol=1e-6)
    assert (known.marker.cmin, known.marker.cmax) == (0, 1)
    assert colour_at(known.marker.colorscale, loud_end) == S_COLOUR
    assert colour_at(known.marker.colorscale, 1 - loud_end) == C_COLOUR
    places = [at for at, _ in known.marker.colorscale]
    assert places == sorted(places)
    assert (places[0], places[-1]) == (0, 1)
    assert known.marker.colorbar.title.text == title
    # Pairs without a value are grey and hollow, below the others, and not left out.
    without = drawn["unknown"]
    assert list(without.customdata) == unknown
    assert without.marker.symbol == "circle-open"
    assert without.marker.color not in (S_COLOUR, C_COLOUR)
    assert map_figure(view_of(), colour).layout.showlegend


@pytest.mark.parametrize("colour", list(COLOURS.values()))
def test_every_pair_is_a_point_at_its_coordinates(colour: str) -> None:
    view = view_of()
    drawn = [
        (int(pair), float(x), float(y))
        for trace in map_figure(view, colour).data
        for pair, x, y in zip(trace.customdata, trace.x, trace.y, strict=True)
    ]
    places = zip(view.pairs.tolist(), view.x.tolist(), view.y.tolist(), strict=True)
    assert sorted(drawn) == sorted(places)


@pytest.fixture
def mapped(workspace: Workspace) -> Workspace:
    """Three pairs of the workspace's dataset have places: the first has p and ICC and is dropped,
    the second has p alone, the third neither."""
    with workspace.store.writing() as session:
        run = runs.start_run(
            session, kind="map", dataset_id=1, scorer_kind="s", model="m", revision="r",
            explorer="", parameters={}, code_version="1",
        )  # fmt: skip
        places = [picture_map_queries.PlaceRow(n, n / 10, n / 20) for n in (1, 2, 3)]
        picture_map_queries.replace_places(session, 1, places)
        runs.finish_run(session, run.id)
        signals.save_icc(session, {1: 0.25})
        rows = [DetectionRow(1, 0.75, ()), DetectionRow(2, 0.5, ())]
        detections.save_detections(session, rows)
    workspace.review.decide(1, 0, "drop")
    return workspace


def unpacked(part: Any) -> Any:
    """Plotly's JSON with its byte-encoded arrays decoded to lists."""
    if isinstance(part, dict) and set(part) == {"dtype", "bdata"}:
        return np.frombuffer(base64.b64decode(part["bdata"]), part["dtype"]).tolist()
    if isinstance(part, dict):
        return {key: unpacked(value) for key, value in part.items()}
    return [unpacked(value) for value in part] if isinstance(part, list) else part


class MapPage:
    """The page in Gradio: its colour control, and the function that draws the chart."""

    def __init__(self, workspace: Workspace) -> None:
        with gr.Blocks() as blocks:
            dataset = gr.Dropdown([("pairs", 1)], value=1)
            self._draw, _, outputs = picture_map.build(workspace, dataset)
        (self.control,) = [
            block for block in blocks.blocks.values()
            if getattr(block, "elem_id", "") == "map-colour"
        ]  # fmt: skip
        (changed,) = [
            function for function in blocks.fns.values()
            if (self.control._id, "change") in function.targets
        ]  # fmt: skip
        assert changed.inputs == [dataset, self.control]
        assert changed.outputs == outputs
        self._changed = changed.fn

    def opened(self) -> dict[str, Any]:
        return self._traces(self._draw(1, self.control.value))

    def changed_to(self, colour: str) -> dict[str, Any]:
        return self._traces(self._changed(1, colour))

    def _traces(self, shown: Any) -> dict[str, Any]:
        chart = shown[0]
        assert chart.visible
        return traces(go.Figure(unpacked(json.loads(chart.value["plot"]))))


def test_the_colour_can_be_chosen_on_the_page(mapped: Workspace) -> None:
    page = MapPage(mapped)
    assert [value for _, value in page.control.choices] == [
        "chance of error",
        "concrete to vague",
        "verdict",
    ]
    opened = page.opened()
    assert list(opened) == ["unknown", "chance of error"]
    assert list(opened["chance of error"].customdata) == [2, 1]
    np.testing.assert_allclose(opened["chance of error"].marker.color, [0.5, 0.75])
    assert list(opened["unknown"].customdata) == [3]
    by_icc = page.changed_to("concrete to vague")
    assert list(by_icc["concrete to vague"].customdata) == [1]
    np.testing.assert_allclose(by_icc["concrete to vague"].marker.color, [0.25])
    assert list(by_icc["unknown"].customdata) == [2, 3]
    by_verdict = page.changed_to("verdict")
    assert {name: list(trace.customdata) for name, trace in by_verdict.items()} == {
        UNDECIDED: [2, 3], "wrong": [1],
    }  # fmt: skip
    assert list(page.changed_to("chance of error")) == list(opened)


def test_a_dataset_without_a_map_says_so(workspace: Workspace) -> None:
    chart, empty, _, _ = MapPage(workspace)._changed(1, "concrete to vague")
    assert not chart.visible
    assert "No map yet" in empty
