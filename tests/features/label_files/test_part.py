"""Labels that are pasted into the page."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr

from backend.features.label_files import part
from backend.workspace import QueueFilter, Workspace
from tests.datasets.folders import dogs
from tests.hostile.markup import check_escaping
from traced_ui.page_dataset import PageDataset


def handlers_of(workspace: Workspace, dataset: int) -> dict[str, Any]:
    with gr.Blocks() as blocks:
        part.build(workspace, PageDataset(str(dataset)), gr.HTML())
    return {event.name: event.fn for event in blocks.fns.values()}


def test_pasted_rows_are_previewed_given_and_taken_back(
    workspace: Workspace, tmp_path: Path
) -> None:
    imported = workspace.jobs.import_dataset(dogs(tmp_path / "p", 2))
    handlers = handlers_of(workspace, imported.dataset_id)
    request: Any = SimpleNamespace(username=None)

    def decisions() -> list[str | None]:
        filter = QueueFilter(imported.dataset_id, order="position", descending=False)
        return [row.decision for row in workspace.review.queue_page(filter).rows]

    pasted = "id\tverdict\np0\twrong\np1\tcorrect\np9\tcorrect"
    preview = handlers["preview_labels"](imported.dataset_id, pasted, False, request)
    assert "2 labels would become verdicts" in preview
    assert decisions() == [None, None]
    assert "Row 4, p9" in handlers["give_verdicts"](imported.dataset_id, pasted, False, request)
    assert decisions() == ["wrong", "correct"]
    assert "2 verdicts" in handlers["undone"](imported.dataset_id, request)
    assert decisions() == [None, None]


def test_no_pasted_label_replaces_a_verdict_that_is_hidden(
    workspace: Workspace, tmp_path: Path
) -> None:
    dataset = workspace.jobs.import_dataset(dogs(tmp_path / "p", 3))
    filter = QueueFilter(dataset.dataset_id, order="position", descending=False)
    ids = [row.pair_id for row in workspace.review.queue_page(filter).rows]
    for name in ("Ada", "Ben"):
        workspace.accounts.add(name, "a long password", "adjudicator")
    workspace.accounts.set_overlap(dataset.dataset_id, 1.0, 2)
    workspace.review.decide(ids[0], 0, "correction", "A small horse", author="Ada")
    workspace.review.decide(ids[1], 0, "drop", author="Ben")
    handlers = handlers_of(workspace, dataset.dataset_id)
    ben: Any = SimpleNamespace(username="Ben")
    pasted = "id,verdict\np0,wrong\np1,correct\np2,correct"
    for handler in ("preview_labels", "give_verdicts"):
        answer = handlers[handler](dataset.dataset_id, pasted, False, ben)
        # Ben may know about his own pair; the others wait for him and Ada.
        assert "Row 3, p1" in answer
        assert "2 need the verdict of each person" in answer
        assert "Ada" not in answer
    first, second, third = (workspace.review.open_pair(number) for number in ids)
    assert (first.verdict.decision, first.verdict.corrected_caption) == (
        "correction",
        "A small horse",
    )
    assert (second.verdict.decision, third.verdict.decision) == ("drop", None)


def test_hostile_text_is_escaped() -> None:
    check_escaping(
        "label_files.html", lambda text: part.render_in("label_files.html", lines=[text])
    )
