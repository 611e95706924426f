"""An export as a zip, streamed: it is never stored as a whole, in memory or on disk."""

import io
import math
import os
import time
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from backend.datasets.earlier_export import SUMS, listed
from backend.datasets.regular_files import open_regular
from backend.errors import ExportError

_PIECE = 1 << 20
#: The times that a zip can hold.
_EARLIEST, _LATEST = (1980, 1, 1, 0, 0, 0), (2107, 12, 31, 23, 59, 58)


def zipped(folder: Path) -> Iterator[bytes]:
    """The bytes of a zip of the export in `folder`: the files listed in its SHA256SUMS, and that
    list; other files are not part of the export. Stored uncompressed, because images already are
    compressed.

    Raises ExportError, before the first byte, if there is no export.
    """
    names = [name for name in listed(folder / SUMS) if _is_within(folder, name)]
    if not names:
        raise ExportError(f"The export in {folder} no longer exists.")
    return _pieces(folder, [*names, SUMS])


def _pieces(folder: Path, names: list[str]) -> Iterator[bytes]:
    sink = _Sink()
    with ZipFile(sink, "w", ZIP_STORED, allowZip64=True) as archive:
        for name in names:
            # Since the check, a file may have become a link, which is not followed.
            with open_regular(folder.resolve() / name, math.inf, is_resolved=True) as source:
                file = os.fstat(source.fileno())
                changed = max(time.localtime(file.st_mtime)[:6], _EARLIEST)
                entry = ZipInfo(name, min(changed, _LATEST))
                entry.file_size, entry.external_attr = file.st_size, (file.st_mode & 0xFFFF) << 16
                with archive.open(entry, "w", force_zip64=True) as target:
                    while piece := source.read(_PIECE):
                        target.write(piece)
                        yield sink.taken()
    yield sink.taken()


def _is_within(folder: Path, name: str) -> bool:
    path = folder / name
    is_own = path.resolve().is_relative_to(folder.resolve())
    return is_own and path.is_file() and not path.is_symlink()


class _Sink(io.RawIOBase):
    """A buffer for written bytes; `taken` returns and clears it."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, piece: object) -> int:
        taken = bytes(piece)  # pyrefly: ignore[bad-argument-type]
        self._pieces.append(taken)
        return len(taken)

    def taken(self) -> bytes:
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)
