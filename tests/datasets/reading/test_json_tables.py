"""Tables as data frames and other programs write them in JSON."""

import json
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from backend.datasets.reading.json_stream import JsonFile
from backend.datasets.reading.row_pairs import SourcePair
from backend.errors import DatasetFormatError
from tests.datasets.folders import encoded, json_lines, picture, read, write

ROWS: list[dict[str, Any]] = [
    {"image": "a.png", "caption": "A dog.", "width": 3},
    {"image": "b.png", "caption": "A cat.", "width": 4},
]
FRAME = pd.DataFrame(ROWS)
INDEXED = FRAME.set_index("image")


def table(folder: Path, content: str, name: str = "rows.json") -> Path:
    picture(folder / "a.png", (3, 3))
    picture(folder / "b.png", (4, 4))
    return write(folder / name, content)


def contents(pairs: list[SourcePair]) -> list[tuple[str, str, int]]:
    return [(Path(str(p.image_path)).name, p.caption, p.extra["width"]) for p in pairs]


@pytest.mark.parametrize(
    "content",
    [
        *(FRAME.to_json(orient=orient) for orient in ("columns", "index", "split", "table")),
        *(INDEXED.to_json(orient=orient) for orient in ("columns", "index", "split", "table")),
        FRAME.set_axis(["r1", "r2"]).to_json(orient="split"),  # the labels replace no picture
        FRAME.to_json(orient="records"),
        FRAME.to_json(orient="records", lines=True),
        *(json.dumps(FRAME.to_dict(orient)) for orient in ("list", "split", "tight")),
        "\n".join(json.dumps(row, indent=2) for row in ROWS),
        json.dumps([[ROWS[0]], [ROWS[1]]]),
        json.dumps(ROWS[:1]) + "\n" + json.dumps(ROWS[1:]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["rows.json", "rows.jsonl"])
def test_every_form_of_a_table_has_all_its_columns(tmp_path: Path, content: str, name: str) -> None:
    """Also where pandas was told a name of JSON lines and no orientation."""
    pairs, reader = read(table(tmp_path, content, name))
    assert contents(pairs) == [("a.png", "A dog.", 3), ("b.png", "A cat.", 4)]
    assert reader.problems == []


@pytest.mark.parametrize("name", ["rows.json", "rows.jsonl"])
@pytest.mark.parametrize(
    "row",
    [
        ROWS[0],
        {**ROWS[0], "caption": ["A dog."]},
        {"image": "a.png", "width": 3, "conversations": [
            {"from": "human", "value": "<image>"}, {"from": "gpt", "value": "A dog."}]},
        {"images": ["a.png"], "width": 3, "messages": [
            {"role": "user", "content": "<image>"}, {"role": "assistant", "content": "A dog."}]},
    ],
)  # fmt: skip
def test_one_line_of_json_lines_is_a_row(tmp_path: Path, row: dict[str, Any], name: str) -> None:
    pairs, reader = read(table(tmp_path, json.dumps(row) + "\n", name))
    assert (contents(pairs), reader.problems) == ([("a.png", "A dog.", 3)], [])


@pytest.mark.parametrize("first", ["{\n", "{\nb\n", "[broken\n", "[\n"])
def test_first_lines_of_json_lines_that_are_cut_cost_their_rows_alone(
    tmp_path: Path, first: str
) -> None:
    pairs, reader = read(table(tmp_path, first + json_lines(ROWS), "rows.jsonl"))
    assert len(pairs) == 2
    assert [problem.row for problem in reader.problems] == [1, 2][: first.count("\n")]


@pytest.mark.parametrize(
    ("row", "captions"),
    [
        ({"image": ["a.png"], "caption": ["A dog.", "A pup."]}, ["A dog.", "A pup."]),
        ({"images": ["a.png"], "annotations": [], "caption": "A dog."}, ["A dog."]),
    ],
)
def test_one_line_with_lists_of_several_lengths_is_a_row(
    tmp_path: Path, row: dict[str, Any], captions: list[str]
) -> None:
    pairs, reader = read(table(tmp_path, json.dumps(row), "rows.jsonl"))
    assert ([pair.caption for pair in pairs], reader.problems) == (captions, [])


@pytest.mark.parametrize(
    "rest",
    [
        {"a": "A dog.", "b": "A cat."},
        {"path": "images", "captions": {"a.png": "A dog.", "b.png": "A cat."}},
        {"data": {"a.png": "A dog.", "b.png": "A cat."}},
    ],
)
def test_captions_by_picture_below_a_head_are_no_row(tmp_path: Path, rest: dict[str, Any]) -> None:
    head = {"name": "My set", "description": "Pictures of pets."}
    pairs, _ = read(table(tmp_path, json.dumps({**head, **rest})))
    assert [pair.caption for pair in pairs] == ["A dog.", "A cat."]


def test_many_lists_cost_no_pass_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passes = []
    monkeypatch.setattr(JsonFile, "objects", lambda file, name: passes.append(name) or iter(()))
    row = {**ROWS[0], **{f"c{number}": [] for number in range(30)}}
    pairs, _ = read(table(tmp_path, json.dumps(row)))
    assert (len(pairs), passes) == (1, [])


def test_a_table_in_another_encoding(tmp_path: Path) -> None:
    path = table(tmp_path, "")
    path.write_bytes(FRAME.to_json().encode("utf-16"))
    pairs, _ = read(path)
    assert len(contents(pairs)) == 2


def with_another_name(frame: dict[str, Any]) -> None:
    frame["caption"]["other"] = frame["caption"].pop("25")


def with_fewer_pictures(frame: dict[str, Any]) -> None:
    del frame["image"]["25"]


def with_fewer_captions(frame: dict[str, Any]) -> None:
    del frame["caption"]["25"]


@pytest.mark.parametrize("change", [with_another_name, with_fewer_pictures, with_fewer_captions])
def test_rows_after_the_ones_that_tell_a_table_are_checked_too(
    tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    names = [f"{n}.png" for n in range(26)]
    for name in names:
        write(tmp_path / name, encoded((8, 8 + len(name))))
    frame = json.loads(pd.DataFrame({"image": names, "caption": names}).to_json())
    change(frame)
    pairs, reader = read(table(tmp_path, json.dumps(frame)))
    assert [Path(str(pair.image_path)).name for pair in pairs] == names[:25]
    assert [pair.caption for pair in pairs] == names[:25]
    assert [problem.row for problem in reader.problems] == [26]


@pytest.mark.parametrize("orient", ["columns", "list"])
def test_tables_with_more_columns_than_files_may_be_open(tmp_path: Path, orient: str) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    wide = pd.concat([FRAME, pd.DataFrame(0, FRAME.index, [f"c{n}" for n in range(300)])], axis=1)
    path = table(tmp_path, json.dumps(wide.to_dict("list")) if orient == "list" else wide.to_json())
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, limits[1]))
    try:
        pairs, reader = read(path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert contents(pairs) == [("a.png", "A dog.", 3), ("b.png", "A cat.", 4)]
    assert reader.problems == []


def test_rows_of_another_length_are_left_out(tmp_path: Path) -> None:
    frame = {"columns": ["image", "caption", "width"], "data": [["a.png", "A dog.", 3], ["b.png"]]}
    pairs, reader = read(table(tmp_path, json.dumps(frame)))
    assert contents(pairs) == [("a.png", "A dog.", 3)]
    assert [problem.row for problem in reader.problems] == [2]


def test_an_object_with_a_list_for_each_split(tmp_path: Path) -> None:
    content = json.dumps({"val": ROWS[1:], "train": [*ROWS[:1], 7]})
    pairs, reader = read(table(tmp_path, content))
    assert [(pair.caption, pair.split, pair.row) for pair in pairs] == [
        ("A cat.", "validation", 1), ("A dog.", "train", 2),
    ]  # fmt: skip
    assert [(problem.row, "'train'" in problem.message) for problem in reader.problems] == [
        (3, True)
    ]


IMAGES, WIDTHS = {"0": "a.png", "1": "b.png"}, {"0": 3, "1": 4}
FEWER = {"image": IMAGES, "caption": {"0": "A dog."}, "width": WIDTHS}
TURNED = {"image": IMAGES, "caption": {"1": "A cat.", "0": "A dog."}, "width": WIDTHS}
MANY = {f"c{number}": WIDTHS for number in range(300)}
MANY_LISTS = {f"c{number}": [1] for number in range(300)}

#: What is in a file, and what its refusal names.
REFUSED: dict[str, tuple[str, str]] = {
    "columns of different rows": (json.dumps(FEWER), ""),
    "many columns of different rows": (json.dumps(FEWER | MANY), ""),
    "columns of another order": (json.dumps(TURNED), ""),
    "many columns of another order": (json.dumps(TURNED | MANY), ""),
    "lists of linked objects": (json.dumps({
        "image": [{"id": 1, "path": "a.png"}, {"id": 2, "path": "b.png"}],
        "captions": [{"image_id": 2, "caption": "A cat."}, {"image_id": 1, "caption": "A dog."}],
    }), ""),
    "lists that are no splits": (
        json.dumps({"test_images": [{"id": 1}], "test_captions": ROWS}), ""
    ),
    "columns of one name": (json.dumps(
        {"columns": ["image", "caption", "caption"], "data": [["a.png", "A dog.", "A cat."]]}
    ), "caption"),
    "one name among many columns": (json.dumps(
        MANY_LISTS | {"image": ["a.png"], "caption": ["A."]}
    )[:-1] + ', "caption": ["B."]}', "caption"),
    "a shorter list": (
        json.dumps({"image": ["a.png", "b.png"], "caption": ["A cat."], "width": [3, 4]}), ""
    ),
    "no names of columns": (FRAME.to_json(orient="values"), ""),
    "a list after lines": (json_lines(ROWS) + "[]", ""),
    "half an object after lines": (json_lines(ROWS) + "{", ""),
}  # fmt: skip


@pytest.mark.parametrize(("content", "named"), REFUSED.values(), ids=REFUSED.keys())
def test_tables_that_cannot_be_read_are_refused(tmp_path: Path, content: str, named: str) -> None:
    """Also those whose columns would be joined by other rows."""
    with pytest.raises(DatasetFormatError, match=named or None):
        read(table(tmp_path, content))
