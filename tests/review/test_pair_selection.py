"""Selecting the pairs of an export by queue, saved view, split or ids."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from backend.errors import ExportError, SettingsError
from backend.jobs.export_choice import ExportChoice
from backend.review.pair_selection import read_ids
from backend.workspace import QueueFilter, Workspace
from tests.datasets.folders import dogs
from tests.traced_ui.conftest import workspace_in
from traced_ui.export import Fields, pairs_of

SPLITS = ["train", "test", "train", None, "test", "train"]


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    opened = workspace_in(tmp_path)
    opened.jobs.import_dataset(dogs(tmp_path / "pairs", 6, SPLITS))
    yield opened
    opened.store.close()


def exported(workspace: Workspace, out: Path, choice: ExportChoice) -> list[str]:
    workspace.jobs.export(1, choice, out, "jsonl")
    return [json.loads(line)["id"] for line in (out / "data.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(
    ("given", "ids"),
    [
        ({"queue": "?split=train"}, ["p0", "p2", "p5"]),
        ({"queue": "text=dog+4"}, ["p4"]),
        ({"queue": "review=decided"}, ["p1"]),
        ({"view": "the tests"}, ["p4"]),
        ({"splits": ["test"]}, ["p1", "p4"]),
        ({"splits": ["test", ""]}, ["p1", "p3", "p4"]),
        ({"ids": ["p5", "p0", "p5"]}, ["p0", "p5"]),
        ({"splits": ["train"], "ids": ["p0", "p1"]}, ["p0"]),
    ],
)
def test_an_export_contains_only_the_selected_pairs(
    workspace: Workspace, tmp_path: Path, given: dict[str, object], ids: list[str]
) -> None:
    (second,) = workspace.review.queue_page(QueueFilter(1, external_id="p1")).rows
    workspace.review.decide(second.pair_id, 0, "correct")
    workspace.review.save_view(1, "the tests", {"split": "test"})
    selection = workspace.review.select_pairs(1, **given)  # pyrefly: ignore[bad-argument-type]
    choice = ExportChoice(only=selection)
    assert workspace.jobs.export_counts(1, choice).total == len(ids)
    assert exported(workspace, tmp_path / "out", choice) == ids
    card = (tmp_path / "out" / "README.md").read_text("utf-8")
    assert f"{len(ids)} of {len(ids)} image-caption pairs" in card
    assert "Only these pairs of the dataset" in card


@pytest.mark.parametrize(
    ("given", "ids"),
    [
        ({"pairs": "view:the tests"}, ["p1", "p4"]),
        ({"pairs": "queue", "review": "?split=train&dataset=1&pair=3"}, ["p0", "p2", "p5"]),
        ({"pairs": "queue", "review": "?split=train&dataset=2"}, [f"p{n}" for n in range(6)]),
        ({"pairs": "queue"}, [f"p{n}" for n in range(6)]),
        ({"pairs": "all", "filter": " ?split=train "}, ["p0", "p2", "p5"]),
        ({"pairs": None, "filter": ""}, [f"p{n}" for n in range(6)]),
    ],
)
def test_the_page_exports_a_saved_view_or_a_queue(
    workspace: Workspace, tmp_path: Path, given: dict[str, str], ids: list[str]
) -> None:
    entered = Fields(**{**dict.fromkeys(Fields._fields), **given})
    workspace.review.save_view(1, "the tests", {"split": "test"})
    started = workspace.jobs.start(
        "export",
        1,
        choice=ExportChoice(),
        out=str(tmp_path / "out"),
        format="jsonl",
        **pairs_of(1, entered),
    )
    workspace.jobs.background.wait(250)
    job = workspace.jobs.job(started)
    assert job.status == "done", job.message
    lines = (tmp_path / "out" / "data.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == ids


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"queue": "p_eror_from=0.9"}, "p_eror_from"),
        ({"view": "none such"}, "There is no view 'none such'"),
        ({"splits": ["tset"]}, "'tset'.*test, train"),
        ({"ids": ["p0", "q1", "q2"]}, "2 of 3 ids.*'q1', 'q2'"),
        ({"queue": "split=train", "view": "x"}, "not both"),
    ],
)
def test_an_unknown_selection_is_refused(
    workspace: Workspace, given: dict[str, object], message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        workspace.review.select_pairs(1, **given)  # pyrefly: ignore[bad-argument-type]


def test_an_empty_selection_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    selection = workspace.review.select_pairs(1, queue="text=unicorn")
    with pytest.raises(ExportError, match="No pair of the dataset matches"):
        workspace.jobs.export(1, ExportChoice(only=selection), tmp_path / "out", "csv")


def test_ids_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "ids.txt"
    path.write_bytes(b"\xef\xbb\xbfp0\r\n\nid with spaces \np0\n")
    assert read_ids(path) == ["p0", "id with spaces ", "p0"]
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsError, match="UTF-8"):
        read_ids(path)
    with pytest.raises(SettingsError, match=r"gone\.txt"):
        read_ids(tmp_path / "gone.txt")
    path.write_text("\n")
    with pytest.raises(SettingsError, match="no id"):
        read_ids(path)
