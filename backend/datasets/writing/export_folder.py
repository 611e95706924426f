"""The folder of an export: an earlier export is replaced, and a folder is streamed as a zip, which
is never stored as a whole.

`SHA256SUMS` lists the files of an export, and only these are removed. Other files in the folder
belong to the user and are moved into the new export; if an exported file was changed since, nothing
is replaced.
"""

import hashlib
import io
import logging
import math
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from backend.datasets.export_row import MARK
from backend.datasets.safe_files.regular_files import open_regular, read_regular
from backend.errors import ExportError

SUMS = "SHA256SUMS"
_MARKED = "Written by TRACED Curator. Safe to overwrite by it.\n"

log = logging.getLogger(f"traced.{__name__}")


def digests(folder: Path, earlier: Mapping[str, str] | None = None) -> dict[str, str]:
    """SHA-256 of each file of an export, in hexadecimal digits, by name. `earlier`: those that need
    not be computed again."""
    earlier = earlier or {}
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*")
                   if path.is_file() and path not in (folder / MARK, folder / SUMS))  # fmt: skip
    return {name: earlier.get(name) or _digest(folder / name) for name in names}


def write_checksums(folder: Path, sums: Mapping[str, str]) -> None:
    """Write SHA256SUMS of the files with these digests, for `sha256sum --check`; its own digest is
    stored in the mark."""
    text = "".join(_line(name, digest) for name, digest in sums.items())
    (folder / SUMS).write_text(text, encoding="utf-8", errors="surrogateescape")
    (folder / MARK).write_text(f"{_MARKED}{_line(SUMS, _digest(folder / SUMS))}")


def mark(folder: Path) -> None:
    """Mark the folder as one of our exports, even if it is still incomplete."""
    (folder / MARK).write_text(_MARKED)


def check_replaceable(out: Path) -> None:
    """Raise ExportError if a file written by the earlier export was changed, or the list of those
    files is missing."""
    if not (out / SUMS).is_file():
        raise ExportError(
            f"{out} has lost its {SUMS}, so it is unknown which files an export wrote. Choose "
            "another folder, or remove this one yourself."
        )
    recorded_digest = read_digests(out / MARK).get(SUMS)
    if recorded_digest is not None and _digest(out / SUMS) != recorded_digest:
        raise _change_error(SUMS, out)
    sums = read_digests(out / SUMS)
    for name in _files(out):
        if name in sums and not _is_unchanged(out / name, sums[name]):
            raise _change_error(name, out)


def _change_error(name: str, out: Path) -> ExportError:
    return ExportError(
        f"'{name}' in {out} was changed after it was exported. Nothing was replaced. Move it away, "
        "or choose another folder."
    )


def _is_unchanged(path: Path, digest: str) -> bool:
    try:
        return not path.is_symlink() and _digest(path) == digest
    except OSError:
        return False


def check_free(out: Path, part: Path) -> None:
    """Raise ExportError if a file or folder that the earlier export did not write conflicts with
    one of the new export."""
    for name in (*_foreign(out), *_empty_folders(out)):
        for place in (part / name, *(part / name).parents):
            if place == part:
                break
            theirs = out / place.relative_to(part)
            both_are_folders = place.is_dir() and theirs.is_dir() and not theirs.is_symlink()
            if os.path.lexists(place) and not both_are_folders:
                raise ExportError(
                    f"'{name}' in {out} is not part of the earlier export, and the new one has a "
                    "file of that name. Move it away, or choose another folder. Nothing was "
                    "replaced."
                )


def retire(old: Path, out: Path) -> None:
    """Remove the earlier export `old`, which `out` has replaced; files that it did not write are
    moved to `out`. Can be interrupted at any time and called again."""
    for name in _foreign(old):
        target = out / name
        if os.path.lexists(target):
            log.warning("%s stays in %s: there is already one in %s", name, old, out)
            continue
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            os.rename(old / name, target)
        except OSError as problem:  # created since; the new export is complete nevertheless
            log.warning("%s stays in %s: %s", name, old, problem)
    if not _foreign(old):
        for folder in _empty_folders(old):
            if not os.path.lexists(out / folder):
                (out / folder).mkdir(parents=True, exist_ok=True)
        shutil.rmtree(old, ignore_errors=True)


def _foreign(folder: Path) -> list[str]:
    """Files and links in an export's folder that the export did not write."""
    sums = read_digests(folder / SUMS)
    return [name for name in _files(folder) if name not in sums and name not in (SUMS, MARK)]


def _empty_folders(folder: Path) -> list[str]:
    return [
        Path(place).relative_to(folder).as_posix()
        for place, folders, files in os.walk(folder)
        if not folders and not files and Path(place) != folder
    ]


def _files(folder: Path) -> list[str]:
    """Files and links below the folder; links are not followed."""
    paths = []
    for place, folders, files in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(place, name))]
        paths += [Path(place, name).relative_to(folder).as_posix() for name in (*files, *links)]
    return sorted(paths)


def _digest(path: Path) -> str:
    with open_regular(path, math.inf) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _line(name: str, digest: str) -> str:
    """A line in the format of GNU sha256sum: a leading backslash if the name is escaped."""
    escaped_name = name.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return f"{'' if escaped_name == name else chr(92)}{digest}  {escaped_name}\n"


def read_digests(path: Path) -> dict[str, str]:
    """Digests by file name; empty if the list cannot be read."""
    try:
        return _sums_in(read_regular(path))
    except OSError:
        return {}


def _sums_in(content: bytes) -> dict[str, str]:
    text = content.decode("utf-8", "surrogateescape")
    sums = {}
    for line in text.split("\n"):
        digest, _, name = line.removeprefix("\\").partition("  ")
        if line.startswith("\\"):
            parts = name.split("\\\\")
            name = "\\".join(p.replace("\\n", "\n").replace("\\r", "\r") for p in parts)
        if name:
            sums[name] = digest
    return sums


_PIECE = 1 << 20
#: The times that a zip can hold.
_EARLIEST, _LATEST = (1980, 1, 1, 0, 0, 0), (2107, 12, 31, 23, 59, 58)


def digest_of(folder: Path) -> str:
    """What identifies the content of the export in `folder`: the digest of its list of digests; ""
    if there is none."""
    try:
        return hashlib.sha256(read_regular(folder / SUMS)).hexdigest()
    except OSError:
        return ""


def zip_export(folder: Path, digest: str) -> Iterator[bytes]:
    """The bytes of a zip of the export in `folder`: the files listed in its SHA256SUMS, and that
    list; other files are not part of the export. Stored uncompressed, because images already are
    compressed. `digest`: of `digest_of` when the export was written.

    Raises ExportError, before the first byte, if there is no export or another one; and later if a
    file has changed, before the first byte of that file.
    """
    try:
        sums = read_regular(folder / SUMS)
    except OSError as problem:
        raise ExportError(f"The export in {folder.name} no longer exists.") from problem
    if hashlib.sha256(sums).hexdigest() != digest:
        raise ExportError(
            f"The folder {folder.name} holds another export by now. Export again for a link of "
            "your own."
        )
    files = {name: sum for name, sum in _sums_in(sums).items() if _is_within(folder, name)}
    return _pieces(folder, {**files, SUMS: digest})


def _pieces(folder: Path, files: dict[str, str]) -> Iterator[bytes]:
    """`files`: their digests by name."""
    sink = _Sink()
    with ZipFile(sink, "w", ZIP_STORED, allowZip64=True) as archive:
        for name, digest in files.items():
            # Since the check, a file may have become a link, which is not followed.
            with open_regular(folder.resolve() / name, math.inf, is_resolved=True) as source:
                # The same open file is read twice: it cannot be another one the second time.
                if hashlib.file_digest(source, "sha256").hexdigest() != digest:
                    raise ExportError(f"'{name}' has changed since it was exported.")
                source.seek(0)
                file = os.fstat(source.fileno())
                date_time = max(time.localtime(file.st_mtime)[:6], _EARLIEST)
                entry = ZipInfo(name, min(date_time, _LATEST))
                entry.file_size, entry.external_attr = file.st_size, (file.st_mode & 0xFFFF) << 16
                with archive.open(entry, "w", force_zip64=True) as target:
                    while piece := source.read(_PIECE):
                        target.write(piece)
                        yield sink.take()
    yield sink.take()


def _is_within(folder: Path, name: str) -> bool:
    path = folder / name
    is_own = path.resolve().is_relative_to(folder.resolve())
    return is_own and path.is_file() and not path.is_symlink()


class _Sink(io.RawIOBase):
    """A buffer for written bytes; `take` returns and clears it."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, piece: object) -> int:
        content = bytes(piece)  # pyrefly: ignore[bad-argument-type]
        self._pieces.append(content)
        return len(content)

    def take(self) -> bytes:
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)
