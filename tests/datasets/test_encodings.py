"""Captions in JSON files, in tars and in files next to images, in encodings other than UTF-8: read,
or refused with what to do."""

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from backend.datasets.read_options import ReadOptions
from backend.datasets.reading import DatasetReader, SourcePair, read_dataset
from backend.errors import DatasetFormatError
from tests.datasets.folders import picture
from tests.datasets.test_shards import encoded, make_tar

CAPTION = "Ein grüner Fußball."
#: In Shift JIS the second byte of 表 is a backslash.
JAPANESE = "表の犬"


def read(path: Path, **options: Any) -> tuple[list[SourcePair], DatasetReader]:
    reader = read_dataset(path, ReadOptions(**options))
    return list(reader), reader


def bytes_of(value: Any, encoding: str) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode(encoding)


def tar_of_texts(folder: Path, caption: str, encoding: str) -> Path:
    return make_tar(folder / "x.tar", {"a.png": encoded(), "a.txt": caption.encode(encoding)})


def tar_of_json(folder: Path, caption: str, encoding: str) -> Path:
    values = bytes_of({"caption": caption}, encoding)
    return make_tar(folder / "x.tar", {"a.png": encoded(), "a.json": values})


def list_of_rows(folder: Path, caption: str, encoding: str) -> Path:
    picture(folder / "a.png")
    path = folder / "l.json"
    path.write_bytes(bytes_of([{"image": "a.png", "caption": caption}], encoding))
    return path


def llava(folder: Path, caption: str, encoding: str) -> Path:
    picture(folder / "a.png")
    turns = [{"from": "human", "value": "<image>\n?"}, {"from": "gpt", "value": caption}]
    path = folder / "llava.json"
    path.write_bytes(bytes_of([{"image": "a.png", "conversations": turns}], encoding))
    return path


def coco(folder: Path, caption: str, encoding: str) -> Path:
    picture(folder / "a.png")
    path = folder / "captions_val.json"
    images = [{"id": 1, "file_name": "a.png"}]
    annotations = [{"id": 1, "image_id": 1, "caption": caption}]
    path.write_bytes(bytes_of({"images": images, "annotations": annotations}, encoding))
    return path


def json_beside_images(folder: Path, caption: str, encoding: str) -> Path:
    picture(folder / "d" / "a.png")
    (folder / "d" / "a.json").write_bytes(bytes_of({"caption": caption}, encoding))
    return folder / "d"


def texts_beside_images(folder: Path, caption: str, encoding: str) -> Path:
    picture(folder / "d" / "a.png")
    (folder / "d" / "a.txt").write_bytes(caption.encode(encoding))
    return folder / "d"


def films(folder: Path, caption: str, encoding: str) -> Path:
    picture(folder / "d" / "01.jpeg")
    (folder / "d" / "01.json").write_bytes(bytes_of({"plot outline": caption}, encoding))
    return folder / "d"


Form = Callable[[Path, str, str], Path]
FORMS = (
    tar_of_texts, tar_of_json, list_of_rows, llava, coco, json_beside_images, texts_beside_images,
    films,
)  # fmt: skip
#: The files that a message may name.
NAMES = ("a.txt", "a.json", "l.json", "llava.json", "captions_val.json", "01.json")


@pytest.mark.parametrize("form", FORMS)
def test_a_named_encoding_is_used(tmp_path: Path, form: Form) -> None:
    named = ((CAPTION, "latin-1"), (JAPANESE, "shift_jis"), (CAPTION, "utf-16-be"))
    for caption, encoding in named:
        pairs, reader = read(form(tmp_path / encoding, caption, encoding), encoding=encoding)
        assert ([pair.caption for pair in pairs], reader.problems) == ([caption], [])
        assert reader.notes == []


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("written", "given", "saw"), [("latin-1", None, "UTF-8"), ("utf-8", "ascii", "ascii")]
)
def test_another_encoding_is_refused_with_what_to_do(
    tmp_path: Path, form: Form, written: str, given: str | None, saw: str
) -> None:
    path = form(tmp_path, CAPTION, written)
    try:
        pairs, reader = read(path, encoding=given)
    except DatasetFormatError as problem:
        message = str(problem)
    else:
        assert pairs == []
        (message,) = [problem.message for problem in reader.problems]
    assert f"is not {saw}" in message
    assert "name its encoding" in message
    assert "codec" not in message
    assert "dataset_coco" not in message
    assert any(f"'{name}' is not" in message for name in NAMES)


def test_an_unknown_encoding_is_refused_immediately(tmp_path: Path) -> None:
    with pytest.raises(DatasetFormatError, match="no encoding 'klingon'"):
        read(list_of_rows(tmp_path, CAPTION, "utf-8"), encoding="klingon")


@pytest.mark.parametrize("form", FORMS)
def test_utf16_and_utf32_are_detected_and_noted_and_utf8_is_not(tmp_path: Path, form: Form) -> None:
    for encoding in ("utf-16", "utf-32", "utf-16-le", "utf-8", "utf-8-sig"):
        pairs, reader = read(form(tmp_path / encoding, CAPTION, encoding))
        assert [pair.caption for pair in pairs] == [CAPTION]
        notes = [note for note in reader.notes if f"read as {encoding.upper()}" in note]
        assert notes == reader.notes
        assert len(notes) == ("utf-8" not in encoding), encoding


def test_a_json_file_is_refused_with_the_byte_that_is_not_utf8(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    rows = [{"image": "a.png", "caption": "x" * 3_000_000}]
    start = json.dumps(rows)[:-1].encode()
    (tmp_path / "l.json").write_bytes(start + ', {"caption": "ü"}]'.encode("latin-1"))
    place = len(start) + len(', {"caption": "')
    with pytest.raises(DatasetFormatError, match=f"'l.json' is not UTF-8 at byte {place:,}"):
        read(tmp_path / "l.json")


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_a_large_json_file_is_streamed(tmp_path: Path, encoding: str) -> None:
    picture(tmp_path / "a.png")
    rows = [{"image": "a.png", "caption": f"{n} grün", "more": "ü" * 20_000} for n in range(1_500)]
    (tmp_path / "l.json").write_bytes(bytes_of(rows, encoding))
    reader = read_dataset(tmp_path / "l.json", ReadOptions(encoding=encoding), image_check="exists")
    reader.on_problem = lambda problem: pytest.fail(problem.message)
    del rows
    tracemalloc.start()
    try:
        count = sum(1 for _ in reader)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 1_500
    assert peak < 25_000_000, "the file has 30 MB, or 60 MB as UTF-8"
