"""A name that is exchanged for a link between its check and its opening is not followed."""

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from backend.datasets.containers import ProvedFile, locate
from backend.datasets.earlier_export import write_checksums
from backend.datasets.regular_files import LeadsOut, read_regular, read_within
from backend.datasets.zip_stream import zipped

SECRET = b"what lies outside"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "a.txt").write_bytes(SECRET)
    (tmp_path / "data" / "inner").mkdir(parents=True)
    (tmp_path / "data" / "inner" / "a.txt").write_bytes(b"inside")
    return tmp_path / "data"


@pytest.mark.parametrize("name", ["inner/a.txt", "inner"])
def test_a_text_of_a_dataset_is_read_through_no_link(folder: Path, name: str) -> None:
    path = folder / "inner" / "a.txt"
    assert read_within(folder, path, 100) == b"inside"
    (folder / name).rename(folder / "ours")
    (folder / name).symlink_to(folder.parent / "private" / name.removeprefix("inner").lstrip("/"))
    with pytest.raises(LeadsOut):
        read_within(folder, path, 100)


def test_a_link_within_a_dataset_is_followed(folder: Path) -> None:
    (folder / "link").symlink_to("inner", target_is_directory=True)
    assert read_within(folder, folder / "link" / "a.txt", 100) == b"inside"


def exchange(path: Path, outside: Path) -> None:
    path.unlink()
    path.symlink_to(outside)


def of_image(folder: Path) -> Callable[[], bytes]:
    image = locate(folder, "inner/a.txt#" + "0" * 32)
    assert isinstance(image, ProvedFile)
    return image.read


def of_file(folder: Path) -> Callable[[], bytes]:
    path = (folder / "inner" / "a.txt").resolve()
    return lambda: read_regular(path, is_resolved=True)


def of_export(folder: Path) -> Callable[[], bytes]:
    write_checksums(folder)
    pieces = zipped(folder)  # has checked the names
    return lambda: b"".join(pieces)


@pytest.mark.parametrize("opened", [of_image, of_file, of_export])
def test_what_was_checked_is_not_opened_through_a_link(
    folder: Path, opened: Callable[[Path], Callable[[], bytes]]
) -> None:
    read = opened(folder)
    exchange(folder / "inner" / "a.txt", folder.parent / "private" / "a.txt")
    with pytest.raises(LeadsOut):
        read()


def test_an_export_downloads_with_its_times_and_sizes(folder: Path) -> None:
    os.utime(folder / "inner" / "a.txt", (0, 0))  # before the times of a zip
    write_checksums(folder)
    with zipfile.ZipFile(io.BytesIO(b"".join(zipped(folder)))) as archive:
        assert archive.testzip() is None
        assert archive.read("inner/a.txt") == b"inside"
        assert archive.getinfo("inner/a.txt").date_time == (1980, 1, 1, 0, 0, 0)
