"""Bags of a dataset are written to files and read by the evaluation."""

import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from backend.errors import DatasetError, NotScored, SettingsError
from backend.workspace import Workspace
from research.evaluation.specificity import evaluate_dataset
from tests.checkpoints import drawn_folder, drawn_pairs
from tests.jobs.opening import VECTORS, opened

PAIRS = 30
MODEL = VECTORS["model"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bags") / "pairs"
    drawn_folder(path, PAIRS, 12, columns=lambda number, caption: {"id": f"p{number}"})
    with (path / "metadata.jsonl").open("a") as table:
        row = {"id": "again", "file_name": "0.png", "caption": "<b>A & B</b>"}
        table.write(json.dumps(row) + "\n")
    return path


@pytest.fixture(scope="module")
def workspace(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    state = tmp_path_factory.mktemp("state")
    made = opened(state, **VECTORS)
    dataset = made.find_or_import(str(folder))
    with pytest.raises(NotScored, match="not scored yet"):
        made.jobs.run("bags", dataset, size=[3], out=state / "bags")
    made.jobs.score(dataset, suggestions=False)
    yield made
    made.store.close()


def test_bags_are_written_reviewed_and_read_again(
    workspace: Workspace, folder: Path, tmp_path: Path
) -> None:
    report = workspace.jobs.run("bags", 1, size=[3, 5], out=tmp_path / "out")
    bags = json.loads((tmp_path / "out" / "bags-3.json").read_text())
    assert report.bags[3] == len(bags) > 3
    assert report.pictures == PAIRS
    members = [member for bag in bags for member in bag]
    assert len(set(members)) == len(members)
    with (tmp_path / "out" / "bags.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    firsts = [row["id"] for row in rows if row["size"] == "3" and row["place"] == "0"]
    assert firsts == [bag[0] for bag in bags]
    alphas = [float(row["alpha"]) for row in rows if row["size"] == "3"]
    assert alphas == sorted(alphas, reverse=True)
    sheet = (tmp_path / "out" / "bags.html").read_text()
    assert sheet.count("data:image/jpeg;base64,") == 3 * report.bags[3] + 5 * report.bags[5]
    assert "<b>A & B</b>" not in sheet

    struck = tmp_path / "struck.txt"
    struck.write_text(f"# of one video\n{bags[1][0]}\n")
    workspace.jobs.run("bags", 1, size=[3], out=tmp_path / "again", strike=struck)
    left = json.loads((tmp_path / "again" / "bags-3.json").read_text())
    assert left == [bag for bag in bags if bag[0] != bags[1][0]]

    result = evaluate_dataset(folder, None, MODEL, "clip", [3], bags=tmp_path / "out")
    row = next(row for row in result.rows if row.size == 3)
    captions = 3 * len(bags) + ("p0" in members)  # one picture has two
    assert row.recall.captions == captions


def test_external_captions_and_bags_in_the_published_form_are_evaluated(
    folder: Path, tmp_path: Path
) -> None:
    bags = tmp_path / "truematch.json"
    bags.write_text(json.dumps([[0, 1, 2], [3, 4, 5], [6, 7, 8]]))  # file names, as in COCO
    rows = [{"id": f"p{i}", "caption": text} for i, (_, text) in enumerate(drawn_pairs(9, 12))]
    captions = tmp_path / "model.jsonl"
    captions.write_text(
        "".join(json.dumps(row) + "\n" for row in [*rows[:8], {"id": "x", "caption": "y"}])
    )
    report = evaluate_dataset(folder, None, MODEL, "clip", [3], bags=bags, captions=captions)
    by_set = {row.captions: row.recall for row in report.rows if row.size == 3}
    assert by_set["the dataset"].captions == 10
    assert by_set["model.jsonl"].captions == 6  # the third bag lacks a caption
    assert any("1 bags lack a caption" in note for note in report.notes)
    assert any("1 rows are of no picture here" in note for note in report.notes)


def test_invalid_options_and_files_are_refused(
    workspace: Workspace, folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError, match="2 to 50 pictures, not 1"):
        workspace.jobs.run("bags", 1, size=[3, 1], out=tmp_path)
    with pytest.raises(SettingsError, match=f"A bag of 40 needs 40 .*; there are {PAIRS}"):
        workspace.jobs.run("bags", 1, size=[40], out=tmp_path)
    struck = tmp_path / "struck.txt"
    struck.write_text("nobody\n")
    with pytest.raises(DatasetError, match="no picture 'nobody'"):
        workspace.jobs.run("bags", 1, size=[3], out=tmp_path, strike=struck)
    unknown = tmp_path / "bags.json"
    unknown.write_text('[["p1", "zz"]]')
    with pytest.raises(DatasetError, match=r"'zz' \(bag 1\)"):
        evaluate_dataset(folder, None, MODEL, "clip", [3], bags=unknown)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"no caption of a picture here \(0 of others\)"),
        ('{"id": "x", "caption": "A dog."}', r"no caption of a picture here \(1 of others\)"),
        ("[1]", "line 1: expected"),
        ('{"id": "p1", "caption": "A dog."}\n{"id": "p2"}', "line 2"),
        ('{"id": "p1", "caption": " "}', "line 1: the caption is empty"),
        ("[" * 100_000, "line 1: expected"),
        ('{"id": "p1", "caption": "A \\ud800 dog."}', "line 1: the caption cannot be read"),
        (b"\xff\xff", "not text in UTF-8"),
    ],
)
def test_a_bad_file_of_captions_is_refused_before_pictures_are_read(
    folder: Path, tmp_path: Path, content: str | bytes, message: str
) -> None:
    captions = tmp_path / "captions.jsonl"
    captions.write_bytes(content if isinstance(content, bytes) else content.encode())
    seen: list[str] = []
    with pytest.raises(DatasetError, match=message):
        evaluate_dataset(
            folder, None, MODEL, "clip", [3], captions=captions,
            progress=lambda done, total, stage: seen.append(stage),
        )  # fmt: skip
    assert seen == []


@pytest.mark.timeout(60)
def test_only_regular_files_are_read(workspace: Workspace, folder: Path, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for read in (
        lambda: workspace.jobs.run("bags", 1, size=[3], out=tmp_path / "out", strike=fifo),
        lambda: evaluate_dataset(folder, None, MODEL, "clip", [3], captions=fifo),
        lambda: evaluate_dataset(folder, None, MODEL, "clip", [3], bags=fifo),
    ):
        with pytest.raises(DatasetError, match="not a regular file"):
            read()
