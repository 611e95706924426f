"""A name that is exchanged for a link between its check and its opening is not followed."""

import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backend.datasets.reading.dataset_reader import read_dataset
from backend.datasets.safe_files.containers import Member, ProvedFile, locate, with_proof
from backend.datasets.safe_files.regular_files import LeadsOut, read_regular, read_within
from backend.datasets.writing.export_folder import digest_of, digests, write_checksums, zip_export
from backend.datasets.writing.export_images import ImageCopies
from backend.errors import DatasetFormatError, ExportError, ImageError
from tests.datasets.folders import encoded, tar_bytes, write, zip_bytes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "private" / "a.txt", b"what lies outside")
    return write(tmp_path / "data" / "inner" / "a.txt", b"inside").parent.parent


@pytest.mark.parametrize("name", ["inner/a.txt", "inner"])
def test_a_text_of_a_dataset_is_read_through_no_link(folder: Path, name: str) -> None:
    path = folder / "inner" / "a.txt"
    assert read_within(folder, path, 100) == b"inside"
    exchange(folder / name, folder.parent / "private" / name.removeprefix("inner")[1:])
    with pytest.raises(LeadsOut):
        read_within(folder, path, 100)


def test_a_link_within_a_dataset_is_followed(folder: Path) -> None:
    (folder / "link").symlink_to("inner", target_is_directory=True)
    assert read_within(folder, folder / "link" / "a.txt", 100) == b"inside"


def exchange(path: Path, outside: Path) -> None:
    path.rename(path.with_name("ours"))
    path.symlink_to(outside)


def of_image(folder: Path) -> Callable[[], bytes]:
    image = locate(folder, "inner/a.txt#" + "0" * 32)
    assert isinstance(image, ProvedFile)
    return image.read


def of_file(folder: Path) -> Callable[[], bytes]:
    path = (folder / "inner" / "a.txt").resolve()
    return lambda: read_regular(path, is_resolved=True)


def of_export(folder: Path) -> Callable[[], bytes]:
    write_checksums(folder, digests(folder))
    pieces = zip_export(folder, digest_of(folder))  # has checked the names
    return lambda: b"".join(pieces)


@pytest.mark.parametrize("exchanged", ["inner/a.txt", "inner"])
@pytest.mark.parametrize("opened", [of_image, of_file, of_export])
def test_what_was_checked_is_not_opened_through_a_link(
    folder: Path, opened: Callable[[Path], Callable[[], bytes]], exchanged: str
) -> None:
    read = opened(folder)
    exchange(folder / exchanged, folder.parent / "private" / exchanged.removeprefix("inner")[1:])
    with pytest.raises(LeadsOut):
        read()


def content(ending: str, caption: str) -> str | bytes:
    """A dataset of one pair in the format of this ending, with the picture inside if that holds
    pictures."""
    row = {"file_name": "a.png", "text": caption}
    cells = pa.table({"image": [{"bytes": encoded(), "path": None}], "text": [caption]})
    buffer = io.BytesIO()
    match ending:
        case "csv":
            return f"file_name,text\na.png,{caption}\n"
        case "jsonl":
            return json.dumps(row)
        case "json":
            return json.dumps([row])
        case "zip":
            return zip_bytes({"a.png": encoded(), "metadata.jsonl": json.dumps(row)})
        case "tar":
            return tar_bytes((("a.png", encoded()), ("a.txt", caption.encode())))
        case "parquet":
            pq.write_table(cells, buffer)
        case "arrow":
            with pa.ipc.new_stream(buffer, cells.schema) as out:
                out.write_table(cells)
    return buffer.getvalue()


def good_and_outside(folder: Path, name: str) -> tuple[Path, Path]:
    """The dataset of this name in the folder, and another outside."""
    ending = name.rpartition(".")[2]
    outside = write(folder.parent / "private" / name, content(ending, "a secret"))
    return write(folder / name, content(ending, "a dog")), outside


@pytest.mark.parametrize(
    "name",
    ["metadata.csv", "metadata.jsonl", "captions_all.json", "t.parquet", "t.arrow", "t.zip",
     "t.tar"],
)  # fmt: skip
def test_a_table_is_read_through_no_link(folder: Path, name: str) -> None:
    write(folder / "a.png", encoded())
    table, outside = good_and_outside(folder, name)
    source = folder if table.suffix not in (".arrow", ".zip") else table
    assert [pair.caption for pair in read_dataset(source)] == ["a dog"]
    reader = read_dataset(source)  # has checked the table
    exchange(table, outside)
    with pytest.raises(DatasetFormatError, match="leads out of the dataset's folder"):
        list(reader)


@pytest.mark.parametrize(
    ("name", "inner"),
    [("t.parquet", "0/image"), ("t.arrow", "0/image"), ("t.zip", "a.png"), ("t.tar", "512+64/a")],
)
def test_a_container_is_opened_through_no_link(folder: Path, name: str, inner: str) -> None:
    container, outside = good_and_outside(folder, name)
    member = locate(folder, f"{name}!/{inner}")
    assert isinstance(member, Member)
    exchange(container, outside)
    with pytest.raises(ImageError, match="has become a link"):
        member.read()


def test_an_export_copies_through_no_link(folder: Path, tmp_path: Path) -> None:
    picture = with_proof(folder / "inner" / "a.txt")
    copies = ImageCopies(tmp_path / "out", folder)
    assert (tmp_path / "out" / copies.flat(picture, "images")).read_bytes() == b"inside"
    exchange(folder / "inner" / "a.txt", folder.parent / "private" / "a.txt")
    with pytest.raises(ExportError):
        copies.flat(picture, "images")


def test_an_export_downloads_with_its_times_and_sizes(folder: Path) -> None:
    os.utime(folder / "inner" / "a.txt", (0, 0))  # before the times of a zip
    write_checksums(folder, digests(folder))
    with zipfile.ZipFile(io.BytesIO(b"".join(zip_export(folder, digest_of(folder))))) as archive:
        assert archive.testzip() is None
        assert archive.read("inner/a.txt") == b"inside"
        assert archive.getinfo("inner/a.txt").date_time == (1980, 1, 1, 0, 0, 0)
