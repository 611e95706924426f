"""A JSON file read in pieces gives the same as `json`."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from backend.datasets.reading.json_stream import DEEPEST, JsonFile
from backend.errors import DatasetFormatError

VALUES = some.recursive(
    some.none() | some.booleans() | some.integers() | some.text()
    | some.floats(allow_nan=False, allow_infinity=False),
    lambda inner: some.lists(inner, max_size=4) | some.dictionaries(some.text(), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


def written(folder: Path, content: bytes) -> Path:
    path = folder / "captions.json"
    path.write_bytes(content)
    return path


@given(
    some.lists(VALUES), some.lists(VALUES), some.booleans(),
    some.sampled_from([b"", b"\xef\xbb\xbf"]),
)  # fmt: skip
def test_streamed_objects_equal_those_of_json(
    tmp_path_factory: pytest.TempPathFactory,
    images: list[Any],
    annotations: list[Any],
    ascii_only: bool,
    mark: bytes,
) -> None:
    whole = {"info": {"images": [1]}, "images": images, "note": "x", "annotations": annotations}
    text = json.dumps(whole, ensure_ascii=ascii_only)
    content = mark + text.encode("utf-8", "surrogatepass")
    try:
        read = json.loads(content[len(mark) :])
    except UnicodeDecodeError:  # lone surrogates are invalid in UTF-8
        return
    file = JsonFile(written(tmp_path_factory.mktemp("stream"), content))
    assert file.arrays.keys() == {"images", "annotations"}
    assert list(file.objects("images")) == read["images"]
    assert list(file.objects("annotations")) == read["annotations"]


@pytest.mark.parametrize(
    "content",
    [
        rb'{"images": ["a \ud83d\ude00 b", "half \ud83d", "\ude00 half"]}',
        rb'{"images": ["no pair: \\ud83d\ude00"]}',  # the first is a backslash and letters
        rb'{"images": ["a pair: \\\ud83d\ude00"]}',
    ],
)
def test_lone_surrogates_are_not_replaced(tmp_path: Path, content: bytes) -> None:
    images = list(JsonFile(written(tmp_path, content)).objects("images"))
    assert images == json.loads(content)["images"]


@pytest.mark.parametrize("content", [b"[1, 2]", b"3", b'"images"', b'[{"images": []}]', b"{}"])
def test_other_json_contains_no_arrays(tmp_path: Path, content: bytes) -> None:
    assert JsonFile(written(tmp_path, content)).arrays == {}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not valid JSON"),
        (b'{"images": [{"file_name": "a.jpg"}', "not valid JSON"),
        (b'{"images": [{"file_name": "\xff"}]}', "UTF8"),
        (b'{"images": []} and more', "lexical"),
        (b'{"images": [' + b"0, " * 50_000 + b"oops]}", "near byte"),
        (b'{"images": ' + b"[" * 2_000 + b"]" * 2_000 + b"}", f"more than {DEEPEST} levels deep"),
        (rb'{"images": ["\ud800', "not valid JSON"),
        (rb'{"images": ["\ud800", tru]}', "not valid JSON"),
    ],
)
def test_a_broken_file_is_refused_before_its_first_row(
    tmp_path: Path, content: bytes, message: str
) -> None:
    with pytest.raises(DatasetFormatError, match=message) as refused:
        JsonFile(written(tmp_path, content))
    assert "captions.json" in str(refused.value)
    assert "\n" not in str(refused.value)
