"""Exported conversations: the turns of the source, with the caption that was corrected."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backend.datasets.export_row import ExportRow
from backend.datasets.reading.conversations import SHOWN
from backend.datasets.writing.dataset_writer import write_dataset
from tests.datasets.folders import picture, read
from tests.datasets.reading.test_conversations import (
    DESCRIBE,
    NUMBERED,
    TURNS,
    lines,
    llava,
    openai,
)

FORMATS = ("conversations", "messages")
RIGHT = "A blue square."
#: The question where the source has none.
ANYWAY = "<image>\nDescribe the image in one sentence."


def export(folder: Path, format: str, row: dict[str, Any], **options: Any) -> list[dict[str, Any]]:
    """The lines that are written of the source's row, whose first caption was corrected; imported
    again, they are the same pairs."""
    pairs, reader = lines(folder / "source", [{"id": "7", **row}], **options)
    rows = [ExportRow(p.id, p.image_path, p.caption, p.caption, extra=p.extra) for p in pairs]
    rows[0] = replace(rows[0], caption=RIGHT)
    out = folder / "out"
    write_dataset(rows, out, format=format, card="", source_root=reader.root)
    again, reader = read(out / "data.jsonl", image_root=folder)
    assert [(p.id, p.caption, p.image_path.name) for p in again] == [
        (r.id, r.caption, r.image_path.name) for r in rows
    ]
    assert reader.problems == []
    return [json.loads(line) for line in (out / "data.jsonl").read_text("utf-8").splitlines()]


def turns_of(line: dict[str, Any], format: str) -> list[tuple[str, str]]:
    if format == "messages":
        shown = [part for turn in line["messages"] for part in pictures_in(turn)]
        assert len(shown) == len(line["images"])
        return [(t["role"], "\n".join(map(text_of, t["content"]))) for t in line["messages"]]
    roles = {"human": "user", "gpt": "assistant"}
    return [(roles.get(t["from"], t["from"]), t["value"]) for t in line["conversations"]]


def pictures_in(turn: dict[str, Any]) -> list[Any]:
    return [part for part in turn["content"] if part["type"] == "image"]


def text_of(part: dict[str, str]) -> str:
    """Of a part, which holds no mark: TRL trains on its characters."""
    assert "<image>" not in part.get("text", "").lower()
    return part["text"] if part["type"] == "text" else "<image>"


def with_answers(*answers: str) -> list[tuple[str, str]]:
    questions = [question for question, _ in TURNS]
    return [turn for question, answer in zip(questions, answers, strict=True)
            for turn in (("user", question), ("assistant", answer))]  # fmt: skip


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    "row",
    [
        {"conversations": llava(TURNS)},
        {"messages": openai(TURNS)},
        {"messages": json.dumps(openai(TURNS))},
        {"texts": [{"user": question, "assistant": answer} for question, answer in TURNS]},
    ],
    ids=["conversations", "messages", "json", "texts"],
)
def test_the_turns_of_the_source_are_written_again(
    tmp_path: Path, format: str, row: dict[str, Any]
) -> None:
    (line,) = export(tmp_path, format, row)
    assert turns_of(line, format) == with_answers(RIGHT, "No.", "2")
    assert (line["caption"], line["original_caption"]) == (RIGHT, "A red square.")
    columns = {"conversations", "messages", "texts", "caption_turns"} & line.keys()
    assert columns == {format}, "nothing holds the old caption"


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    ("row", "question"),
    [
        ({"query": "<image>What do you see?", "response": "Red."}, "<image>What do you see?"),
        ({"question": "Describe it.", "answer": "Red."}, "<image>\nDescribe it."),
        ({"caption": "Red."}, ANYWAY),
        ({"caption": "Red.", "messages": "no turns"}, ANYWAY),
        ({"messages": [{"role": "assistant", "content": "Red."}]}, "<image>"),
    ],
)  # fmt: skip
def test_each_row_has_its_question(
    tmp_path: Path, format: str, row: dict[str, Any], question: str
) -> None:
    (line,) = export(tmp_path, format, row)
    if format == "messages":
        question = question.replace("<image>What", "<image>\nWhat")
    assert turns_of(line, format) == [("user", question), ("assistant", RIGHT)]
    if row.get("messages") == "no turns":
        assert "no turns" in line.values(), "a column of the format's name is called otherwise"


@pytest.mark.parametrize("format", FORMATS)
def test_captions_of_one_conversation_are_rows_of_their_own(tmp_path: Path, format: str) -> None:
    turns = [*TURNS, ("Describe it in detail.", "A large red square.")]
    first, second = export(tmp_path, format, {"conversations": llava(turns)})
    assert turns_of(first, format) == with_answers(RIGHT, "No.", "2")
    assert turns_of(second, format) == [
        ("user", "<image>\nDescribe it in detail."), ("assistant", "A large red square."),
    ]  # fmt: skip


@pytest.mark.parametrize("format", FORMATS)
def test_no_answer_is_written_twice_if_all_are_captions(tmp_path: Path, format: str) -> None:
    every = export(tmp_path, format, {"conversations": llava(TURNS)}, answers="all")
    assert [turns_of(line, format)[-1][1] for line in every] == [RIGHT, "No.", "2"]
    assert {len(turns_of(line, format)) for line in every} == {2}
    assert all(turns_of(line, format)[0][1].count("<image>") == 1 for line in every)


@pytest.mark.parametrize("format", FORMATS)
def test_each_picture_keeps_its_own_turns(tmp_path: Path, format: str) -> None:
    turns = [(DESCRIBE, "A red square."), ("<image>\nDescribe this one.", "Green.")]
    row = {"images": ["a.png", "b.png"], "conversations": llava(turns)}
    first, second = export(tmp_path, format, row)
    assert turns_of(first, format) == [("user", DESCRIBE), ("assistant", RIGHT)]
    assert turns_of(second, format) == [
        ("user", "<image>\nDescribe this one."), ("assistant", "Green."),
    ]  # fmt: skip


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("row", NUMBERED)
def test_numbers_of_pictures_mean_nothing_in_a_row_with_one(
    tmp_path: Path, format: str, row: dict[str, Any]
) -> None:
    first, second = export(tmp_path, format, row)
    for line, shown, caption in ((first, "a.png", RIGHT), (second, "b.png", "Of b.")):
        assert turns_of(line, format) == [("user", "<image>\nDescribe it."), ("assistant", caption)]
        path = line["image"] if format == "conversations" else line["images"][0]
        assert Path(path).name == shown


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    "question",
    [
        "<image>\nDescribe what <image_1> shows.",
        "<|image_1|>\nDescribe what <image> shows.",
        [{"type": "image"}, {"type": "text", "text": "Describe what <image_1> shows."}],
    ],
)
def test_one_picture_has_one_mark(tmp_path: Path, format: str, question: Any) -> None:
    turns: list[dict[str, Any]] = openai([(DESCRIBE, "Red.")])
    turns[0]["content"] = question
    turns.insert(0, {"role": "system", "content": "You see an <image>."})
    (line,) = export(tmp_path, format, {"messages": turns})
    if format == "conversations":
        texts = [text for _, text in turns_of(line, format)]
        marks = [match[0] for text in texts for match in SHOWN.finditer(text)]
        assert (marks, texts[1].startswith("<image>\nDescribe what ")) == (["<image>"], True)
    else:
        _, asking, _ = line["messages"]
        assert [part["type"] for part in asking["content"]] == ["image", "text"]
        assert not SHOWN.search(json.dumps(line["messages"]))


@pytest.mark.parametrize("format", FORMATS)
def test_calls_of_tools_stay_with_their_question(tmp_path: Path, format: str) -> None:
    turns = [
        *openai([(DESCRIBE, "Red.")]),
        {"role": "user", "content": "Describe its edge."},
        {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "zoom"}}]},
        {"role": "tool", "content": "straight"},
        {"role": "assistant", "content": "A straight edge."},
    ]
    lines_of = export(tmp_path, format, {"messages": turns}, answers="all")
    column = "messages" if format == "messages" else "conversations"
    assert [len(line[column]) for line in lines_of] == [2, 4]


def test_parts_of_turns_stay_parts_without_other_paths(tmp_path: Path) -> None:
    turns = [
        {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
        {"role": "user", "content": [{"type": "image", "image": "a.png"},
                                     {"type": "text", "text": "Describe it."}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Red."}], "weight": 1},
    ]  # fmt: skip
    (line,) = export(tmp_path, "messages", {"messages": turns})
    assert line["messages"] == [
        turns[0],
        {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Describe it."}]},
        {"role": "assistant", "content": [{"type": "text", "text": RIGHT}], "weight": 1},
    ]
    assert len(line["images"]) == 1


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Look at <image> and describe it.", ["Look at ", None, " and describe it."]),
        ("Describe the picture.\n<image>", ["Describe the picture.", None]),
        ("<IMAGE>\n\nDescribe it.\n", [None, "\nDescribe it.\n"]),
        ("<image>", [None]),
    ],
)
def test_marks_in_texts_become_parts_at_their_places(
    tmp_path: Path, text: str, parts: list[str | None]
) -> None:
    (line,) = export(tmp_path, "messages", {"messages": openai([(text, "Red.")])})
    question, answer = line["messages"]
    assert question["content"] == [
        {"type": "image"} if part is None else {"type": "text", "text": part} for part in parts
    ]
    assert answer["content"] == [{"type": "text", "text": RIGHT}]


def test_turns_of_systems_and_tools_stay_as_they_are(tmp_path: Path) -> None:
    """ms-swift reads these as texts alone."""
    call = {"type": "function", "function": {"name": "zoom", "arguments": "{}"}}
    turns = [
        {"role": "system", "content": "Be brief."},
        *openai([(DESCRIBE, "Red.")]),
        {"role": "user", "content": "And its edge?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "straight"},
        {"role": "assistant", "content": "It is straight."},
    ]
    (line,) = export(tmp_path, "messages", {"messages": turns})
    aside = [line["messages"][number] for number in (0, 4, 5)]
    assert aside == [turns[0], turns[4], turns[5]]


@pytest.mark.parametrize("answerer", ["gpt", "model", "bot", "Assistant"])
def test_speakers_have_the_names_of_the_format(tmp_path: Path, answerer: str) -> None:
    turns = [{"role": "human", "content": ["<image>", "Describe it."]},
             {"role": answerer, "content": "Red."}]  # fmt: skip
    (line,) = export(tmp_path, "messages", {"messages": turns})
    assert turns_of(line, "messages") == [
        ("user", "<image>\nDescribe it."), ("assistant", RIGHT),
    ]  # fmt: skip


def test_llava_turns_keep_their_other_fields(tmp_path: Path) -> None:
    turns = llava(TURNS)
    turns[1]["loss"] = "1"
    (line,) = export(tmp_path, "conversations", {"conversations": turns})
    assert line["conversations"][1] == {"from": "gpt", "value": RIGHT, "loss": "1"}


def test_conversations_have_one_marker_for_each_picture(tmp_path: Path) -> None:
    image = picture(tmp_path / "source" / "a.png")
    texts = ["<image>\nA dog.", "a <video> b", "A sign <EXIT>."]
    every = [ExportRow(str(n), image, text, "") for n, text in enumerate(texts)]
    out = tmp_path / "out"
    write_dataset(every, out, format="conversations", card="", source_root=image.parent)
    rows = [json.loads(line) for line in (out / "data.jsonl").read_text("utf-8").splitlines()]
    answers = [row["conversations"][1]["value"] for row in rows]
    assert answers == ["(image)\nA dog.", "a (video) b", "A sign <EXIT>."]
    assert [row["caption"] for row in rows] == texts
    assert "in 2 captions" in (out / "README.md").read_text("utf-8")
