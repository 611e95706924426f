"""An export as sidecars changes only the captions in the texts of the source."""

from pathlib import Path

import pytest

from backend.datasets.export_row import ExportRow
from backend.datasets.read_options import ReadOptions
from backend.datasets.reading.dataset_reader import read_dataset
from backend.datasets.writing.dataset_writer import write_dataset
from tests.datasets.folders import picture, read, write


def export(
    source: Path, out: Path, old: str = "red", new: str = "crimson", gone: str = "none",
    per_line: bool = False,
) -> dict[str, bytes]:  # fmt: skip
    """The texts of an export in which one word is edited, and captions with another left out."""
    pairs = list(read_dataset(source, ReadOptions(captions_per_line=per_line)))
    rows = [
        ExportRow(
            pair.id, pair.image_path, pair.caption.replace(old, new), pair.caption, pair.split
        )
        for pair in pairs
        if gone not in pair.caption
    ]
    write_dataset(rows, out, format="sidecar", card="", source_root=source)
    texts = {path.name: path.read_bytes() for path in out.rglob("*.txt")}
    again, reader = read(out)
    assert [pair.caption for pair in again] == [row.caption for row in rows]
    assert reader.problems == []
    return texts


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"A red square.", id="no newline"),
        pytest.param(b"A red square.\n", id="newline"),
        pytest.param(b"A red square.\r\n", id="CRLF"),
        pytest.param(b"A red square.\n\n\n", id="several newlines"),
        pytest.param(b"A red\r\nsquare.\r\n", id="CRLF inside"),
        pytest.param(b"  A red square. \n", id="blanks"),
        pytest.param(b"\n\nA red square.\n", id="begins with newlines"),
        pytest.param(b"\xef\xbb\xbfA red square.\n", id="mark"),
        pytest.param("A red d\u00f6g.\n".encode("utf-16"), id="UTF-16"),
    ],
)
def test_a_text_differs_from_the_source_only_by_the_edit(tmp_path: Path, text: bytes) -> None:
    for name in ("a", "b"):
        picture(tmp_path / "source" / f"{name}.png")
    write(tmp_path / "source" / "a.txt", text)
    encoding = "utf-16" if text.startswith(b"\xff\xfe") else "utf-8"
    other = text.decode(encoding).replace("red", "tan").encode(encoding)
    write(tmp_path / "source" / "b.txt", other)
    texts = export(tmp_path / "source", tmp_path / "out")
    wanted = text.decode(encoding).replace("red", "crimson").encode(encoding)
    assert texts["a.txt"] == wanted
    assert texts["b.txt"] == other


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_captions_on_lines_stay_in_one_text(tmp_path: Path, end: str) -> None:
    source = tmp_path / "source"
    for name in ("a", "b"):
        picture(source / f"{name}.png", (8, 8 + len(name)))
    lines = ["A red dog.", "", " A cat. ", "A red dog.", "A fox."]
    write(source / "a.txt", end.join(lines) + end)
    write(source / "b.txt", f"One red.{end}Two.")
    texts = export(source, tmp_path / "out", gone="cat", per_line=True)
    assert texts == {
        "a.txt": end.join(["A crimson dog.", "", "A crimson dog.", "A fox.", ""]).encode(),
        "b.txt": f"One crimson.{end}Two.".encode(),
    }


def test_a_text_that_changed_since_is_not_taken(tmp_path: Path) -> None:
    source = tmp_path / "source"
    image = picture(source / "a.png")
    write(source / "a.txt", "Another caption.\n")
    row = ExportRow("1", image, "A dog.", "A red dog.")
    write_dataset([row], tmp_path / "out", format="sidecar", card="", source_root=source)
    assert (tmp_path / "out" / "train" / "a.txt").read_bytes() == b"A dog."


def test_a_caption_that_the_encoding_lacks_is_written_as_it_is(tmp_path: Path) -> None:
    source = tmp_path / "source"
    picture(source / "a.png")
    write(source / "a.txt", b"Ein Hund.\n")
    assert export(source, tmp_path / "out", "Hund", "犬") == {"a.txt": "Ein 犬.\n".encode()}


@pytest.mark.parametrize("second", [".txt", ".caption"])
def test_several_endings_of_texts_are_noted(tmp_path: Path, second: str) -> None:
    for name, ending in (("a", ".txt"), ("b", second)):
        picture(tmp_path / f"{name}.png")
        write(tmp_path / f"{name}{ending}", "A dog.")
    pairs, reader = read(tmp_path)
    assert len(pairs) == 2
    assert any(".caption" in note for note in reader.notes) == (second == ".caption")


def test_texts_beside_pictures_that_a_table_describes_are_noted(tmp_path: Path) -> None:
    """Nothing said that they are not read."""
    picture(tmp_path / "a.png")
    write(tmp_path / "a.txt", "A cat.")
    write(tmp_path / "metadata.csv", "file_name,caption\na.png,A dog.\n")
    (pair,), reader = read(tmp_path)
    assert pair.caption == "A dog."
    assert any("'a.txt'" in note for note in reader.notes)
