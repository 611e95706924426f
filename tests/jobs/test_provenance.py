"""Who wrote a caption is kept from the source to an export, and told apart from who judged it."""

import csv
from pathlib import Path
from typing import Any

import pytest

from backend.datasets.caption_writers import Writer, writer_of
from backend.datasets.read_options import ReadOptions
from backend.jobs.export_choice import ExportChoice
from backend.jobs.provenance import People
from backend.workspace import Workspace
from db.queries import dataset_queries, pair_queries, queue_queries
from db.queries.suggestion_queries import NewSuggestion, save_suggestions
from tests.datasets.folders import image_folder
from tests.jobs.opening import OpenWorkspace


def rows(**columns: object) -> list[dict[str, object]]:
    row = {"file_name": "a.png", "model": "org/blip"}
    return [{**row, "id": f"p{n}", "caption": f"A dog {n}.", **columns} for n in range(4)]


@pytest.fixture
def workspace(open_workspace: OpenWorkspace, tmp_path: Path) -> Workspace:
    image_folder(tmp_path / "files" / "pairs", rows(), ("a.png",))
    workspace = open_workspace()
    workspace.jobs.import_dataset(tmp_path / "files" / "pairs")
    return workspace


def stored(workspace: Workspace, dataset_id: int = 1) -> list[Writer | None]:
    with workspace.store.reading() as session:
        pairs = pair_queries.pairs_after(session, dataset_id)
    return [writer_of(pair.extra) for pair in pairs]


def exported(workspace: Workspace, out: Path, **choice: Any) -> list[dict[str, str]]:
    workspace.jobs.export(1, ExportChoice(**choice), out, "csv", overwrite=True)
    with (out / "data.csv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def judge(workspace: Workspace) -> None:
    """The first is corrected by Ada, the second by a suggestion that she accepts."""
    suggested = NewSuggestion(2, "org/gpt · words v1", "A cat 1.", 0.0, 1.0)
    workspace.store.write(save_suggestions, [suggested])
    workspace.review.decide(1, 0, "correction", "A cat 0.", author="Ada")
    workspace.review.decide(2, 0, "correction", author="Ada", suggestion_id=1)
    workspace.review.decide(3, 0, "correct", author="Bob")


def test_each_caption_has_its_own_writer(workspace: Workspace, tmp_path: Path) -> None:
    judge(workspace)
    table = exported(workspace, tmp_path / "files" / "out", name_people=True)
    assert [(row["writer"], row["writer_kind"]) for row in table] == [
        ("Ada", "person"), ("org/gpt", "model"), ("org/blip", "model"), ("org/blip", "model"),
    ]  # fmt: skip
    assert {row["original_writer"] for row in table} == {"org/blip"}
    assert stored(workspace) == [Writer("org/blip", "model")] * 4


def test_people_are_named_only_where_somebody_says_so(workspace: Workspace, tmp_path: Path) -> None:
    judge(workspace)
    out = tmp_path / "out"
    exported(workspace, out)
    texts = [path.read_text("utf-8") for path in out.iterdir() if path.is_file()]
    assert not any("Ada" in text or "Bob" in text for text in texts)
    assert "curator 1 (2), curator 2 (1)" in (out / "README.md").read_text("utf-8")
    exported(workspace, out, name_people=True)
    assert "Ada (2), Bob (1)" in (out / "README.md").read_text("utf-8")


def test_an_export_that_is_imported_keeps_the_writers(workspace: Workspace, tmp_path: Path) -> None:
    judge(workspace)
    exported(workspace, tmp_path / "files" / "out", name_people=True)
    second = workspace.jobs.import_dataset(
        tmp_path / "files" / "out",
        name="second",
        options=ReadOptions(image_root=tmp_path / "files"),
    ).dataset_id
    names = [writer.name for writer in stored(workspace, second) if writer]
    assert names == ["Ada", "org/gpt", "org/blip", "org/blip"]


def test_the_writer_follows_the_source_and_what_is_told(
    workspace: Workspace, tmp_path: Path
) -> None:
    def again(**options: Any) -> None:
        workspace.jobs.import_dataset(tmp_path / "files" / "pairs", options=ReadOptions(**options))

    again(writer_column="")
    assert stored(workspace) == [Writer("org/blip", "model")] * 4  # nobody says another
    again(writer_column="", writer="llava")
    assert stored(workspace) == [Writer("llava")] * 4
    digest = workspace.store.read(dataset_queries.get_dataset, 1).source_digest
    image_folder(tmp_path / "files" / "pairs", rows(model="new", caption="A cat."), ("a.png",))
    again()
    # Captions that stay as they were were not written by the new model.
    assert stored(workspace) == [Writer("llava")] * 4
    assert workspace.store.read(dataset_queries.get_dataset, 1).source_digest != digest
    workspace.jobs.import_dataset(tmp_path / "files" / "pairs", update="take")
    assert stored(workspace) == [Writer("new", "model")] * 4


@pytest.mark.parametrize(
    ("author", "named"),
    [("Ada", "curator 1"), ("rule: edit by Ada", "rule: edit by curator 1"),
     ("rule: one verdict for a queue, by Ada", "rule: one verdict for a queue, by curator 1"),
     ("labels: ada.csv", "labels: ada.csv"), ("rule: p 0.1", "rule: p 0.1")],
)  # fmt: skip
def test_a_rule_is_no_way_to_a_name(author: str, named: str) -> None:
    assert People(has_names=False).author(author) == named
    assert People(has_names=True).author(author) == author


def test_a_pair_says_who_wrote_what_it_was_and_is(workspace: Workspace) -> None:
    judge(workspace)
    views = [workspace.review.open_pair(pair_id) for pair_id in (1, 2, 3)]
    assert {view.writers.original for view in views} == {Writer("org/blip", "model")}
    new = [
        view.writers.corrected and (view.writers.corrected.name, view.writers.corrected.kind)
        for view in views
    ]
    assert new == [("Ada", "person"), ("org/gpt", "model"), None]


def test_a_queue_can_be_of_one_writer(workspace: Workspace) -> None:
    fields = {"review": "all", "extra": "writer = org/blip"}
    filter = workspace.review.filter_of(1, fields)
    assert workspace.store.read(queue_queries.count, filter) == 4
    filter = workspace.review.filter_of(1, {**fields, "extra": "writer = Ada"})
    assert workspace.store.read(queue_queries.count, filter) == 0
