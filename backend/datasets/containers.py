"""Images that lie inside another file: a tar shard, a zip archive, a Parquet or an Arrow file.

A pair names its image by a path relative to its dataset's root. Inside a container the path goes on
behind "!/", as in URLs of archives:

    shards/00001.tar!/1536+20480/000123.jpg    a tar's member: where its bytes begin, how many
    images.zip!/train/0001.jpg                 a zip's member
    data/train-00000.parquet!/17/image         row 17 (from 0) of the column `image`
    train/data-00000-of-00002.arrow!/17/image  the same of a saved Hugging Face dataset

A tar's offset stands in the name because a tar has no table of contents: one seek, no search.
Opened containers are kept, few at a time.
"""

import threading
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from backend.errors import ImageError, UnsafePath

SEPARATOR = "!/"
#: Larger members are no images: what unpacks into gigabytes must not fill the memory.
MOST_BYTES = 500_000_000
_KEPT_OPEN = 8


@dataclass(frozen=True)
class Member:
    """An image inside a container; `inner` is what follows the separator."""

    container: Path
    inner: str

    @property
    def name(self) -> str:
        """For messages: what people would call it."""
        return f"{self.container.name}{SEPARATOR}{self.inner.rpartition('/')[2] or self.inner}"

    def __str__(self) -> str:
        return f"{self.container}{SEPARATOR}{self.inner}"

    def read(self) -> bytes:
        """The image's bytes. Raises FileNotFoundError, or ImageError saying what is wrong."""
        ending = self.container.suffix.lower()
        if ending not in _READERS:
            raise ImageError(f"'{self.container.name}' is no container of images.")
        if not self.container.is_file():
            raise FileNotFoundError(2, "No such file or directory", str(self.container))
        try:
            return _READERS[ending](self.container, self.inner)
        except (KeyError, ValueError, IndexError, EOFError, pa.ArrowException) as problem:
            raise ImageError(f"'{self.name}' is not in its container: {problem}.") from problem
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as problem:
            raise ImageError(f"'{self.name}' cannot be unpacked: {problem}.") from problem


#: An image of a dataset: a file of its own, or inside a container.
ImageFile = Path | Member


def locate(root: Path, relative: str) -> ImageFile:
    """The image that a dataset calls `relative`; UnsafePath if that leads out of the root, by
    links too."""
    outer, separator, inner = relative.partition(SEPARATOR)
    path = (root / outer).resolve()
    if not path.is_relative_to(root.resolve()):
        raise UnsafePath(f"'{relative}' leads out of {root}. It is not opened.")
    return Member(path, inner) if separator else path


def relative_name(image: ImageFile, root: Path) -> str:
    """The inverse of `locate`."""
    if isinstance(image, Member):
        return f"{image.container.relative_to(root).as_posix()}{SEPARATOR}{image.inner}"
    return image.relative_to(root).as_posix()


def file_of(image: ImageFile) -> Path:
    """The file on the disk that holds the image."""
    return image.container if isinstance(image, Member) else image


def tar_member(offset: int, size: int, name: str) -> str:
    return f"{offset}+{size}/{name}"


class _Opened:
    """Containers that stay open, one use at a time each; a file that has changed is opened anew."""

    def __init__(self, open_file: Callable[[Path], Any]) -> None:
        self._open = open_file
        self._kept: OrderedDict[tuple[str, int, int], tuple[Any, threading.Lock]] = OrderedDict()
        self._lock = threading.Lock()

    def use(self, path: Path) -> tuple[Any, threading.Lock]:
        status = path.stat()
        key = (str(path), status.st_mtime_ns, status.st_size)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = (self._open(path), threading.Lock())
                while len(self._kept) > _KEPT_OPEN:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            return self._kept[key]


class _ParquetRows:
    """Cells of one Parquet file; the row group that was read last is kept."""

    def __init__(self, path: Path) -> None:
        self._file = pq.ParquetFile(path)
        ends, total = [], 0
        for number in range(self._file.metadata.num_row_groups):
            total += self._file.metadata.row_group(number).num_rows
            ends.append(total)
        self._ends = ends
        self._last: tuple[int, str, Any] | None = None

    def cell(self, row: int, column: str) -> Any:
        group = next((number for number, end in enumerate(self._ends) if row < end), None)
        if group is None:
            raise IndexError(f"there is no row {row}")
        if self._last is None or self._last[:2] != (group, column):
            table = self._file.read_row_group(group, columns=[column])
            self._last = (group, column, table.column(column))
        first = self._ends[group - 1] if group else 0
        return self._last[2][row - first].as_py()


class _ArrowRows:
    """Cells of an Arrow stream or file, mapped into memory, not read."""

    def __init__(self, path: Path) -> None:
        self._map = pa.memory_map(str(path))
        try:
            self._table = pa.ipc.open_stream(self._map).read_all()
        except pa.ArrowInvalid:
            self._table = pa.ipc.open_file(self._map).read_all()

    def cell(self, row: int, column: str) -> Any:
        if not 0 <= row < self._table.num_rows:
            raise IndexError(f"there is no row {row}")
        return self._table.column(column)[row].as_py()


_zips = _Opened(zipfile.ZipFile)
_parquets = _Opened(_ParquetRows)
_arrows = _Opened(_ArrowRows)


def _from_tar(path: Path, inner: str) -> bytes:
    place, _, _ = inner.partition("/")
    offset, _, size = place.partition("+")
    if not (offset.isdigit() and size.isdigit()):
        raise ValueError(f"'{place}' is no place in a tar")
    if int(size) > MOST_BYTES:
        raise ValueError(f"{int(size):,} bytes are too many")
    with path.open("rb") as file:
        file.seek(int(offset))
        found = file.read(int(size))
    if len(found) < int(size):
        raise EOFError("the tar ends before it")
    return found


def _from_zip(path: Path, inner: str) -> bytes:
    archive, lock = _zips.use(path)
    with lock:
        if archive.getinfo(inner).file_size > MOST_BYTES:
            raise ValueError(f"it unpacks into {archive.getinfo(inner).file_size:,} bytes")
        found: bytes = archive.read(inner)
    return found


def _from_rows(opened: _Opened) -> Callable[[Path, str], bytes]:
    def read(path: Path, inner: str) -> bytes:
        row, _, column = inner.partition("/")
        rows, lock = opened.use(path)
        with lock:
            cell = rows.cell(int(row), column)
        found = image_bytes(cell)
        if found is None:
            raise ValueError("the cell holds no image")
        return found

    return read


def image_bytes(cell: Any) -> bytes | None:
    """What a cell holds: bytes, or a struct with `bytes` as Hugging Face's Image feature has."""
    if isinstance(cell, dict):
        cell = cell.get("bytes")
    return bytes(cell) if isinstance(cell, bytes | bytearray | memoryview) else None


_READERS: dict[str, Callable[[Path, str], bytes]] = {
    ".tar": _from_tar,
    ".zip": _from_zip,
    ".parquet": _from_rows(_parquets),
    ".arrow": _from_rows(_arrows),
}
