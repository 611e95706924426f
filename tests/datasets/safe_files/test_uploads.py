"""Uploads from a browser are stored in their own folder, within limits, or not at all."""

import shutil
from pathlib import Path

import pytest

from backend.datasets.safe_files.uploads import ABANDONED, Uploads, place_of
from backend.errors import NotFound, SettingsError, UnsafePath
from tests.fixtures.sizes import Sizes

ROOM = 1000


@pytest.fixture
def uploads(tmp_path: Path) -> Uploads:
    return Uploads(tmp_path / "uploads", ROOM)


def send(uploads: Uploads, name: str, path: str, *pieces: bytes) -> None:
    with uploads.writing(name, path) as file:
        for piece in pieces:
            file.write(piece)


def everything(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_an_uploaded_file_or_folder_is_the_path_to_import(uploads: Uploads) -> None:
    archive = uploads.begin()
    send(uploads, archive, "pairs.zip", b"PK", b"...")
    assert uploads.path_of(archive).read_bytes() == b"PK..."
    folder = uploads.begin()
    send(uploads, folder, "photos/metadata.csv", b"a,b")
    send(uploads, folder, "photos/dogs/1.jpg", b"")
    assert uploads.path_of(folder).name == "photos"
    assert everything(uploads.path_of(folder)) == {"metadata.csv", "dogs/1.jpg"}
    several = uploads.begin()
    with pytest.raises(SettingsError, match="Nothing was uploaded"):
        uploads.path_of(several)
    send(uploads, several, "a.csv", b"")
    send(uploads, several, "b.csv", b"")
    assert everything(uploads.path_of(several)) == {"a.csv", "b.csv"}


@pytest.mark.parametrize(
    "path",
    ["", "/etc/hostname", "../x", "a/../../x", "a//b", "a/", ".", "a\\b", "a\0b", "a\nb", "\ud800",
     "x" * 201, "/".join("a" * 21), "a/./b", "‮gpj.exe"],
)  # fmt: skip
def test_an_unsafe_path_is_refused(uploads: Uploads, path: str) -> None:
    with pytest.raises(UnsafePath):
        place_of(path)
    name = uploads.begin()
    with pytest.raises(UnsafePath):
        send(uploads, name, path, b"x")
    assert everything(uploads.folder.parent) == set()


@pytest.mark.parametrize("name", ["", "..", "../..", "0" * 31, "g" * 32, "0" * 32, "/" + "0" * 31])
def test_an_unknown_upload_is_not_found(uploads: Uploads, name: str) -> None:
    for use in (uploads.path_of, uploads.discard, lambda n: send(uploads, n, "a", b"")):
        with pytest.raises(NotFound):
            use(name)


def test_an_oversized_or_interrupted_file_leaves_nothing(uploads: Uploads) -> None:
    name = uploads.begin()
    send(uploads, name, "a", b"x" * 600)
    with pytest.raises(SettingsError, match="larger than"):
        send(uploads, name, "b", b"x" * 300, b"x" * 300)
    with pytest.raises(TypeError):
        send(uploads, name, "c", b"half", None)  # as a connection ends  # pyrefly: ignore[bad-argument-type]
    assert everything(uploads.folder / name) == {"a"}
    # A restarted server counts the existing files.
    with pytest.raises(SettingsError, match="larger than"):
        send(Uploads(uploads.folder, ROOM), name, "d", b"x" * 401)


def test_no_file_is_overwritten(uploads: Uploads) -> None:
    name = uploads.begin()
    send(uploads, name, "a", b"first")
    with pytest.raises(SettingsError, match="already"):
        send(uploads, name, "a", b"second")
    with pytest.raises(SettingsError):
        send(uploads, name, "a/b", b"second")
    assert uploads.path_of(name).read_bytes() == b"first"


def test_the_number_of_files_and_the_disk_are_limited(uploads: Uploads, sizes: Sizes) -> None:
    name = uploads.begin()
    sizes(MOST_FILES=2)
    for path in ("a", "b"):
        send(uploads, name, path, b"x")
    with pytest.raises(SettingsError, match="upload an archive"):
        send(uploads, name, "c", b"x")
    sizes(KEPT_FREE=shutil.disk_usage("/").total * 1000)
    with pytest.raises(SettingsError, match="disk is full"):
        send(uploads, uploads.begin(), "a", b"x")


def test_abandoned_uploads_are_removed_and_datasets_are_kept(uploads: Uploads) -> None:
    used, left, young = uploads.begin(), uploads.begin(), uploads.begin()
    for name in (used, left, young):
        send(uploads, name, "photos/1.jpg", b"x")
    now = (uploads.folder / young).stat().st_mtime
    paths = [str(uploads.folder / used / "photos")]
    assert uploads.remove_abandoned(paths, now) == 0
    assert uploads.remove_abandoned(paths, now + ABANDONED + 1) == 2
    assert everything(uploads.folder) == {f"{used}/photos/1.jpg"}
