"""Copies of repositories of the Hugging Face Hub: its cache, and clones with pointers for files."""

from collections.abc import Sequence
from pathlib import Path

from backend.datasets.cells import trim
from backend.datasets.safe_files.regular_files import open_within
from backend.errors import DatasetFormatError, DatasetNotFound


def blobs_of(snapshot: Path) -> Path | None:
    """The folder `blobs` to which the files of a snapshot in the hub's cache are links; None if the
    resolved path is neither a snapshot nor in one."""
    for place in (snapshot, *snapshot.parents):
        blobs = place.parent.parent / "blobs"
        if place.parent.name == "snapshots" and _is_in_cache(blobs):
            return blobs
    return None


def _is_in_cache(blobs: Path) -> bool:
    return "--" in blobs.parent.name and blobs.is_dir() and not blobs.is_symlink()


def is_snapshot(source: Path) -> bool:
    """Whether it is a folder of a snapshot in the hub's cache. Raises DatasetNotFound for other
    parts of the cache, which hold no dataset, and says which does."""
    around = source.parent if source.name == "snapshots" else source
    around = source.parent.parent if source.parent.name == "blobs" else around
    if _is_in_cache(around / "blobs") and (around / "snapshots").is_dir():
        snapshots = sorted(path for path in (around / "snapshots").iterdir() if path.is_dir())
        names = " or ".join(f"'{path}'" for path in snapshots[:3]) or "none yet"
        raise DatasetNotFound(
            f"'{source}' is a part of the hub's cache; its datasets are in its folders "
            f"'snapshots'. Give {names}."
        )
    return source.is_dir() and blobs_of(source) is not None


_POINTER = b"version https://git-lfs.github.com/"
_POINTER_BYTES = 1024


def check_pointer(table: Path, folders: Sequence[Path]) -> None:
    """Raise DatasetFormatError if the file is only a Git LFS pointer."""
    try:
        if not table.is_file() or table.stat().st_size > _POINTER_BYTES:
            return
        with open_within(folders, table) as file:
            content = file.read(_POINTER_BYTES)
    except (OSError, ValueError):
        return  # reported when the file is read
    if content.startswith(_POINTER):
        raise DatasetFormatError(
            f"'{trim(table.name)}' is a pointer of Git LFS; the file itself is still on the hub. "
            "Run `git lfs pull` in the clone."
        )
