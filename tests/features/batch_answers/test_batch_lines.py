"""Requests and answers of services that work in batches: an answer is a caption of the picture of
its own request."""

import base64
from pathlib import Path
from typing import Any

import pytest

from backend.errors import DatasetFormatError
from tests.datasets.folders import encoded, json_lines, picture, read, write

DATA = base64.b64encode(encoded((64, 64))).decode()
TEXT = {"type": "text", "text": "Describe the image."}
SHOWN = {"type": "image_url", "image_url": {"url": "a.png"}}
ASKED = {"role": "user", "content": [TEXT, SHOWN]}
ANSWER = {"role": "assistant", "content": "A dog."}
INLINE = {"inlineData": {"mimeType": "image/png", "data": DATA}}
CONTENTS = [{"role": "user", "parts": [{"text": "Describe the image."}, INLINE]}]
THOUGHT = {"text": "It looks like a cat.", "thought": True}
MODEL = {"role": "model", "parts": [THOUGHT, {"text": "A dog."}]}
MODEL_EXAMPLE = {"role": "model", "parts": [{"text": "A cat on a mat."}]}
EXAMPLE = [{"role": "user", "content": "Describe the image."},
           {"role": "assistant", "content": "A cat on a mat."}]  # fmt: skip
INPUT = [{"type": "input_text", "text": "Describe the image."},
         {"type": "input_image", "image_url": "a.png"}]  # fmt: skip
ANSWERED = {"candidates": [{"content": MODEL}]}
OUTPUT = [{"type": "reasoning", "summary": []},
          {"type": "message", "content": [{"type": "output_text", "text": "A dog."}]}]  # fmt: skip


def lines(folder: Path, *rows: dict[str, Any]) -> Path:
    picture(folder / "a.png")
    return write(folder / "t.jsonl", json_lines(rows))


@pytest.mark.parametrize(
    "line",
    [
        {"custom_id": "a.png", "response": {"body": {"choices": [{"message": ANSWER}]}}},
        {"custom_id": "a.png", "response": {"body": {"output": OUTPUT}}},
        {"custom_id": "a", "response": {"body": {"choices": [{"message": ANSWER}]}}},
        {"custom_id": "1", "body": {"messages": [*EXAMPLE, ASKED]},
         "response": {"body": {"choices": [{"message": ANSWER, "finish_reason": "stop"}]}}},
        {"custom_id": "1", "body": {"input": [{"role": "user", "content": INPUT}]},
         "response": {"body": {"output": OUTPUT, "status": "completed"}}},
        {"image": "a.png", "response": ANSWERED},
        {"custom_id": "a.png", "result": {"message": {**ANSWER, "content": [
            {"type": "text", "text": "A dog."}]}}},
        {"key": "a.png", "response": ANSWERED},
        {"request": {"contents": [CONTENTS[0], MODEL_EXAMPLE, *CONTENTS]},
         "response": {"candidates": [{"content": MODEL, "finishReason": "STOP"}]}},
        {"request": {"contents": CONTENTS}, "response": {"candidates": [{"content": MODEL}]}},
        {"contents": [*CONTENTS, MODEL]},
    ],
)  # fmt: skip
def test_answers_are_captions(tmp_path: Path, line: dict[str, Any]) -> None:
    """All of them were refused for a column without a name that they cannot have."""
    pairs, reader = read(lines(tmp_path, line))
    assert ([pair.caption for pair in pairs], reader.problems) == (["A dog."], [])


@pytest.mark.parametrize(
    "line",
    [
        {"custom_id": "a.png", "body": {"messages": [ASKED]}},
        {"custom_id": "a.png", "params": {"messages": [ASKED]}},
        {"custom_id": "1", "body": {"messages": [*EXAMPLE, ASKED]}},
        {"key": "a.png", "body": {"messages": [1]}, "response": ANSWERED},
        {"custom_id": "1", "params": {"messages": [ASKED, EXAMPLE[1]]}},
        {"image": "b.png", "key": "a.png", "response": ANSWERED},
        {"key": "a.png", "response": {"candidates": [{"finishReason": "SAFETY"}]}},
        {
            "key": "a.png",
            "response": {"candidates": [{"content": MODEL, "finishReason": "MAX_TOKENS"}]},
        },
        {
            "custom_id": "a.png",
            "response": {"body": {"choices": [{"message": ANSWER, "finish_reason": "length"}]}},
        },
        {"custom_id": "a.png", "result": {"message": {**ANSWER, "stop_reason": "max_tokens"}}},
        {"key": "a.png", "request": {"contents": CONTENTS}},
        {"key": "a.png", "request": {"contents": ["Describe it."]}},
        {"custom_id": "7", "response": {"body": {"choices": [{"message": ANSWER}]}}},
        {"custom_id": "a.png", "response": None, "error": {"code": "expired"}},
        {"custom_id": "a.png", "response": {"body": {"choices": [None]}}},
        {"custom_id": "a.png", "result": {"type": "errored", "error": {}}},
    ],
)
def test_a_line_without_an_answer_or_a_picture_is_named(
    tmp_path: Path, line: dict[str, Any]
) -> None:
    with pytest.raises(DatasetFormatError, match=r"request|key"):
        read(lines(tmp_path, line))
    good = {"file_name": "a.png", "caption": "A dog."}
    pairs, reader = read(lines(tmp_path, good, line))
    assert [pair.caption for pair in pairs] == ["A dog."]
    assert [problem.row for problem in reader.problems] == [2]


def test_several_answers_to_a_request_are_captions_and_are_told(tmp_path: Path) -> None:
    other = {"role": "assistant", "content": "A pup."}
    choices = [{"message": ANSWER}, {"message": other}]
    line = {"custom_id": "a.png", "response": {"body": {"choices": choices}}}
    pairs, reader = read(lines(tmp_path, line, {**line, "custom_id": "7"}))
    assert [pair.caption for pair in pairs] == ["A dog.", "A pup."]
    (note,) = (note for note in reader.notes if "choices" in note)
    assert " 1 request " in note, "not the one that is left out"


def test_a_key_may_be_the_stem_of_a_picture_in_another_folder(tmp_path: Path) -> None:
    picture(tmp_path / "elsewhere" / "k7.png")
    line = {"custom_id": "k7", "response": {"body": {"choices": [{"message": ANSWER}]}}}
    pairs, _ = read(lines(tmp_path, line), image_root=tmp_path / "elsewhere")
    assert [pair.caption for pair in pairs] == ["A dog."]


def test_an_answer_to_another_question_is_no_caption(tmp_path: Path) -> None:
    asked = {"role": "user", "content": [{"type": "text", "text": "How many dogs?"}, SHOWN]}
    with pytest.raises(DatasetFormatError, match="How many"):
        read(lines(tmp_path, {"body": {"messages": [ASKED, ANSWER, asked]}, "response": ANSWERED}))


@pytest.mark.parametrize(
    "rest",
    [
        {"response": ANSWERED},
        {"response": {"body": {"choices": [{"message": ANSWER}]}}},
        {"body": {"input": ["x"]}},
        {"result": {"error": {}}},
        {"contents": []},
        {"contents": {}},
    ],
)
@pytest.mark.parametrize("column", ["caption", "blip"])
def test_a_caption_beside_a_kept_answer_is_the_caption(
    tmp_path: Path, column: str, rest: dict[str, Any]
) -> None:
    """Each of these tables was refused."""
    table = lines(tmp_path, {"image": "a.png", column: "A pup.", **rest})
    pairs, reader = read(table, caption_column=column)
    assert ([pair.caption for pair in pairs], reader.problems) == (["A pup."], [])


def test_the_picture_of_a_row_is_not_that_of_its_key(tmp_path: Path) -> None:
    picture(tmp_path / "b.png")
    pairs, _ = read(lines(tmp_path, {"image": "b.png", "key": "7", "response": ANSWERED}))
    assert [(pair.image_path.name, pair.caption) for pair in pairs] == [("b.png", "A dog.")]
