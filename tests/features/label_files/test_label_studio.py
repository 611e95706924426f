"""Answers of Label Studio become verdicts: tasks (JSON), and rows (JSON-MIN, CSV)."""

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from backend.features.label_files.giving import LabelReport, apply_labels, undo_labels
from backend.jobs.provenance import People
from backend.workspace import Workspace
from db.authors import label_author
from db.queries import blind_review, opinion_queries, pair_queries
from tests.datasets.folders import image_folder
from tests.features.label_files.test_labels import decisions, table
from tests.jobs.opening import OpenWorkspace

COLOURS = ("red", "blue", "green", "pink", "grey", "tan")


@pytest.fixture
def workspace(open_workspace: OpenWorkspace, tmp_path: Path) -> Workspace:
    rows: list[dict[str, Any]] = [
        {"file_name": f"{c}.png", "id": c, "caption": f"A {c} square."} for c in COLOURS
    ]
    rows.append({"file_name": "red.png", "id": "red-2", "caption": "It is red."})
    opened = open_workspace()
    opened.jobs.import_dataset(
        image_folder(tmp_path / "pairs", rows, tuple(f"{c}.png" for c in COLOURS))
    )
    return opened


def choice(word: str, name: str = "verdict") -> dict[str, Any]:
    return {"type": "choices", "from_name": name, "to_name": "i", "value": {"choices": [word]}}


def area(*texts: str, name: str = "fix") -> dict[str, Any]:
    return {"type": "textarea", "from_name": name, "to_name": "i", "value": {"text": list(texts)}}


def annotation(*results: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": 1, "result": list(results), "was_cancelled": False, **more}


def task(colour: str, *annotations: dict[str, Any], caption: str = "") -> dict[str, Any]:
    data = {"image": f"/data/upload/3/0a1b2c3d-{colour}.png",
            "caption": caption or f"A {colour} square."}  # fmt: skip
    return {"id": 7, "data": data, "annotations": list(annotations), "predictions": []}


def apply(workspace: Workspace, tmp_path: Path, rows: list[Any], name: str) -> LabelReport:
    path = table(tmp_path / name, rows)
    return apply_labels(workspace.store, 1, path, preview=False)


def test_every_answer_is_read_by_its_type(workspace: Workspace, tmp_path: Path) -> None:
    region = {"x": 1, "y": 2, "width": 3, "height": 4, "rectanglelabels": ["square"]}
    box = {"type": "rectanglelabels", "from_name": "where", "to_name": "i", "value": region}
    relation = {"type": "relation", "from_id": "a", "to_id": "b", "direction": "right"}
    tasks = [
        task("red", annotation(choice("right"))),
        task("blue", annotation(area(""), box, relation, choice("wrong"))),
        task("green", annotation(area(), choice("wrong"), area("Why.", name="comment"))),
        task("pink", annotation(area("A rosy square."), choice("colour", "kind"), choice("wrong"))),
        task("grey", annotation(area("A gray square."))),
    ]
    report = apply(workspace, tmp_path, tasks, "tasks.json")
    assert (report.problem_count, report.empty) == (0, 0)
    assert decisions(workspace) == {
        "red": "correct", "blue": "wrong", "green": "wrong", "pink": "correction",
        "grey": "correction",
    }  # fmt: skip
    notes = {row.external_id: row.note for row in rows_of(workspace)}
    assert notes["green"] == "Why."
    texts = {row.external_id: row.corrected_caption for row in rows_of(workspace)}
    assert (texts["pink"], texts["grey"]) == ("A rosy square.", "A gray square.")


def rows_of(workspace: Workspace) -> Any:
    with workspace.store.reading() as session:
        return list(pair_queries.iterate_pairs(session, 1))


def test_what_has_no_answer_is_told_apart(workspace: Workspace, tmp_path: Path) -> None:
    tasks = [
        task("red"),
        task("blue", annotation(choice("wrong"), was_cancelled=True)),
        task("green", annotation()),
        task("pink", annotation(area(""))),
        task("grey", annotation(was_cancelled=True), annotation(choice("right"))),
    ]
    report = apply(workspace, tmp_path, tasks, "tasks.json")
    assert (report.empty, report.skipped, report.reviewed) == (1, 1, 2)
    assert decisions(workspace) == {"grey": "correct"}


def test_annotators_may_disagree_and_one_answer_may_be_the_truth(
    workspace: Workspace, tmp_path: Path
) -> None:
    anna = {"completed_by": {"id": 1, "email": "anna@example.org"}}
    tasks = [
        task(
            "red", annotation(choice("right"), **anna), annotation(choice("wrong"), completed_by=2)
        ),
        task("blue", annotation(choice("wrong"), **anna), annotation(choice("Wrong"))),
        task("green", annotation(choice("right")), annotation(choice("wrong"), ground_truth=True)),
    ]
    report = apply(workspace, tmp_path, tasks, "tasks.json")
    assert [problem.row for problem in report.problems] == [1]
    for who in ("anna@example.org", "(by 2)"):
        assert who in report.problems[0].message
    assert decisions(workspace) == {"blue": "wrong", "green": "wrong"}


def test_pairs_of_one_picture_are_told_by_their_caption(
    workspace: Workspace, tmp_path: Path
) -> None:
    tasks = [
        task("red", annotation(choice("wrong")), caption="It is red."),
        task("red", annotation(choice("right"))),
        task("red", annotation(choice("right")), caption="Another."),
    ]
    report = apply(workspace, tmp_path, tasks, "tasks.json")
    assert decisions(workspace) == {"red": "correct", "red-2": "wrong"}
    assert report.problem_count == 1


@pytest.mark.parametrize("name", ["answers.json", "answers.csv"])
def test_rows_with_an_answer_in_each_column_are_read(
    workspace: Workspace, tmp_path: Path, name: str
) -> None:
    added = {"annotator": 1, "created_at": "2026-01-01", "updated_at": "2026-01-01"}
    several = {"choices": ["colour", "wrong"]}
    answers = [
        ("blue", "right", "", 11), ("green", "wrong", "", 12), ("pink", "", "", 13),
        ("grey", json.dumps(several) if name.endswith("csv") else several, "", 14),
        ("tan", "wrong", "A brown square.", 15), ("red", "", "", ""),
    ]  # fmt: skip
    rows = [
        {"id": number, "image": f"/data/upload/0a1b2c3d-{colour}.png",
         "caption": f"A {colour} square.", "verdict": verdict, "fix": fix, "annotation_id": id,
         "lead_time": 3.2, **added}
        for number, (colour, verdict, fix, id) in enumerate(answers)
    ]  # fmt: skip
    report = apply(workspace, tmp_path, rows, name)
    assert decisions(workspace) == {
        "blue": "correct", "green": "wrong", "grey": "wrong", "tan": "correction",
    }  # fmt: skip
    assert (report.empty, report.reviewed, report.problem_count) == (1, 1, 0)


def test_an_id_of_another_program_is_no_id_of_a_pair(workspace: Workspace, tmp_path: Path) -> None:
    rows = [
        {"id": "x1", "image": "blue.png", "caption": "A blue square.", "verdict": "wrong"},
        {"id": "x2", "image": "green.png", "caption": "Other words.", "verdict": "wrong"},
    ]
    report = apply(workspace, tmp_path, rows, "rows.json")
    assert decisions(workspace) == {"blue": "wrong"}
    assert report.problem_count == 1


def test_what_is_no_task_is_a_problem(workspace: Workspace, tmp_path: Path) -> None:
    rows = [task("red", annotation(choice("right"))), {"data": {}, "annotations": [None]},
            {"data": 3, "annotations": [{"result": [3]}]}]  # fmt: skip
    report = apply(workspace, tmp_path, rows, "tasks.json")
    assert report.problem_count == 2
    assert decisions(workspace) == {"red": "correct"}


ANNA = {"id": 1, "email": "anna@example.org", "first_name": "Anna"}


def judges(workspace: Workspace) -> dict[str, str | None]:
    return {row.external_id: row.decided_by for row in rows_of(workspace) if row.decision}


def test_who_annotated_is_who_decided(workspace: Workspace, tmp_path: Path) -> None:
    workspace.accounts.add("Anna@example.org", "a long password")
    workspace.accounts.add("Ben", "a long password")
    tasks = [
        task("red", annotation(choice("right"), completed_by=ANNA)),
        task("blue", annotation(choice("wrong"), completed_by={"id": 3, "username": "ben"})),
        task("green", annotation(choice("wrong"), completed_by=17)),
        task("pink", annotation(choice("wrong"))),
        task(
            "grey",
            annotation(choice("wrong"), completed_by=ANNA),
            annotation(choice("wrong"), completed_by=17),
        ),
        task("tan", annotation(choice("wrong"), completed_by="a\nb + c")),
    ]
    apply(workspace, tmp_path, tasks, "tasks.json")
    file = "labels: tasks.json"
    assert judges(workspace) == {
        "red": f"{file}/Anna@example.org", "blue": f"{file}/Ben", "green": f"{file}/17",
        "pink": file, "grey": f"{file}/Anna@example.org + 17", "tan": f"{file}/a\ufffdb+c",
    }  # fmt: skip
    people = People(has_names=False)
    assert people.author(f"{file}/Anna@example.org + 17") == f"{file}/curator 1 + curator 2"
    again = apply(workspace, tmp_path, tasks, "tasks.json")
    assert (again.agreeing, again.by_decision, again.conflict_count) == (6, {}, 0)
    undone = undo_labels(workspace.store, 1, "tasks.json")
    assert undone is not None
    assert (undone.together, judges(workspace)) == (6, {})
    assert undo_labels(workspace.store, 1, "tasks.json") is None


def test_annotations_of_two_people_are_two_readings_where_these_are_wanted(
    workspace: Workspace, tmp_path: Path
) -> None:
    workspace.accounts.set_overlap(1, 1.0, 2)
    tasks = [
        task(
            "red",
            annotation(choice("right"), completed_by=ANNA),
            annotation(choice("wrong"), completed_by=17),
        ),
        task(
            "blue",
            annotation(choice("wrong"), completed_by=ANNA),
            annotation(choice("wrong"), completed_by=17),
        ),
        task("green", annotation(choice("wrong"), completed_by=17)),
        task(
            "pink",
            annotation(choice("wrong"), completed_by=ANNA, was_cancelled=True),
            annotation(choice("right"), completed_by=17),
        ),
        task("grey", annotation(choice("right")), annotation(choice("wrong"))),
    ]
    report = apply(workspace, tmp_path, tasks, "tasks.json")
    assert [problem.row for problem in report.problems] == [5]
    assert opinions(workspace) == {
        "red": ["correct", "wrong"], "blue": ["wrong", "wrong"], "green": ["wrong"],
        "pink": ["correct"],
    }  # fmt: skip
    assert workspace.store.read(opinion_queries.count_disputed, 1) == 1
    again = apply(workspace, tmp_path, tasks, "tasks.json")
    assert (again.agreeing, again.by_decision) == (6, {})
    undone = undo_labels(workspace.store, 1, "tasks.json")
    assert undone is not None
    assert (undone.together, opinions(workspace), decisions(workspace)) == (6, {}, {})


def opinions(workspace: Workspace) -> dict[str, list[str]]:
    with workspace.store.reading() as session:
        of_pairs = {
            row.external_id: opinion_queries.of_pair(session, row.id) for row in rows_of(workspace)
        }
    return {id: [each.decision for each in said] for id, said in of_pairs.items() if said}


def test_rows_of_two_people_are_two_readings(workspace: Workspace, tmp_path: Path) -> None:
    rows = [
        {"id": "red", "verdict": "right", "annotator": "anna"},
        {"id": "red", "verdict": "wrong", "annotator": "ben"},
        {"id": "red", "verdict": "wrong", "annotator": "ben"},
    ]
    report = apply(workspace, tmp_path, rows, "rows.csv")
    assert (report.by_decision, report.problem_count) == ({"correct": 1}, 2)
    undo_labels(workspace.store, 1, "rows.csv")
    workspace.accounts.set_overlap(1, 1.0, 2)
    report = apply(workspace, tmp_path, rows, "rows.csv")
    assert (report.by_decision, report.problem_count) == ({"correct": 1, "wrong": 1}, 1)
    assert opinions(workspace) == {"red": ["correct", "wrong"]}


def test_who_gave_a_label_is_not_asked_again_as_a_second_person(
    workspace: Workspace, tmp_path: Path
) -> None:
    """Beside others who gave labels, and whose names end alike."""
    workspace.accounts.set_overlap(1, 1.0, 2)
    for name in ("anna", "joanna", "ben", "eve", "PIA"):
        workspace.accounts.add(name, "a long password", "curator")
    rows = [
        {"id": "red", "verdict": "right", "annotator": "anna"},
        {"id": "blue", "verdict": "wrong", "annotator": "joanna"},
    ]
    apply(workspace, tmp_path, rows, "rows.csv")
    for author in ("labels: rows.csv/team/eve", "labels: rows.csv/pia"):
        with workspace.store.writing() as session:
            session.execute(
                text("UPDATE opinions SET author = :a WHERE pair_id = 1"), {"a": author}
            )
        with workspace.store.reading() as session:
            for reader in ("eve", "PIA"):
                blind_review.set_reader(session, reader)
                (first,) = pair_queries.pairs_after(session, 1, 0, 1)
                assert first.decision is None, (author, reader)
    with workspace.store.writing() as session:
        first_author = {"a": label_author("rows.csv", "anna")}
        session.execute(text("UPDATE opinions SET author = :a WHERE pair_id = 1"), first_author)
    for reader, judged in (("anna", "red"), ("joanna", "blue"), ("ben", "")):
        with workspace.store.reading() as session:
            blind_review.set_reader(session, reader)
            pairs = pair_queries.pairs_after(session, 1, 0, 100)
            visible = {p.external_id for p in pairs if p.decision is not None}
        assert visible == {judged} - {""}


def test_argilla_says_who_answered(workspace: Workspace, tmp_path: Path) -> None:
    def record(id: str, *answers: tuple[str, str]) -> dict[str, Any]:
        responses = [{"value": value, "user_id": user} for value, user in answers]
        return {"metadata": {"pair_id": id}, "responses": {"label": responses}}

    rows = [record("red", ("right", "u1"), ("right", "u2")), record("blue", ("wrong", "u1"))]
    rows.append(record("green", ("right", "u1"), ("wrong", "u2")))
    report = apply(workspace, tmp_path, rows, "records.json")
    assert [problem.row for problem in report.problems] == [3]
    assert judges(workspace) == {
        "red": "labels: records.json/u1 + u2", "blue": "labels: records.json/u1",
    }  # fmt: skip
    workspace.accounts.set_overlap(1, 1.0, 2)
    report = apply(workspace, tmp_path, rows, "records.json")
    assert opinions(workspace)["green"] == ["correct", "wrong"]


@pytest.mark.parametrize("state", ["draft", "discarded"])
def test_what_nobody_submitted_in_argilla_is_no_verdict(
    workspace: Workspace, tmp_path: Path, state: str
) -> None:
    rows = [
        {"id": "red", "label.responses": ["wrong", "right"], "label.responses.users": ["u1", "u2"],
         "label.responses.status": ["submitted", state]},
        {"id": "blue", "label.responses": ["wrong"], "label.responses.users": ["u1"],
         "label.responses.status": [state]},
    ]  # fmt: skip
    apply(workspace, tmp_path, rows, "records.json")
    assert judges(workspace) == {"red": "labels: records.json/u1"}
