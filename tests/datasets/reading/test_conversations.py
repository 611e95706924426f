"""Conversations about pictures: answers are captions if their question asks for a description."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backend.datasets.reading.dataset_reader import DatasetReader
from backend.datasets.reading.row_pairs import SourcePair
from backend.errors import DatasetFormatError
from tests.datasets.folders import encoded, json_lines, picture, read, write

DESCRIBE, CAPTION = "<image>\nDescribe the picture.", "A red square."
TURNS = [(DESCRIBE, CAPTION), ("Is it daylight?", "No."), ("How many squares?", "2")]


def llava(turns: list[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"from": who, "value": text} for who, text in _all_turns(turns, ("human", "gpt"))]


def openai(turns: list[tuple[str, str]]) -> list[dict[str, str]]:
    return [
        {"role": who, "content": text} for who, text in _all_turns(turns, ("user", "assistant"))
    ]


def _all_turns(
    turns: list[tuple[str, str]], speakers: tuple[str, str]
) -> Iterator[tuple[str, str]]:
    for texts in turns:
        yield from zip(speakers, texts, strict=True)


def lines(
    folder: Path, rows: list[dict[str, Any]], **options: Any
) -> tuple[list[SourcePair], DatasetReader]:
    for name in ("a", "b"):
        picture(folder / f"{name}.png")
    every = [{"image": "a.png", **row} if "images" not in row else row for row in rows]
    return read(write(folder / "t.jsonl", json_lines(every)), **options)


ROWS: list[dict[str, Any]] = [
    {"conversations": llava(TURNS)},
    {"messages": openai(TURNS)},
    {"messages": json.dumps(openai(TURNS))},
    {"conversations": {"from": ["human", "gpt"] * 2,
                       "value": [DESCRIBE, CAPTION, "Is it daylight?", "No."]}},
    {"texts": [{"user": question, "assistant": answer} for question, answer in TURNS]},
    {"texts": [text for both in TURNS for text in both]},
    {"texts": [list(both) for both in TURNS]},
    {"messages": str(openai(TURNS))},
    {"conversations": json.dumps(json.dumps(llava(TURNS)))},
    {"qa_pairs": [{"question": question, "answer": answer} for question, answer in TURNS]},
    {"messages": [{"role": "system", "content": "Be brief."}, *openai(TURNS)]},
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: next(iter(row)))
def test_only_answers_to_a_request_to_describe_are_captions(
    tmp_path: Path, row: dict[str, Any]
) -> None:
    pairs, reader = lines(tmp_path, [{"id": "7", **row}])
    assert [(pair.id, pair.caption) for pair in pairs] == [("7", CAPTION)]
    assert (pairs[0].extra | row, reader.problems) == (pairs[0].extra, []), "nothing is lost"
    (note,) = (note for note in reader.notes if "“answers”" in note)
    assert "No." in note
    assert "Is it daylight?" in note
    pairs, reader = lines(tmp_path, [{"id": "7", **row}], answers="all")
    assert [pair.caption for pair in pairs][:2] == [CAPTION, "No."]
    assert not any("“answers”" in note for note in reader.notes)
    pairs, _ = lines(tmp_path, [{"id": "7", **row}], question="IS IT DAY")
    assert [pair.caption for pair in pairs] == ["No."]


def test_all_answers_to_choices_are_their_texts(tmp_path: Path) -> None:
    row = {"question": "Which?", "choices": ["dog", "cat"], "answer": 1}
    assert [pair.caption for pair in lines(tmp_path, [row], answers="all")[0]] == ["cat"]


def test_a_dataset_of_other_questions_alone_says_what_keeps_them(tmp_path: Path) -> None:
    with pytest.raises(DatasetFormatError) as refusal:
        lines(tmp_path, [{"question": "How many?", "answer": "2"}])
    assert "--answers all" in refusal.value.remedies["terminal"]
    assert "How many?" in str(refusal.value)


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    _, reader = lines(tmp_path, [{"conversations": llava(TURNS)}] * 3)
    assert any("6 answers" in note for note in reader.notes)


def _of_b_then_a(first: Any, second: Any) -> dict[str, Any]:
    """A row that asks about its second picture first."""
    contents = [("user", first), ("assistant", "Of b."), ("user", second), ("assistant", "Of a.")]
    turns = [{"role": role, "content": content} for role, content in contents]
    return {"images": ["a.png", "b.png"], "messages": turns}


def _parts(index: Any, **rest: Any) -> list[dict[str, Any]]:
    picture = {"type": "image", "text": None, "index": index, **rest}
    return [picture, {"type": "text", "text": "Describe it.", "index": None}]


@pytest.mark.parametrize(
    ("row", "captions"),
    [
        ({"question": "Describe it.", "answer": CAPTION}, [CAPTION]),
        ({"query": "<image>", "response": CAPTION}, [CAPTION]),
        ({"instruction": "Describe the image.", "input": "", "output": CAPTION}, [CAPTION]),
        ({"prompt": "Describe.", "completion": CAPTION}, [CAPTION]),
        ({"question": "Describe it.", "answers": [CAPTION, "A square."]}, [CAPTION, "A square."]),
        (
            {"question": "Describe it.", "answer": '{"role": "guide", "caption": "A dog."}'},
            ["A dog."],
        ),
        (
            {"qa": [{"question": "Describe it.", "answers": [CAPTION, "A square."]}]},
            [CAPTION, "A square."],
        ),
        (
            {
                "messages": [
                    {"role": "user", "content": "Describe the image."},
                    {"role": "user", "content": "Can you do it in detail?"},
                    {"role": "assistant", "content": CAPTION},
                ]
            },
            [CAPTION],
        ),
        ({"question": "How many?", "answer": "2"}, []),
        ({"question": "How many?", "answers": [{"answer": "2"}, {"answer": "3"}]}, []),
        ({"question": "Describe it.", "choices": ["dog", "cat"], "answer": 1}, []),
        ({"question": "Which?", "options": "A. dog B. cat", "answer": "B"}, []),
        ({"query": "Is it red?", "response": "Yes."}, []),
        ({"questions": ["Describe it.", "Why?"], "answers": [CAPTION, "So."]}, [CAPTION]),
        ({"question": "How many?", "answer": "2", "caption": "A dog."}, ["A dog."]),
        ({"texts": [DESCRIBE]}, []),
        ({"texts": ["A red square.", DESCRIBE, "red"]}, []),
        ({"texts": ["user: Describe it.", "assistant: A square."]}, []),
        ({"captions": ["Describe the image.", CAPTION]}, []),
        ({"text": "How many squares?", "answer": "2"}, []),
        ({"conversations": "[{'from': 'human'}\n {'from': 'gpt'}]"}, []),
        ({"conversations": json.dumps(llava(TURNS))[:-9]}, []),
        ({"messages": [openai(TURNS), openai(TURNS)]}, []),
        ({"messages": [{"role": "user", "content": "Describe it."}, *openai(TURNS)[2:4]]}, []),
        # Pictures that are named in no way, or in two.
        (_of_b_then_a(_parts(0.5), _parts(1)), []),
        (_of_b_then_a(_parts("b"), _parts("a")), []),
        (_of_b_then_a(_parts(True), _parts(False)), []),
        (_of_b_then_a(_parts("9" * 5000), _parts(1)), []),
        (_of_b_then_a(_parts(0, image="b.png"), _parts(1, image="a.png")), []),
        (_of_b_then_a(_parts(None, image="b.png"), _parts(None)), []),
    ],
)
def test_a_row_has_the_answers_to_its_requests_or_is_a_problem(
    tmp_path: Path, row: dict[str, Any], captions: list[str]
) -> None:
    """Questions were imported, or the row was refused for another reason."""
    good = {"id": "x", "question": "Describe the picture.", "answer": "Fine."}
    pairs, reader = lines(tmp_path, [good, {"id": "y", **row}])
    assert [pair.caption for pair in pairs] == ["Fine.", *captions]
    assert [problem.row for problem in reader.problems] == ([] if captions else [2])


NUMBERED = [
    _of_b_then_a("<image_2>\nDescribe it.", "<image_1>\nDescribe it."),
    _of_b_then_a("<|image_1|>\nDescribe it.", "<|image_0|>\nDescribe it."),
    _of_b_then_a(_parts(1), _parts(0)),
    _of_b_then_a(_parts(1.0), _parts(0.0)),
    _of_b_then_a(_parts("2"), _parts("1")),
    _of_b_then_a(_parts(None, image="b.png"), _parts(None, image="a.png")),
    _of_b_then_a(_parts(1, image="images/b.png"), _parts(0)),
]


@pytest.mark.parametrize("row", NUMBERED)
def test_pictures_are_paired_by_the_numbers_of_marks_and_parts(
    tmp_path: Path, row: dict[str, Any]
) -> None:
    pairs, reader = lines(tmp_path, [row])
    assert reader.problems == []
    assert [(pair.image_path.name, pair.caption) for pair in pairs] == [
        ("a.png", "Of a."), ("b.png", "Of b."),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second"),
    [("<image_1>Describe.", "<image_3>Describe."), ("<image_1>Describe.", "<image>Describe."),
     ("<image_1>Describe.", "<image_1>Describe.")],
)  # fmt: skip
def test_numbers_that_name_not_each_picture_pair_none(
    tmp_path: Path, first: str, second: str
) -> None:
    with pytest.raises(DatasetFormatError, match="2 images"):
        lines(tmp_path, [_of_b_then_a(first, second)])


def test_a_call_of_a_tool_is_no_answer(tmp_path: Path) -> None:
    call = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "zoom"}}]}
    question, answer = openai([(DESCRIBE, CAPTION)])
    turns = [question, call, {"role": "tool", "content": "zoomed"}, answer]
    pairs, reader = lines(tmp_path, [{"messages": turns}])
    assert ([pair.caption for pair in pairs], reader.problems) == ([CAPTION], [])


def test_pictures_of_several_turns_are_paired_by_their_marks(tmp_path: Path) -> None:
    turns = [
        (DESCRIBE, CAPTION),
        ("<image>\nDescribe this one.", "Blue."),
        ("Describe both.", "No."),
    ]
    rows = [
        {"id": "1", "images": ["a.png", "b.png"], "conversations": llava(turns[:2])},
        {"id": "2", "images": ["a.png", "b.png"], "conversations": llava(turns)},
        {"id": "3", "images": ["a.png", "b.png"], "conversations": llava(turns[:1])},
    ]
    pairs, reader = lines(tmp_path, rows)
    assert [(pair.id, pair.image_path.name, pair.caption) for pair in pairs][:2] == [
        ("1#0", "a.png", CAPTION), ("1#1", "b.png", "Blue."),
    ]  # fmt: skip
    assert [pair.id for pair in pairs][2:] == ["2#0", "2#1"]
    assert [problem.row for problem in reader.problems] == [2, 3]


def test_texts_of_finevision_are_read(tmp_path: Path) -> None:
    kind = pa.list_(pa.struct([("user", pa.string()), ("assistant", pa.string())]))
    image = pa.list_(pa.struct([("bytes", pa.binary()), ("path", pa.string())]))
    texts = [[{"user": question, "assistant": answer} for question, answer in TURNS]] * 2
    images = [[{"bytes": encoded(), "path": None}]] * 2
    table = pa.table({
        "images": pa.array(images, image), "texts": pa.array(texts, kind), "source": ["x", "x"],
        "formatting_ratings": [[5, 4, 1]] * 2,
    })  # fmt: skip
    pq.write_table(table, tmp_path / "train-00000-of-00001.parquet")
    pairs, reader = read(tmp_path)
    assert [pair.caption for pair in pairs] == [CAPTION, CAPTION]
    assert pairs[0].extra["formatting_ratings"] == [5, 4, 1]
    assert reader.problems == []


def test_a_picture_is_no_answer(tmp_path: Path) -> None:
    """As in tables for editing pictures."""
    image = pa.array([{"bytes": encoded(), "path": None}])
    table = pa.table({"image": image, "instruction": ["Describe it."], "output": image})
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(DatasetFormatError):
        read(tmp_path / "t.parquet")


def test_a_conversation_beside_its_picture_is_read(tmp_path: Path) -> None:
    turns = [
        {"from": "human", "value": "<image>\nDescribe the picture."},
        {"from": "gpt", "value": "A red dog."},
        {"from": "human", "value": "Is it large?"},
        {"from": "gpt", "value": "No."},
    ]
    picture(tmp_path / "a.png")
    write(tmp_path / "a.json", json.dumps({"conversations": turns}))
    pairs, _ = read(tmp_path)
    assert [pair.caption for pair in pairs] == ["A red dog."]


def test_captions_that_begin_like_requests_are_captions(tmp_path: Path) -> None:
    """Each was refused, or all but one were lost."""
    texts = ["<image>\nDescribe the picture.", "What is this?", "A dog on grass."]
    pairs, reader = lines(tmp_path, [{"texts": texts}], lists="captions")
    assert ([pair.caption for pair in pairs], reader.problems) == (texts, [])


@pytest.mark.parametrize(
    "texts",
    [
        ["A: overview of the scene", "B: a red dog on grass"],
        ["Is this a dog or a cat?", "A dog on grass.", "A brown dog."],
        ["What is this?", "A dog on grass."],
        ["请勿触摸的说明牌。", "A sign that says do not touch."],
        ["Write a caption contest poster on a wall.", "A poster on a wall."],
        ["Present day street scene with details of a picture.", "A street."],
        ["Describe", "Two people describe a dog to the crowd."],
    ],
)
@pytest.mark.parametrize("column", ["texts", "captions"])
def test_lists_of_captions_are_captions(tmp_path: Path, column: str, texts: list[str]) -> None:
    pairs, reader = lines(tmp_path, [{column: texts}])
    assert ([pair.caption for pair in pairs], reader.problems) == (texts, [])


def test_tokens_that_are_words_of_requests_are_tokens(tmp_path: Path) -> None:
    rows = [{"tokens": ["Two", "people", "describe", "the", "image", "."]}]
    pairs, reader = lines(tmp_path, rows)
    assert [pair.caption for pair in pairs] == ["Two people describe the image."]
    assert reader.problems == []


def test_texts_beside_a_caption_are_no_conversation(tmp_path: Path) -> None:
    row = {"alt_text": "A street.", "qa": [DESCRIBE, "A sign."]}
    assert [pair.caption for pair in lines(tmp_path, [row])[0]] == ["A street."]


def test_texts_are_questions_if_most_of_the_table_are(tmp_path: Path) -> None:
    """A single one made the answers of all others their captions."""
    captions = [{"text": f"A dog {n}.", "output": "yes", "answer": "yes"} for n in range(3)]
    lost = {"text": "Lost dog?", "response": "yes", "answer": "no"}
    pairs, reader = lines(tmp_path, [*captions, lost])
    assert ([pair.caption for pair in pairs][3:], reader.problems) == (["Lost dog?"], [])
    asked = [{"text": "Describe the image.", "answer": "A dog."}]
    asked += [{"text": "How many dogs?", "answer": "2"}, {"text": "Count.", "answer": "2"}]
    pairs, reader = lines(tmp_path, asked)
    assert [pair.caption for pair in pairs] == ["A dog."]
    assert [problem.row for problem in reader.problems] == [2, 3]


def test_a_column_without_turns_keeps_no_picture_out(tmp_path: Path) -> None:
    pairs, reader = lines(tmp_path, [{"qa": "unchecked"}], uncaptioned=True)
    assert ([pair.caption for pair in pairs], reader.problems) == ([""], [])


def test_an_answer_that_is_null_is_the_empty_one_of_its_question(tmp_path: Path) -> None:
    texts = [{"user": DESCRIBE, "assistant": None}, {"user": "Any?", "assistant": "No."}]
    pairs, reader = lines(tmp_path, [{"texts": texts}, {"caption": "A square."}])
    assert [pair.caption for pair in pairs] == ["A square."]
    assert [problem.kind for problem in reader.problems] == ["empty caption"]
