"""The map's colours by probability, ICC and verdict, including pairs without values."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import gradio as gr
import numpy as np
import plotly.graph_objects as go
import pytest

from backend.errors import SettingsError
from backend.features.picture_map import page as map_page
from backend.features.picture_map import queries
from backend.features.picture_map.labels import labels_of
from backend.features.picture_map.page import box_of, region_html
from backend.features.picture_map.part import (
    COLOURS,
    VERDICT_LOOKS,
    map_figure,
    regions_html,
    render_in,
)
from backend.features.picture_map.plane import PlaneView, RegionView, ThresholdView
from backend.features.picture_map.views import ALIKE, MapView
from backend.verdict_texts import TEXTS, UNDECIDED
from backend.workspace import Workspace
from db.queries import dataset_queries, detection_queries, run_queries, signal_queries
from db.queries.detection_queries import DetectionRow
from db.queries.pair_queries import NewPair
from tests.db.building import add_pairs, start_run
from tests.hostile.markup import check_escaping
from tests.traced_ui.conftest import imported, workspace
from tests.traced_ui.samples import pair, row
from traced_ui.figures import C_COLOUR, S_COLOUR
from traced_ui.page_dataset import PageDataset

__all__ = ["imported", "workspace"]

NAN = float("nan")
#: Pairs 1 to 6, each at a different place.
P_ERROR = [0.9, 0.1, NAN, 0.5, 0.3, 0.7]
ICC = [0.2, NAN, NAN, 0.6, 0.9, 0.4]
VERDICTS = ["wrong", UNDECIDED, "right", "vague", "not sure", UNDECIDED]


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
    by_name = traces(map_figure(view_of(), colour))
    assert list(by_name) == ["unknown", title]
    scale = by_name[title]
    assert list(scale.customdata) == order
    np.testing.assert_allclose(scale.marker.color, [values[pair - 1] for pair in order], rtol=1e-6)
    assert (scale.marker.cmin, scale.marker.cmax) == (0, 1)
    assert colour_at(scale.marker.colorscale, loud_end) == S_COLOUR
    assert colour_at(scale.marker.colorscale, 1 - loud_end) == C_COLOUR
    places = [at for at, _ in scale.marker.colorscale]
    assert places == sorted(places)
    assert (places[0], places[-1]) == (0, 1)
    assert scale.marker.colorbar.title.text == title
    # Pairs without a value are grey and hollow, below the others, and not left out.
    without = by_name["unknown"]
    assert list(without.customdata) == unknown
    assert without.marker.symbol == "circle-open"
    assert without.marker.color not in (S_COLOUR, C_COLOUR)
    assert map_figure(view_of(), colour).layout.showlegend


@pytest.mark.parametrize(("pairs", "kind"), [(600, "scatter"), (6000, "scattergl")])
@pytest.mark.parametrize("colour", list(COLOURS.values()))
def test_few_points_do_not_wait_for_webgl(colour: str, pairs: int, kind: str) -> None:
    view = view_of([0.4] * pairs, [0.5] * pairs, ["wrong"] * pairs)
    assert {trace.type for trace in map_figure(view, colour).data} == {kind}


@pytest.mark.parametrize("colour", list(COLOURS.values()))
def test_every_pair_is_a_point_at_its_coordinates(colour: str) -> None:
    view = view_of()
    points = [
        (int(pair), float(x), float(y))
        for trace in map_figure(view, colour).data
        for pair, x, y in zip(trace.customdata, trace.x, trace.y, strict=True)
    ]
    places = zip(view.pairs.tolist(), view.x.tolist(), view.y.tolist(), strict=True)
    assert sorted(points) == [pytest.approx(place) for place in sorted(places)]


@pytest.fixture
def mapped(workspace: Workspace) -> Workspace:
    """Three pairs of the workspace's dataset have places: the first has p and ICC and is dropped,
    the second has p alone, the third neither."""
    run = start_run(workspace.store.opened, 1, kind="map")
    with workspace.store.writing() as session:
        places = [queries.PlaceRow(n, n / 10, n / 20) for n in (1, 2, 3)]
        queries.replace_places(session, 1, places)
        run_queries.finish_run(session, run)
        signal_queries.save_icc(session, {1: 0.25})
        rows = [DetectionRow(1, 0.75, ()), DetectionRow(2, 0.5, ())]
        detection_queries.save_detections(session, rows)
    workspace.review.decide(1, 0, "drop")
    return workspace


def drawn_by(page: gr.Blocks, colour: str) -> tuple[Any, Any]:
    """The chart and the note without one, after a choice on the page."""
    blocks = page.blocks.values()
    (control,) = [b for b in blocks if getattr(b, "elem_id", "") == "map-colour"]
    (event,) = [e for e in page.fns.values() if (control._id, "change") in e.targets]
    assert event.inputs[-1] == control
    chart, empty, *_ = event.fn(1, ALIKE, colour)  # pyrefly: ignore[not-callable]
    return chart, empty


@pytest.fixture
def page(workspace: Workspace) -> gr.Blocks:
    with gr.Blocks() as blocks:
        map_page.build(workspace, PageDataset("1"))
    return blocks


def test_the_colour_can_be_chosen_on_the_page(mapped: Workspace, page: gr.Blocks) -> None:
    for colour, names in (
        ("chance of error", ["unknown", "chance of error"]),
        ("concrete to vague", ["unknown", "concrete to vague"]),
        ("verdict", [UNDECIDED, "wrong"]),
    ):
        chart, _ = drawn_by(page, colour)
        assert chart.visible
        assert [trace["name"] for trace in json.loads(chart.value["plot"])["data"]] == names


def test_what_the_borders_show_is_said_of_the_chosen_colour(
    mapped: Workspace, page: gr.Blocks
) -> None:
    """A verdict has no average; and chances that are no figures are said to be none."""
    (control,) = [b for b in page.blocks.values() if getattr(b, "label", "") == "Border"]
    (event,) = [e for e in page.fns.values() if (control._id, "change") in e.targets]
    hints = {c: event.fn(1, ALIKE, c)[2] for c in COLOURS}  # pyrefly: ignore[not-callable]
    assert [name for name, hint in hints.items() if "average" not in hint] == ["verdict"]
    assert not any("warning" in hint for hint in hints.values())
    mapped.store.write(dataset_queries.remember_models, 1, {dataset_queries.UNFAMILIAR: True})
    assert "warning" in event.fn(1, ALIKE, "chance of error")[2]  # pyrefly: ignore[not-callable]


def test_a_dataset_without_a_map_says_so(page: gr.Blocks) -> None:
    chart, empty = drawn_by(page, "concrete to vague")
    assert not chart.visible
    assert "No map yet" in empty


def test_layouts_by_numbers_have_titles_and_named_regions() -> None:
    for layout, name in (("icc", "Vague"), ("specificity", "Generic")):
        figure = map_figure(replace(view_of(), layout=layout), "p_error")
        assert figure.layout.xaxis.title.text == "chance of error"
        assert figure.layout.yaxis.title.text
        labels = {text for _, _, text in figure.layout.meta["labels"]}
        assert labels == {"Probably wrong", name, "Probably right"}
    figure = map_figure(view_of(), "p_error", [(0.1, 0.2, "beach")])
    assert not figure.layout.xaxis.visible
    assert list(figure.layout.meta["labels"]) == [(0.1, 0.2, "beach")]


def test_a_box_is_a_queue_of_bounds(mapped: Workspace) -> None:
    line = [0.4, 0.1, 1.01, 0.1, 1.01, 0.9, 0.4, 0.9]
    html = region_html(mapped, 1, 0, line, "icc")
    assert "p_error_from=0.4&amp;icc_from=0.1&amp;icc_to=0.9" in html
    assert "grid=yes" in html
    assert "1 pair," in html, "the second pair has no icc"
    assert box_of([(0, 0.5), (1, 1)], "specificity") == {"specificity_from": "-0.6931"}
    for bad in (None, "abc", [1, 2], [0.1, float("nan")] * 3, ["x"] * 6):
        with pytest.raises(SettingsError):
            region_html(mapped, 1, 0, bad, "icc")
    with pytest.raises(SettingsError, match="no layout"):
        region_html(mapped, 1, 0, line, "magic")


def test_regions_of_the_map_are_named_by_what_is_said_there(workspace: Workspace) -> None:
    captions = [f"A dog runs on the {'beach' if n < 20 else 'street'}" for n in range(40)]
    rows = [NewPair(str(n), f"{n}.png", caption) for n, caption in enumerate(captions)]
    _, ids = add_pairs(workspace.store, "places", rows)  # pyrefly: ignore[bad-argument-type]
    places = np.array([0.1 if n < 20 else 0.9 for n in range(40)], np.float32)
    nothing = np.full(40, NAN, np.float32)
    view = MapView(1, np.array(ids, np.int32), places, places, nothing, nothing, np.full(40, ""))
    labels = labels_of(workspace.store, view)
    assert {(round(x, 1), word) for x, _, word in labels} == {(0.1, "beach"), (0.9, "street")}


@pytest.mark.parametrize("line", ["abc", [1, "a"], [1, None], [[1], 2], [1, 10**400], None, 7])
def test_an_invalid_region_is_refused(line: object) -> None:
    with pytest.raises(SettingsError, match="not a region"):
        map_page._line(line)


def plane_view(text: str) -> PlaneView:
    line = ThresholdView(0.9, 0.7, 0.95, 0.9, 0.99, 40, 0.6, 1200)
    return PlaneView((line, line), (), regions=(RegionView(text, text, {"text": text}, 1200),))


#: Those of the templates that show texts of others.
SAMPLES: dict[str, Callable[[str], str]] = {
    "plane_regions.html": lambda text: regions_html(plane_view(text), 3),
    "map_card.html": lambda text: render_in("map_card.html", pair=pair(text), text=text),
    "map_region.html": lambda text: render_in(
        "map_region.html", address=f"?text={text}", inside=text, undecided=text,
        rows=[row(text, 1, None), row(text, 2, "drop")], dataset_id=3, is_unfamiliar=False,
        unread={},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SAMPLES)
def test_hostile_text_is_escaped(name: str) -> None:
    check_escaping(name, SAMPLES[name])


def test_verdicts_have_the_same_names_on_the_map() -> None:
    assert {UNDECIDED, *(text.caption for text in TEXTS.values())} <= set(VERDICT_LOOKS)


def test_a_chance_by_a_model_that_does_not_know_the_pictures_is_no_figure() -> None:
    for is_unfamiliar, language in ((False, ""), (True, ""), (False, "German")):
        shown = replace(pair("A dog"), is_unfamiliar=is_unfamiliar, unread_language=language)
        is_beyond = is_unfamiliar or bool(language)
        for markup in (
            render_in("map_card.html", pair=shown, text=""),
            render_in(
                "map_region.html", address="?", inside="1 pair", undecided="1",
                rows=[row("A dog", 1, None)], dataset_id=1, is_unfamiliar=is_unfamiliar,
                unread={1: language},
            ),
        ):  # fmt: skip
            assert bool(re.search("not (know|read)", markup)) == is_beyond
            assert bool(re.search(r"70 %|0\.700|% likely", markup)) != is_beyond
