"""Small datasets on disk, good and malformed."""

import csv
import io
import json
import tarfile
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from backend.datasets.read_options import ReadOptions
from backend.datasets.reading.dataset_reader import DatasetReader, read_dataset
from backend.datasets.reading.row_pairs import SourcePair


def read(path: Path, **options: Any) -> tuple[list[SourcePair], DatasetReader]:
    reader = read_dataset(path, ReadOptions(**options))
    return list(reader), reader


def encoded(size: tuple[int, int] = (12, 8), colour: str = "red", format: str = "PNG") -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, colour).save(buffer, format)
    return buffer.getvalue()


def picture(path: Path, size: tuple[int, int] = (20, 10), mode: str = "RGB") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size).save(path)
    return path


def json_lines(rows: Iterable[object]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def image_folder(folder: Path, rows: list[dict[str, Any]], pictures: tuple[str, ...]) -> Path:
    for name in pictures:
        picture(folder / name)
    write(folder / "metadata.jsonl", json_lines(rows))
    return folder


def unlike_pictures(folder: Path, rows: list[dict[str, Any]]) -> Path:
    """These rows, with a picture of its own for each name of a file."""
    for number, name in enumerate(dict.fromkeys(row["file_name"] for row in rows)):
        write(folder / name, encoded((8, 8), f"rgb({number % 256}, {number // 256}, 0)"))
    return image_folder(folder, rows, ())


def dogs(path: Path, count: int, splits: Sequence[str | None] = ()) -> Path:
    """One picture with the captions "A dog 0", "A dog 1" … of the pairs p0, p1 …"""
    rows: list[dict[str, object]] = [
        {"file_name": "a.png", "id": f"p{n}", "caption": f"A dog {n}"} for n in range(count)
    ]
    for row, split in zip(rows, splits, strict=False):
        row["split"] = split
    return image_folder(path, rows, ("a.png",))


def csv_file(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def tar_bytes(members: Iterable[tuple[str, bytes]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in members:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def make_tar(path: Path, members: dict[str, bytes]) -> Path:
    return write(path, tar_bytes(members.items()))


def zip_bytes(members: Mapping[str, bytes | str], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def malformed(folder: Path, longest: int = 10_000) -> Path:
    """Everything that goes wrong in real datasets, in one folder; ten rows are good. `longest`: the
    characters of the longest caption."""
    rows: list[dict[str, Any]] = [
        {"id": "ok-1", "file_name": "a.png", "caption": "A dog."},
        {"id": "missing", "file_name": "gone.png", "caption": "A cat."},
        {"id": "text", "file_name": "text.jpg", "caption": "A text file."},
        {"id": "ok-one-pixel", "file_name": "pixel.png", "caption": "One pixel."},
        {"id": "empty", "file_name": "a.png", "caption": ""},
        {"id": "blank", "file_name": "a.png", "caption": " \t "},
        {"id": "ok-long", "file_name": "a.png", "caption": ("long words " * 1000)[:longest]},
        {"id": "ok-html", "file_name": "a.png", "caption": "<img src=x onerror=alert(1)>${7*6}"},
        {"id": "ok-emoji", "file_name": "a.png", "caption": "🐕‍🦺 a dog 犬が走る كلب"},
        {"id": "ok-1", "file_name": "b.png", "caption": "The same id again."},
        {"id": "outside", "file_name": "../../etc/hostname", "caption": "Escapes."},
        {"id": "ok-b", "file_name": "b.png", "caption": "Another."},
        {"file_name": "b.png", "caption": "No id."},
        {"id": "no-caption", "file_name": "b.png"},
        {"id": "no-image", "caption": "No image."},
        {"id": "null", "file_name": "b.png", "caption": None},
        {"id": "half", "file_name": "half.jpg", "caption": "Half a file."},
        {"id": 17, "file_name": "sub/c.png", "caption": "In a folder.", "source": {"x": [1]}},
        {"id": "ok-two", "file_name": "a.png", "caption": ["First.", "Second."]},
    ]
    image_folder(folder, rows, ("a.png", "b.png", "sub/c.png"))
    picture(folder / "pixel.png", (1, 1))
    write(folder / "text.jpg", "This is no picture.")
    whole = picture(folder / "half.jpg", (300, 300)).read_bytes()
    write(folder / "half.jpg", whole[: len(whole) // 2])
    with (folder / "metadata.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"id": "broken", "file_name": \n[1, 2]\n')
    return folder


GOOD = 10
