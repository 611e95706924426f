"""Names that other systems and programs write are found in folders and archives alike."""

import io
import json
import unicodedata
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backend.datasets.reading.dataset_reader import DatasetReader
from backend.datasets.reading.row_pairs import SourcePair
from backend.datasets.safe_files.containers import locate, relative_name
from backend.datasets.safe_files.images import load_image
from tests.datasets.folders import encoded, json_lines, make_tar, picture, read, write

COLOURS = {"red": (255, 0, 0), "green": (0, 128, 0)}
Place = Callable[[Path, dict[str, bytes], list[dict[str, str]]], Path]


def folder(root: Path, pictures: dict[str, bytes], rows: list[dict[str, str]]) -> Path:
    for name, content in pictures.items():
        write(root / name, content)
    write(root / "metadata.jsonl", json_lines(rows))
    return root


def zipped(root: Path, pictures: dict[str, bytes], rows: list[dict[str, str]]) -> Path:
    return packed(root / "z.zip", {**pictures, "metadata.jsonl": json_lines(rows).encode()})


def zipped_below(root: Path, pictures: dict[str, bytes], rows: list[dict[str, str]]) -> Path:
    members = {f"data/{name}": content for name, content in pictures.items()}
    return packed(root / "z.zip", {**members, "data/metadata.jsonl": json_lines(rows).encode()})


def zip_by_windows(root: Path, pictures: dict[str, bytes], rows: list[dict[str, str]]) -> Path:
    members = {f"data/{name}".replace("/", "\\"): content for name, content in pictures.items()}
    return packed(root / "z.zip", {**members, "data\\metadata.jsonl": json_lines(rows).encode()})


def zip_beside(root: Path, pictures: dict[str, bytes], rows: list[dict[str, str]]) -> Path:
    packed(root / "z.zip", pictures)
    named = [{**row, "file_name": f"z.zip!/{row['file_name']}"} for row in rows]
    return write(root / "t.jsonl", json_lines(named))


def parquet(root: Path, pictures: dict[str, bytes], rows: list[dict[str, str]]) -> Path:
    for name, content in pictures.items():
        write(root / name, content)
    cells = [
        {"image": {"bytes": None, "path": row["file_name"]}, "caption": row["caption"]}
        for row in rows
    ]
    image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    schema = pa.schema([("image", image), ("caption", pa.string())])
    pq.write_table(pa.Table.from_pylist(cells, schema), root / "t.parquet")
    return root / "t.parquet"


def packed(path: Path, members: dict[str, bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


PLACES = [folder, zipped, zipped_below, zip_by_windows, zip_beside, parquet]
#: Names of the same picture: as its folder has it, and as a row writes it.
NAMES = [
    ("img/{}.png", "img\\{}.png"), ("img/{}.png", ".\\img\\{}.png"),
    ("img/{}.png", "C:\\data\\img\\{}.png"), ("img/{}.png", "D:/set/img/{}.png"),
    ("img/{}.png", "/home/ann/set/img/{}.png"), ("img/{} x.png", "img/{}%20x.png"),
    ("img/{}.png", " img/{}.png "), ("img/{}.png", "IMG/{}.PNG"),
    ("img/{}.png", "\\\\server\\share\\img\\{}.png"),
    ("img/caf\u00e9 {}.png", "img/cafe\u0301 {}.png"), ("img/e\u0301 {}.png", "img/\u00e9 {}.png"),
    ("img/{}.png", "img/{}"), ("img/{}.JPG", "img\\{}"), ("img/{}.png", "./img/{}.png"),
    ("img/{} x.png", "/data/local-files/?d=img/{}%20x.png"),
    ("img/{}.png", "/data/local-files/?d=set%5Cimg%5C{}.png"),
    ("img/{}.png", "http://localhost:8080/data/local-files/?d=mnt/img/{}.png"),
]  # fmt: skip


def colours_of(pairs: list[SourcePair], reader: DatasetReader) -> dict[str, tuple[int, int, int]]:
    """The colour of each caption's picture, opened as the store names it."""
    pixels: dict[str, tuple[int, int, int]] = {}
    for pair in pairs:
        pixel = load_image(locate(reader.root, relative_name(pair.image_path, reader.root)))
        red, green, blue = pixel.convert("RGB").tobytes()[:3]
        pixels[pair.caption] = (red, green, blue)
    return pixels


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("stored", "written"), NAMES)
def test_a_name_of_another_system_is_found_and_told(
    tmp_path: Path, place: Place, stored: str, written: str
) -> None:
    pictures = {stored.format(name): encoded(colour=name) for name in COLOURS}
    rows = [{"file_name": written.format(name), "caption": name} for name in COLOURS]
    pairs, reader = read(place(tmp_path / "source", pictures, rows))
    assert reader.problems == []
    assert colours_of(pairs, reader) == COLOURS


@pytest.mark.parametrize("place", [folder, zipped, zip_beside, parquet])
def test_an_exact_name_is_taken_before_any_other(tmp_path: Path, place: Place) -> None:
    pictures = {"a\\red.png": encoded(colour="red"), "a/red.png": encoded(colour="green")}
    rows = [{"file_name": "a\\red.png", "caption": "red"}]
    rows += [{"file_name": "a/red.png", "caption": "green"}]
    pairs, reader = read(place(tmp_path / "source", pictures, rows))
    assert (colours_of(pairs, reader), reader.problems) == (COLOURS, [])


@pytest.mark.parametrize("place", PLACES)
def test_an_id_of_two_pictures_is_told_and_not_guessed(tmp_path: Path, place: Place) -> None:
    pictures = {"000123.jpg": encoded(colour="red"), "000123.png": encoded(colour="green")}
    pictures["000124.jpg"] = encoded(colour="green")
    rows = [{"file_name": name, "caption": name} for name in ("000123", "000124", "000125")]
    pairs, reader = read(place(tmp_path / "source", pictures, rows))
    assert [pair.caption for pair in pairs] == ["000124"]
    first = next(problem for problem in reader.problems if problem.row == 1)
    assert "000123.jpg" in first.message
    assert "000123.png" in first.message
    assert [p.kind for p in reader.problems if p.row == 3] == ["missing image"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ["..\\..\\secret.png", "C:\\..\\..\\secret.png"])
def test_no_name_of_another_system_leads_out(tmp_path: Path, place: Place, name: str) -> None:
    write(tmp_path / "secret.png", encoded())
    rows = [{"file_name": name, "caption": "secret"}, {"file_name": "a.png", "caption": "a"}]
    pairs, _ = read(place(tmp_path / "x" / "source", {"a.png": encoded()}, rows))
    assert [pair.caption for pair in pairs] == ["a"]


def test_a_zip_whose_names_do_not_say_that_they_are_utf_8_is_read(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("caf\u00e9.png", encoded())
        rows = [{"file_name": "caf\u00e9.png", "caption": "A cup."}]
        archive.writestr("metadata.jsonl", json_lines(rows))
    content = buffer.getvalue()
    plain = write(tmp_path / "z.zip", _without_utf_8_flag(content))
    with zipfile.ZipFile(plain) as archive:
        assert "caf\u00e9.png" not in archive.namelist()
    pairs, reader = read(plain)
    assert ([pair.caption for pair in pairs], reader.problems) == (["A cup."], [])


def _without_utf_8_flag(content: bytes) -> bytes:
    changed = bytearray(content)
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = content.find(signature)
        while place >= 0:
            changed[place + offset + 1] &= ~0x08
            place = content.find(signature, place + 1)
    return bytes(changed)


def test_a_tar_by_windows_is_read(tmp_path: Path) -> None:
    members = {
        "v1.0\\a\\1.png": encoded(colour="red"), "v1.0\\a\\1.txt": b"red",
        "v1.0/a/2.png": encoded(colour="green"), "v1.0\\a\\2.txt": b"green",
        "__MACOSX\\a\\3.txt": b"none",
    }  # fmt: skip
    pairs, reader = read(make_tar(tmp_path / "t.tar", members))
    assert (colours_of(pairs, reader), reader.problems) == (COLOURS, [])


def test_a_hint_tells_names_apart_that_look_the_same(tmp_path: Path) -> None:
    for form in ("NFC", "NFD"):
        picture(tmp_path / f"{unicodedata.normalize(form, 'é')} A.png")
    write(tmp_path / "t.csv", "file_name,caption\né a.png,A cup.\n")
    _, reader = read(tmp_path / "t.csv")
    assert "similar" not in reader.problems[0].message
    assert "normal form" in reader.problems[0].message


def test_a_hint_names_two_folders_of_one_name_apart(tmp_path: Path) -> None:
    picture(tmp_path / "sub" / "val" / "1.png")
    picture(tmp_path / "val" / "2.png")
    images = [{"id": n, "file_name": f"val/{n}.png"} for n in (1, 2)]
    rows = [{"image_id": n, "caption": f"Caption {n}."} for n in (1, 2)]
    table = write(
        tmp_path / "sub" / "captions.json", json.dumps({"images": images, "annotations": rows})
    )
    _, reader = read(table, image_root=tmp_path)
    (problem,) = reader.problems
    assert str(tmp_path) in problem.message
