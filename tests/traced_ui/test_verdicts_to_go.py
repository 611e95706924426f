"""Learn: how many verdicts its button, disabled until then, takes yet."""

from collections.abc import Callable
from typing import Any

import gradio as gr
import pytest

from backend.engine.detection.verdict_learning import FEWEST_VERDICTS, check_verdicts
from backend.errors import TrainingError
from backend.jobs import retrain
from backend.workspace import QueueFilter, Workspace
from traced_ui import retrain as retrain_page
from traced_ui.page_dataset import PageDataset
from traced_ui.templates import render


def judge(workspace: Workspace, count: int, decision: str) -> None:
    for row in workspace.review.queue_page(QueueFilter(1, "unreviewed"), limit=count).rows:
        workspace.review.decide(row.pair_id, row.verdict_version, decision)


def test_learning_says_how_many_verdicts_it_takes_yet(generated: Workspace) -> None:
    for count in range(FEWEST_VERDICTS):
        assert retrain.verdicts_missing(generated.store, 1) == FEWEST_VERDICTS - count
        with pytest.raises(TrainingError, match="^1 verdict is " if count == 1 else None):
            check_verdicts(count)
        judge(generated, 1, "drop")
    judge(generated, 1, "unsure")  # teaches nothing
    assert retrain.verdicts_missing(generated.store, 1) == 0


@pytest.mark.parametrize(
    ("verdicts", "wrong", "text"),
    [
        (12, 1, "It takes 12 more verdicts, 1 of them “wrong”."),
        (1, 0, "It takes 1 more verdict."),
        (1, 2, "It takes 2 more wrong captions."),
        (0, 0, ""),
    ],
)
def test_what_is_to_go_in_words(verdicts: int, wrong: int, text: str) -> None:
    shown = str(render("to_go.html", verdicts=verdicts, wrong=wrong)).strip()
    assert shown.partition("<a")[0].removeprefix('<p class="to-go">').strip() == text


def test_a_job_that_starts_while_the_page_opens_stays_followed(generated: Workspace) -> None:
    """What the page asks when it opens may be answered after the button that was pressed."""
    with gr.Blocks() as blocks:
        retrain_page.build(generated, PageDataset("1"))
    under_way = next(functions_named(blocks, "under_way"))
    assert under_way(1) == (gr.skip(), gr.skip(), gr.skip())


def functions_named(blocks: gr.Blocks, name: str) -> Any:
    functions: list[Callable[..., Any] | None] = [event.fn for event in blocks.fns.values()]
    return (fn for fn in functions if fn is not None and fn.__name__ == name)
