"""The page *Blind spots*: what it shows of a report, and when its button works."""

from pathlib import Path

import gradio as gr
import pytest

from backend.errors import TooFewVerdicts
from backend.features.patterns import page
from backend.features.patterns.error_patterns import Pattern
from backend.features.patterns.search import (
    FEWEST,
    FEWEST_WRONG,
    BlindSpot,
    PatternsReport,
    find_blind_spots,
    verdicts_missing,
)
from backend.workspace import Workspace
from research.bench.generated_store import generate
from tests.hostile.markup import check_escaping
from tests.traced_ui.conftest import workspace_in
from tests.traced_ui.test_verdicts_to_go import functions_named, judge
from traced_ui.page_dataset import PageDataset


@pytest.fixture
def generated(tmp_path: Path) -> Workspace:
    workspace = workspace_in(tmp_path)
    generate(workspace.store, 40)
    return workspace


def test_a_search_says_how_many_verdicts_it_takes_yet(generated: Workspace) -> None:
    judge(generated, FEWEST - 1, "correct")
    assert verdicts_missing(generated.store, 1) == (1, FEWEST_WRONG)
    with pytest.raises(TooFewVerdicts, match=f"^{FEWEST - 1} captions"):
        find_blind_spots(generated.store, 1, None)
    judge(generated, FEWEST_WRONG, "wrong")
    assert verdicts_missing(generated.store, 1) == (0, 0)
    find_blind_spots(generated.store, 1, None)


def test_the_button_is_disabled_until_it_can_work(generated: Workspace) -> None:
    with gr.Blocks() as blocks:
        page.build(generated, PageDataset("1"))
    draw = next(functions_named(blocks, "draw"))
    for is_enough in (False, True):
        spots, button, missing, timer = draw(1, gr.Request(username=None))
        shown = (button.visible, button.interactive, timer.active)
        assert shown == (is_enough, is_enough, not is_enough)
        steps = [html.count("to-go") for html in (spots, missing)]
        assert steps == [int(not is_enough), 0], "one step, in what stands for the list"
        assert 'class="empty"' in spots
        judge(generated, FEWEST, "wrong")


def test_a_single_undecided_caption_is_counted_in_the_singular() -> None:
    pattern = Pattern("", "word", "red", 23, 14, 0.39, 0.8, 0.08, 90, 1e-4, 1e-3, 1, 1)
    one, two = (BlindSpot(pattern, "", count, None, None).outlook() for count in (1, 2))
    assert one.startswith("1 undecided caption has it.")
    assert one.endswith("so far 1 was given.")
    assert two.startswith("2 undecided captions have it.")


def test_hostile_text_is_escaped() -> None:
    def draw(text: str) -> str:
        pattern = Pattern(text, "word", text, 23, 14, 0.39, 0.8, 0.08, 90, 1e-4, 1e-3, 9, 5)
        spot = BlindSpot(pattern, text, 40, (8, 35), (5, 32))
        return page.report_html(PatternsReport(30, 9, 1, 40, 0.1, (spot,)), {text: 4}, 1)

    check_escaping("blind_spots.html", draw)
