"""Captions in JSON files, in tars and in files next to images, in encodings other than UTF-8: read,
or refused with what to do."""

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from backend.datasets.read_options import ReadOptions
from backend.datasets.reading.dataset_reader import read_dataset
from backend.errors import DatasetFormatError
from tests.datasets.folders import encoded, make_tar, picture, read, write

CAPTION = "Ein grüner Fußball."
#: In Shift JIS the second byte of 表 is a backslash.
JAPANESE = "表の犬"
ASKED = {"from": "human", "value": "<image>\n?"}
#: What each file says about its picture, given the caption, in JSON or as it is.
FORMS: dict[str, Callable[[str], object]] = {
    "x.tar/a.txt": str,
    "x.tar/a.json": lambda text: {"caption": text},
    "beside/a.txt": str,
    "beside/a.json": lambda text: {"caption": text},
    "films/01.json": lambda text: {"plot outline": text},
    "l.json": lambda text: [{"image": "a.png", "caption": text}],
    "llava.json": lambda text: [
        {"image": "a.png", "conversations": [ASKED, {"from": "gpt", "value": text}]}
    ],
    "captions_val.json": lambda text: {
        "images": [{"id": 1, "file_name": "a.png"}],
        "annotations": [{"id": 1, "image_id": 1, "caption": text}],
    },
}


def written(folder: Path, form: str, caption: str, encoding: str) -> Path:
    """A dataset of one pair in this form."""
    place, _, name = form.rpartition("/")
    value = FORMS[form](caption)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    content = text.encode(encoding)
    if place.endswith(".tar"):
        return make_tar(folder / place, {"a.png": encoded(), name: content})
    picture(folder / place / ("01.jpeg" if place == "films" else "a.png"))
    write(folder / place / name, content)
    return folder / (place or name)


@pytest.mark.parametrize("form", FORMS)
def test_a_named_encoding_is_used(tmp_path: Path, form: str) -> None:
    named = ((CAPTION, "latin-1"), (JAPANESE, "shift_jis"), (CAPTION, "utf-16-be"))
    for caption, encoding in named:
        path = written(tmp_path / encoding, form, caption, encoding)
        pairs, reader = read(path, encoding=encoding)
        assert ([pair.caption for pair in pairs], reader.problems) == ([caption], [])
        assert reader.notes == []


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("encoding", "named", "saw"), [("latin-1", None, "UTF-8"), ("utf-8", "ascii", "ascii")]
)
def test_another_encoding_is_refused_with_what_to_do(
    tmp_path: Path, form: str, encoding: str, named: str | None, saw: str
) -> None:
    path = written(tmp_path, form, CAPTION, encoding)
    try:
        pairs, reader = read(path, encoding=named)
    except DatasetFormatError as problem:
        message = str(problem)
    else:
        assert pairs == []
        (message,) = [problem.message for problem in reader.problems]
    assert f"{form.rpartition('/')[2]}' is not {saw}" in message
    assert "name its encoding" in message
    assert "codec" not in message
    assert "dataset_coco" not in message


@pytest.mark.parametrize("form", FORMS)
def test_utf16_and_utf32_are_detected_and_noted_and_utf8_is_not(tmp_path: Path, form: str) -> None:
    for encoding in ("utf-16", "utf-32", "utf-16-le", "utf-8", "utf-8-sig"):
        pairs, reader = read(written(tmp_path / encoding, form, CAPTION, encoding))
        assert [pair.caption for pair in pairs] == [CAPTION]
        notes = [note for note in reader.notes if f"read as {encoding.upper()}" in note]
        assert notes == reader.notes
        assert len(notes) == ("utf-8" not in encoding), encoding


def test_a_json_file_is_refused_with_the_byte_that_is_not_utf8(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    rows = [{"image": "a.png", "caption": "x" * 3_000_000}]
    start = json.dumps(rows)[:-1].encode()
    path = write(tmp_path / "l.json", start + ', {"caption": "ü"}]'.encode("latin-1"))
    place = len(start) + len(', {"caption": "')
    with pytest.raises(DatasetFormatError, match=f"'l.json' is not UTF-8 at byte {place:,}"):
        read(path)


def test_a_large_json_file_is_streamed(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    rows = [{"image": "a.png", "caption": f"{n} grün", "more": "ü" * 20_000} for n in range(1_500)]
    content = json.dumps(rows, ensure_ascii=False).encode("latin-1")
    path = write(tmp_path / "l.json", content)
    reader = read_dataset(path, ReadOptions(encoding="latin-1"), image_check="exists")
    reader.on_problem = lambda problem: pytest.fail(problem.message)
    del rows, content
    tracemalloc.start()
    try:
        count = sum(1 for _ in reader)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 1_500
    assert peak < 25_000_000, "the file has 30 MB, or 60 MB as UTF-8"
