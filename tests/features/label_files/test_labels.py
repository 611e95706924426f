"""Verdicts from files of labels, in the forms that other tools write."""

import json
from pathlib import Path
from typing import Any

import pytest

from backend.errors import SettingsError
from backend.features.label_files.giving import apply_labels, undo_labels
from backend.jobs.export_choice import ExportChoice
from backend.review.charts import progress_of
from backend.workspace import QueueFilter, Workspace
from tests.cli.invoking import as_json, invoked
from tests.datasets.folders import csv_file, image_folder, json_lines, write
from tests.jobs.opening import OpenWorkspace


@pytest.fixture
def workspace(open_workspace: OpenWorkspace, tmp_path: Path) -> Workspace:
    names = tuple(f"{n}.png" for n in range(5))
    rows = [
        {"file_name": name, "id": f"p{name[0]}", "caption": f"A dog {name[0]}"} for name in names
    ]
    opened = open_workspace()
    opened.jobs.import_dataset(image_folder(tmp_path / "pairs", rows, names))
    return opened


def decisions(workspace: Workspace) -> dict[str, str]:
    page = workspace.review.queue_page(QueueFilter(1, order="position", review="all"))
    return {row.external_id: row.decision for row in page.rows if row.decision}


def table(path: Path, rows: list[dict[str, Any]]) -> Path:
    if path.suffix == ".csv":
        return csv_file(path, rows)
    return write(path, json.dumps(rows) if path.suffix == ".json" else json_lines(rows))


def label_studio(id: str, *choices: str) -> dict[str, Any]:
    answers = [
        {"result": [{"type": "choices", "value": {"choices": [choice]}}]} for choice in choices
    ]
    return {"id": 77, "data": {"pair_id": id, "image": "/data/x.png"}, "annotations": answers}


def argilla(id: str, *answers: str) -> dict[str, Any]:
    responses = [{"value": answer, "user_id": n} for n, answer in enumerate(answers)]
    return {"id": "a8", "metadata": {"pair_id": id}, "responses": {"label": responses}}


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("ours.csv", [{"id": "p0", "verdict": "correct"}, {"id": "p1", "verdict": "wrong"}]),
        ("plain.csv", [{"id": "p0", "label": 0}, {"id": "p1", "label": 1}]),
        ("right.jsonl", [{"id": "p0", "is_correct": True}, {"id": "p1", "is_correct": False}]),
        ("cleanlab.csv", [
            {"id": "p0", "is_label_issue": "False", "label_quality": 0.9},
            {"id": "p1", "is_label_issue": "True", "label_quality": 0.1},
        ]),
        ("pictures.csv", [
            {"file_name": "0.png", "choice": "Right"}, {"file_name": "1.png", "choice": "WRONG "},
        ]),
        ("windows.csv", [
            {"file_name": r"C:\set\0.png", "choice": "Right"},
            {"file_name": r"C:\set\1.PNG", "choice": "Wrong"},
        ]),
        ("endings.csv", [{"image": "0", "label": "right"}, {"image": "1", "label": "wrong"}]),
        ("studio-local.json", [
            {"id": n, "data": {"image": f"/data/local-files/?d=mnt%2F{n}.png"},
             "annotations": [{"result": [{"value": {"choices": [choice]}}]}]}
            for n, choice in enumerate(("Right", "Wrong"))
        ]),
        ("studio.json", [label_studio("p0", "Correct"), label_studio("p1", "Wrong", "Wrong")]),
        ("studio-min.json", [
            {"pair_id": "p0", "choice": "ok", "annotator": 1, "id": 9},
            {"pair_id": "p1", "choice": "bad", "annotator": 1, "id": 10},
        ]),
        ("argilla.jsonl", [argilla("p0", "correct"), argilla("p1", "wrong")]),
        ("unanswered.jsonl", [
            {"id": "p2", "fields": {"text": "Is it right?"}, "responses": {}},
            *({"id": f"p{n}", "fields": {"text": "Is it right?"},
               "responses": {"verdict": [{"value": verdict, "user_id": "u"}]}}
              for n, verdict in enumerate(("correct", "wrong"))),
        ]),
        ("flat.jsonl", [
            {"id": "p2", "verdict.responses": None},
            {"id": "p0", "verdict.responses": ["correct"]},
            {"id": "p1", "verdict.responses": ["wrong"]},
        ]),
    ],
)  # fmt: skip
def test_labels_of_other_tools_become_verdicts(
    workspace: Workspace, tmp_path: Path, name: str, rows: list[dict[str, Any]]
) -> None:
    path = table(tmp_path / name, rows)
    preview = apply_labels(workspace.store, 1, path)
    assert (preview.by_decision, preview.problem_count) == ({"correct": 1, "wrong": 1}, 0)
    assert decisions(workspace) == {}
    apply_labels(workspace.store, 1, path, preview=False)
    assert decisions(workspace) == {"p0": "correct", "p1": "wrong"}
    again = apply_labels(workspace.store, 1, path, preview=False)
    assert (again.by_decision, again.agreeing) == ({}, 2)


def test_a_column_without_a_name_says_nothing(workspace: Workspace, tmp_path: Path) -> None:
    """pandas writes its index so."""
    rows = [{"": 0, "id": "p0", "verdict": "wrong"}, {"": 1, "id": "p1", "verdict": "correct"}]
    report = apply_labels(workspace.store, 1, table(tmp_path / "l.csv", rows), preview=False)
    assert report.by_decision == {"correct": 1, "wrong": 1}
    page = workspace.review.queue_page(QueueFilter(1, order="position", review="all"))
    pairs = {row.external_id: row.pair_id for row in page.rows}
    wrong = workspace.review.open_pair(pairs["p0"])
    verdict = wrong.verdict
    assert (verdict.decision, verdict.note, verdict.corrected_caption) == ("wrong", "", None)


def test_people_keep_their_verdicts_and_one_undo_takes_the_labels_back(
    workspace: Workspace, tmp_path: Path
) -> None:
    page = workspace.review.queue_page(QueueFilter(1))
    ids = {row.external_id: row.pair_id for row in page.rows}
    workspace.review.decide(ids["p0"], 0, "correct", author="Ada")
    workspace.review.decide(ids["p1"], 0, "drop", author="Ada")
    labels = [
        ("p0", "wrong", "", ""), ("p1", "wrong", "", ""),
        ("p2", "wrong", "A cat 2", "seen twice"), ("p3", "drop", "A dog 3", ""),
        ("p4", "", "", ""), ("p9", "wrong", "", ""), ("p3", "correct", "", ""),
        ("p4", "maybe", "", ""), ("p4", "correct", "A cow", ""), ("p4", "corrected", " ", ""),
    ]  # fmt: skip
    rows = [
        {"id": id, "verdict": verdict, "caption": caption, "note": note}
        for id, verdict, caption, note in labels
    ]
    path = table(tmp_path / "labels.csv", rows)
    report = apply_labels(workspace.store, 1, path, preview=False)
    assert report.by_decision == {"correction": 1, "drop": 1}
    assert (report.agreeing, report.empty, report.conflict_count) == (1, 1, 1)
    assert [(p.row, p.key) for p in report.conflicts] == [(2, "p0")]
    assert [(p.row, p.key) for p in report.problems] == [
        (7, "p9"), (8, "p3"), (9, "p4"), (10, "p4"), (11, "p4"),
    ]  # fmt: skip
    pair = workspace.review.open_pair(ids["p2"])
    verdict = (pair.verdict.decision, pair.verdict.corrected_caption, pair.verdict.note)
    assert verdict == ("correction", "A cat 2", "seen twice")
    assert [act.author for act in pair.verdict.history] == ["labels: labels.csv"]
    undone = undo_labels(workspace.store, 1, "labels.csv")
    assert undone is not None
    assert undone.together == 2
    assert decisions(workspace) == {"p0": "correct", "p1": "drop"}
    assert undo_labels(workspace.store, 1, "labels.csv") is None


def test_a_label_takes_no_pair_out_of_the_export(workspace: Workspace, tmp_path: Path) -> None:
    rows = [{"id": "p1", "is_wrong": 1}, {"id": "p2", "is_wrong": 0}]
    path = table(tmp_path / "labels.csv", rows)
    apply_labels(workspace.store, 1, path, preview=False)
    workspace.jobs.export(1, ExportChoice(drop_above=0.0), tmp_path / "out", "jsonl")
    rows = [json.loads(line) for line in (tmp_path / "out/data.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == [f"p{n}" for n in range(5)]
    assert [row.get("tags") for row in rows if row["id"] in ("p1", "p2")] == [["wrong"], []]
    assert progress_of(workspace.store, 1).errors_found == 1


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("none.csv", "", {}, "no rows|is empty"),
        ("other.csv", "id,mood\np0,fine\n", {}, "looks like the verdict"),
        ("nameless.csv", "mood,verdict\nfine,ok\n", {}, "looks like the pair.s id"),
        ("labels.csv", "id,verdict\np0,ok\n", {"verdict": "mood"}, "no column 'mood'"),
        ("labels.txt", "p0 ok", {}, "must end in"),
        ("object.json", '{"p0": 1}', {}, "JSON array"),
        ("labels.csv", "id,verdict\np0,1\n", {"one_means": "maybe"}, "'right' or 'wrong'"),
    ],
)
def test_a_file_without_labels_is_refused(
    workspace: Workspace, tmp_path: Path, name: str, text: str, options: Any, message: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(SettingsError, match=message):
        apply_labels(workspace.store, 1, tmp_path / name, **options)


def test_annotators_who_disagree_give_no_label(workspace: Workspace, tmp_path: Path) -> None:
    rows = [label_studio("p1", "Wrong"), label_studio("p0", "Wrong", "Correct")]
    path = table(tmp_path / "studio.json", rows)
    report = apply_labels(workspace.store, 1, path)
    assert (report.by_decision, report.problem_count) == ({"wrong": 1}, 1)


def test_the_command_labels_and_takes_back(workspace: Workspace, tmp_path: Path) -> None:
    path = table(tmp_path / "labels.csv", [{"id": "p1", "verdict": "wrong"}])
    environment = {"TRACED_DATA_DIRECTORY": str(tmp_path / "state"), "COLUMNS": "200"}
    dry = as_json(environment, "label", "pairs", str(path), "--dry-run")
    assert (dry["by_decision"], dry["is_preview"]) == ({"wrong": 1}, True)
    assert invoked(environment, "label", "pairs", str(path))[0] == 0
    assert decisions(workspace) == {"p1": "wrong"}
    assert invoked(environment, "label", "pairs", str(path), "--undo")[0] == 0
    assert decisions(workspace) == {}
    assert invoked(environment, "label", "pairs", str(path), "--undo")[0] == 2
    assert invoked(environment, "label", "pairs", str(tmp_path / "gone.csv"))[0] == 2
