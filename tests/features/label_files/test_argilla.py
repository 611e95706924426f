"""Records of Argilla as a source of pairs, nested and flat, of its versions 1 and 2."""

import json
from pathlib import Path
from typing import Any

import pytest

from backend.datasets.reading.row_pairs import SourcePair
from backend.features.label_files.argilla import answers_of
from tests.datasets.folders import json_lines, picture, read, write

FIELDS = {"image": "a.png", "caption": "A dog."}


def nested(fields: dict[str, Any], **parts: Any) -> dict[str, Any]:
    """A record as `to_json` of Argilla 2 writes it."""
    record = {
        "id": "r1", "fields": fields, "metadata": {"page": 7}, "suggestions": {},
        "responses": {}, "vectors": {}, "status": "completed", "_server_id": "8986eef4",
    }  # fmt: skip
    return record | parts


def answer(value: Any, user: str = "u1") -> dict[str, Any]:
    return {"value": value, "user_id": user}


def pairs_of(folder: Path, *records: Any, form: str = "json") -> tuple[list[SourcePair], Any]:
    picture(folder / "a.png")
    content = json.dumps(records) if form == "json" else json_lines(records)
    return read(write(folder / f"records.{form}", content))


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_fields_are_the_pair_and_all_else_its_columns(tmp_path: Path, form: str) -> None:
    record = nested(
        FIELDS,
        metadata={"page": 7, "caption": "of the page"},
        responses={"label": [answer("right"), answer("wrong", "u2")]},
        suggestions={"label": {"value": "right", "score": 0.9, "agent": "org/model"}},
    )
    ((pair,), reader) = pairs_of(tmp_path, record, form=form)
    assert (pair.id, pair.caption, str(pair.image_path)) == (
        "r1",
        "A dog.",
        str(tmp_path / "a.png"),
    )
    assert pair.extra == {
        "page": 7, "metadata.caption": "of the page", "status": "completed",
        "_server_id": "8986eef4", "label.suggestion": "right", "label.suggestion.score": 0.9,
        "label.suggestion.agent": "org/model", "label.responses": ["right", "wrong"],
        "label.responses.users": ["u1", "u2"],
    }  # fmt: skip
    assert len(reader.notes) == 1
    assert not reader.problems


def test_records_without_answers_have_no_note(tmp_path: Path) -> None:
    pairs, reader = pairs_of(tmp_path, nested(FIELDS))
    assert len(pairs) == 1
    assert not reader.notes


def test_captions_that_people_wrote_come_before_the_suggested_one(tmp_path: Path) -> None:
    shown = {"image": "a.png", "prompt": "Describe it."}
    suggested = {"caption": {"value": "A cat.", "score": None, "agent": "org/captioner"}}
    written = {"caption": [answer("A dog.", "u1"), answer("The dog.", "u2")]}
    pairs, _ = pairs_of(
        tmp_path,
        nested(shown, suggestions=suggested, responses=written),
        nested(shown, id="r2", suggestions=suggested),
    )
    writers = [(p.id, p.caption, p.extra["writer"], p.extra["writer_kind"]) for p in pairs]
    assert writers == [
        ("r1#1", "A dog.", "u1", "person"), ("r1", "The dog.", "u2", "person"),
        ("r2", "A cat.", "org/captioner", "model"),
    ]  # fmt: skip


def test_a_record_that_nobody_described_is_reported(tmp_path: Path) -> None:
    shown = {"image": "a.png"}
    pairs, reader = pairs_of(
        tmp_path,
        nested(shown, responses={"caption": [answer("A dog.")]}),
        nested(shown, id="r2"),
        nested({"image": "a.png"}, id="r3", responses=[7]),
    )
    assert [pair.id for pair in pairs] == ["r1"]
    assert [problem.row for problem in reader.problems] == [2, 3]


def test_answers_of_each_form_are_the_same() -> None:
    by_question = {"label": [answer("right"), answer("wrong", "u2")]}
    of_people = [
        {"user_id": user, "status": state, "values": {"label": {"value": value}}}
        for user, state, value in (
            ("u1", "submitted", "right"), ("u2", "submitted", "wrong"), ("u3", "draft", "right"),
            ("u4", "discarded", "right"),
        )
    ]  # fmt: skip
    flat = {
        "label.responses": ["right", "wrong", "right"], "label.responses.users": ["u1", "u2", "u3"],
        "label.responses.status": ["submitted", "submitted", "discarded"],
    }  # fmt: skip
    expected = {"label": [("right", "u1"), ("wrong", "u2")]}
    for columns in ({"responses": by_question}, {"responses": of_people}, flat):
        assert answers_of(columns) == expected


def test_suggestions_of_the_first_version_name_their_question(tmp_path: Path) -> None:
    record = {
        "external_id": "p7", "id": "5f0c", "fields": {"image": "a.png"}, "responses": [],
        "suggestions": [{"question_name": "caption", "value": "A dog.", "agent": "org/model"}],
    }  # fmt: skip
    ((pair,), _) = pairs_of(tmp_path, record)
    assert (pair.id, pair.caption, pair.extra["writer"]) == ("p7", "A dog.", "org/model")


def test_flat_records_are_read_the_same_way(tmp_path: Path) -> None:
    record = {
        "id": "r1", "image": "a.png", "_server_id": "8986eef4", "caption.responses": ["A dog."],
        "caption.responses.users": ["u1"], "caption.responses.status": ["submitted"],
    }  # fmt: skip
    ((pair,), _) = pairs_of(tmp_path, record, form="jsonl")
    assert (pair.id, pair.caption, pair.extra["writer"]) == ("r1", "A dog.", "u1")
