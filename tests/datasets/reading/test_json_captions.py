"""Captions that are JSON: beside pictures, in tars and zips, and in tables."""

import json
from pathlib import Path
from typing import Any

import pytest

from backend.datasets.reading.json_captions import JSON_COLUMN, has_json, printed_by_python
from backend.errors import DatasetFormatError
from tests.datasets.folders import (
    csv_file,
    encoded,
    json_lines,
    make_tar,
    picture,
    read,
    write,
    zip_bytes,
)

PLAIN = {"caption": "A red square.", "tags": ["red", "square"], "meta": {"trigger": "sks"}}
IDEOGRAM = {
    "high_level_description": "A red square.",
    "elements": [{"desc": f"Side {n}.", "bbox": [0, 0, n, n]} for n in range(50)],
}
FORMS: list[tuple[Any, str]] = [
    (PLAIN, "A red square."),
    ({"short": "A square.", "long": "A red square.", "tags": ["red"]}, "A red square."),
    (IDEOGRAM, "A red square."),
    ({"caption": "", "tags": ["red", "square"]}, "red, square"),
    ({"tags": ["red", "square"], "meta": {"trigger": "sks"}}, "red, square"),
    ({"tags": "red, square"}, "red, square"),
    ({"en": "A red square."}, "A red square."),
    ({"caption": {"short": "A square.", "long": "A red square."}}, "A red square."),
    ([{"description": "A red square."}], "A red square."),
]
PLACES = ("txt", "caption", "json", "tar", "tar json", "zip", "zip json", "csv", "jsonl")


def source(folder: Path, text: str, place: str) -> Path:
    """A dataset of one picture with that text in such a place."""
    if place in ("csv", "jsonl"):
        picture(folder / "a.png")
        row = {"file_name": "a.png", "caption": text}
        if place == "csv":
            return csv_file(folder / "rows.csv", [row])
        return write(folder / "rows.jsonl", json_lines([row]))
    members = {"a.png": encoded(), "a.json" if place.endswith(" json") else "a.txt": text.encode()}
    if place.startswith("tar"):
        return make_tar(folder / "0.tar", members)
    if place.startswith("zip"):
        return write(folder / "0.zip", zip_bytes(members))
    picture(folder / "a.png")
    write(folder / f"a.{place}", text)
    return folder


@pytest.mark.parametrize("place", [p for p in PLACES if "json" not in p or p == "jsonl"])
@pytest.mark.parametrize(("value", "caption"), FORMS)
def test_the_caption_of_an_object_is_read(
    tmp_path: Path, value: Any, caption: str, place: str
) -> None:
    pairs, reader = read(source(tmp_path, json.dumps(value), place))
    assert [pair.caption for pair in pairs] == [caption]
    assert reader.problems == []
    assert pairs[0].extra[JSON_COLUMN] == json.dumps(value)
    assert any("JSON" in note for note in reader.notes)


@pytest.mark.parametrize("place", ["json", "tar json", "zip json"])
@pytest.mark.parametrize(("value", "caption"), FORMS[1:3] + FORMS[4:6])
def test_metadata_alone_has_the_caption(
    tmp_path: Path, value: Any, caption: str, place: str
) -> None:
    pairs, reader = read(source(tmp_path, json.dumps(value), place))
    assert len(reader.notes) == 1
    assert [pair.caption for pair in pairs] == [caption]
    assert reader.problems == []


@pytest.mark.parametrize("place", ["txt", "tar", "csv"])
@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{json.dumps(PLAIN, indent=2)}\n```\n",
        f"```\n{json.dumps(PLAIN)}```",
        f"\n{json.dumps(PLAIN, indent=2)}\n",
        str(PLAIN),
    ],
)
def test_fences_lines_and_what_python_prints(tmp_path: Path, text: str, place: str) -> None:
    (pair,), reader = read(source(tmp_path, text, place))
    assert pair.caption == "A red square."
    assert pair.extra["tags"] == ["red", "square"]
    assert pair.extra["meta"] == {"trigger": "sks"}
    assert not any("captions-per-line" in note for note in reader.notes)


def test_the_other_fields_become_columns_and_take_no_column_s_place(tmp_path: Path) -> None:
    value = {"caption": "A dog.", "tags": ["dog"], "id": "other", "split": "test"}
    rows = [
        {"file_name": "a.png", "id": "p", "split": "train", "tags": "x",
         "caption": json.dumps(value)},
        {"file_name": "a.png", "split": "train", "caption": json.dumps({**value, "caption": "B."})},
    ]  # fmt: skip
    picture(tmp_path / "a.png")
    pairs, _ = read(write(tmp_path / "rows.jsonl", json_lines(rows)))
    assert [pair.split for pair in pairs] == ["train", "train"]
    assert pairs[0].id == "p"
    assert pairs[1].id != "other"
    assert pairs[0].extra == {
        "tags": "x", "caption.tags": ["dog"], "caption.id": "other", "caption.split": "test",
        JSON_COLUMN: json.dumps(value),
    }  # fmt: skip


@pytest.mark.parametrize("place", ["txt", "csv", "jsonl", "tar"])
def test_another_field_can_be_chosen(tmp_path: Path, place: str) -> None:
    value = {"caption": "A dog.", "other": {"views": ["A brown dog."]}}
    column = "txt[other][views][0]" if place == "tar" else "caption[other][views][0]"
    pairs, _ = read(source(tmp_path, json.dumps(value), place), caption_column=column)
    assert [pair.caption for pair in pairs] == ["A brown dog."]
    if place != "tar":
        assert pairs[0].extra == {
            "caption.caption": "A dog.", "other": value["other"], JSON_COLUMN: json.dumps(value),
        }  # fmt: skip


@pytest.mark.parametrize("column", ["other", "json[other]", "json[deep][c]", "json[all][1]"])
def test_another_field_of_metadata_can_be_chosen(tmp_path: Path, column: str) -> None:
    value = {"tags": ["a", "b"], "other": "A dog.", "deep": {"c": "A dog.", "d": 1},
             "all": ["A cat.", "A dog."]}  # fmt: skip
    write(tmp_path / "a.txt", "A cat.")
    if column == "other":
        (tmp_path / "a.txt").unlink()
    pairs, _ = read(source(tmp_path, json.dumps(value), "json"), caption_column=column)
    assert [pair.caption for pair in pairs] == ["A dog."]
    assert pairs[0].extra["tags"] == ["a", "b"]


BROKEN = {
    "cut": '{"caption": "A red squ',
    "cut in a name": '{"capt',
    "cut fence": '```json\n{"caption": "A red',
    "twice": '{"caption": "A dog.", "caption": "A cat."}',
    "twice inside": '{"caption": "A dog.", "meta": {"a": 1, "a": 2}}',
    "number": '{"caption": 5}',
    "truth": '{"caption": true}',
    "nested": '{"a": {"b": {"c": "A red square."}}}',
    "elements": json.dumps({"elements": IDEOGRAM["elements"]}),
    "several": '[{"caption": "A dog."}, {"caption": "A cat."}]',
    "deep": '{"caption": ' + "[" * 300 + "]" * 300 + "}",
    "words around": 'Here it is:\n```json\n{"caption": "A dog."}\n```',
    "languages": '{"en": "A dog.", "de": "Ein Hund."}',
}


@pytest.mark.parametrize("place", ["txt", "tar", "zip", "jsonl"])
@pytest.mark.parametrize("kind", BROKEN)
def test_what_has_no_caption_is_reported_and_is_no_prose(
    tmp_path: Path, kind: str, place: str
) -> None:
    path = source(tmp_path, BROKEN[kind], place)
    if place == "jsonl":
        texts = (BROKEN[kind], "A cat.")
        write(path, json_lines({"file_name": "a.png", "caption": text} for text in texts))
    elif place == "txt":
        picture(tmp_path / "b.png")
        write(tmp_path / "b.txt", "A cat.")
    else:
        members = {
            "a.png": encoded(), "a.txt": BROKEN[kind].encode(),
            "b.png": encoded(), "b.txt": b"A cat.",
        }  # fmt: skip
        path = make_tar(path, members) if place == "tar" else write(path, zip_bytes(members))
    pairs, reader = read(path)
    assert [pair.caption for pair in pairs] == ["A cat."]
    (problem,) = reader.problems
    assert problem.row == 1
    assert problem.file == path.name


def test_a_problem_names_the_text_and_what_could_be_chosen(tmp_path: Path) -> None:
    source(tmp_path, BROKEN["nested"], "csv")
    _, reader = read(tmp_path / "rows.csv")
    assert "'caption[a][b][c]'" in reader.problems[0].message
    source(tmp_path / "beside", BROKEN["cut"], "txt")
    with pytest.raises(DatasetFormatError, match=r"a\.txt"):
        read(tmp_path / "beside")
    source(tmp_path / "metadata", '{"width": 3, "more": {"words": "x"}}', "json")
    with pytest.raises(DatasetFormatError, match=r"a\.json.*'width'.*'json\[more\]\[words\]'"):
        read(tmp_path / "metadata")


@pytest.mark.parametrize(("texts", "captions"), [(1, ["A red square."]), (2, [])])
def test_a_list_with_objects_as_texts(tmp_path: Path, texts: int, captions: list[str]) -> None:
    picture(tmp_path / "a.png")
    row = {"file_name": "a.png", "caption": [json.dumps(PLAIN)] * texts}
    pairs, reader = read(write(tmp_path / "rows.jsonl", json_lines([row])))
    assert [pair.caption for pair in pairs] == captions
    assert [problem.row for problem in reader.problems] == [1] * (texts - 1)


def test_captions_of_an_object_are_pairs_of_their_own(tmp_path: Path) -> None:
    text = json.dumps({"captions": ["A dog runs.", "A dog is here."], "width": 3})
    pairs, _ = read(source(tmp_path, text, "jsonl"))
    assert [pair.caption for pair in pairs] == ["A dog runs.", "A dog is here."]
    assert [pair.extra for pair in pairs] == [{"width": 3, JSON_COLUMN: text}] * 2


PROSE = [
    "{masterpiece}, girl", "a sign {open}", "{{red}} hair, [blue eyes]", "{} and nothing",
    "{a: b} on a sign", 'a "quoted" word', '{"masterpiece"}, girl', "A dog {brown: 1.2}.",
]  # fmt: skip


@pytest.mark.parametrize("place", ["txt", "tar", "csv"])
@pytest.mark.parametrize("text", PROSE)
def test_prose_with_braces_stays(tmp_path: Path, text: str, place: str) -> None:
    (pair,), reader = read(source(tmp_path, text, place))
    assert pair.caption == text
    assert pair.extra.keys() <= {"__key__"}
    assert reader.problems == []
    assert not any("JSON" in note for note in reader.notes)


@pytest.mark.parametrize("is_tar", [True, False])
@pytest.mark.parametrize("of_json", ["A cat.", "A dog."])
def test_of_two_different_captions_is_said_which_was_taken(
    tmp_path: Path, is_tar: bool, of_json: str
) -> None:
    texts = {"a.txt": b"A dog.", "a.json": json.dumps({"caption": of_json}).encode()}
    if is_tar:
        make_tar(tmp_path / "0.tar", {"a.png": encoded(), **texts})
    else:
        picture(tmp_path / "a.png")
        for name, text in texts.items():
            write(tmp_path / name, text)
    (pair,), reader = read(tmp_path)
    is_other = of_json != "A dog."
    assert pair.caption == "A dog."
    assert pair.extra.get("json.caption") == (of_json if is_other else None)
    assert bool(reader.notes) == is_other


def test_pictures_with_and_without_a_caption_in_their_metadata(tmp_path: Path) -> None:
    for name, value in (("a", {"caption": "A dog."}), ("b", {"tags": ["1girl", "solo"]})):
        picture(tmp_path / f"{name}.png")
        write(tmp_path / f"{name}.json", json.dumps(value))
    pairs, reader = read(tmp_path)
    assert [pair.caption for pair in pairs] == ["A dog.", "1girl, solo"]
    assert reader.problems == []


@pytest.mark.parametrize("text", [*(json.dumps(v) for v, _ in FORMS), *BROKEN.values()])
def test_lint_knows_json(text: str) -> None:
    assert has_json(text)


@pytest.mark.parametrize("text", PROSE)
def test_lint_leaves_prose_alone(text: str) -> None:
    assert not has_json(text)


@pytest.mark.parametrize("text", ["[{'a': {[]: 1}}]", str(["A dog."] * 150_000)])
def test_a_text_that_python_cannot_print_or_that_is_very_long_is_not_parsed(text: str) -> None:
    assert printed_by_python(text) is None
