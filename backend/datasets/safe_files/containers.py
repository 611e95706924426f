"""Addresses of images: separate files, and images inside a tar, a zip, a Parquet or an Arrow file.

A pair names its image by a path relative to its dataset's root. Inside a container the path
continues after "!/", as in archive URLs:

    shards/00001.tar!/1536+20480/000123.jpg    a tar's member: offset + number of its bytes
    images.zip!/train/0001.jpg                 a zip's member
    data/train-00000.parquet!/17/image         row 17 (from 0) of the column `image`
    data/train-00000.parquet!/17/images/0      the first of a row's list of images
    train/data-00000-of-00002.arrow!/17/image  the same of a saved Hugging Face dataset
    train.jsonl!/1536+20480                    a picture that a table has as text (base64)
    shard.00000.mds!/17/image                  of a plug-in's format, as it says (`table_readers`)

The name contains the offset within a tar, because tars have no table of contents: reading needs one
seek and no search. A few containers are kept open.

Neither a position nor a name says which picture is there after the file was rewritten. Addresses of
imported pairs therefore end with a proof, "#" and a hash of the picture's bytes, which is checked
whenever the picture is opened. Databases of earlier versions hold addresses without one.
"""

import hashlib
import math
import os
import threading
import zipfile
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, chain
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa

from backend.datasets.cells import BadCell, split_proof
from backend.datasets.read_options import TEXT_TABLES
from backend.datasets.safe_files.arrow_cells import arrow_table
from backend.datasets.safe_files.foreign_names import NamesByFolder
from backend.datasets.safe_files.parquet_groups import MOST_ROWS, open_parquet, rows_at_once
from backend.datasets.safe_files.regular_files import (
    LeadsOut,
    NotRegular,
    open_regular,
    read_regular,
)
from backend.datasets.safe_files.text_files import MOST_BYTES
from backend.datasets.safe_files.written_pictures import (
    WrittenPictures,
    picture_of_text,
    written_picture,
)
from backend.datasets.table_readers import picture_readers
from backend.errors import ImageError, UnsafePath
from db.texts import compose

SEPARATOR = "!/"
#: The ending of a zip of this program's own, with a dataset and its pictures.
PACKED = ".traced"
_KEPT_OPEN = 8
#: Files whose hash is remembered until they change.
_MOST_HASHES = 1 << 16
#: Files whose name is remembered: those of the pairs that are read at once, several times each.
_MOST_NAMES = 1 << 10


@dataclass(frozen=True)
class ProvedFile:
    """An image in a file of its own, by its resolved path; `proof`: the hash of its bytes when it
    was imported."""

    path: Path
    proof: str

    @property
    def name(self) -> str:
        return self.path.name

    def __str__(self) -> str:
        return str(self.path)

    def check(self) -> None:
        """Raise ImageError if the file's bytes are others. It is read only if it is another file,
        or has another size or time, than when it was read last. Raises OSError."""
        if _hash_of(self.path) != self.proof:
            raise _other_picture(self.name, self.name)

    def read(self) -> bytes:
        """The image's bytes. Raises as `check`."""
        content = read_regular(self.path, is_resolved=True)
        if proof_of(content) != self.proof:
            raise _other_picture(self.name, self.name)
        return content


@dataclass(frozen=True)
class Member:
    """An image inside a container, by its resolved path; `inner` is what follows the separator.
    `proof`: the hash of its bytes, "" if unknown."""

    container: Path
    inner: str
    proof: str = ""

    @property
    def name(self) -> str:
        """A readable name for messages."""
        return f"{self.container.name}{SEPARATOR}{self.inner.rpartition('/')[2] or self.inner}"

    def __str__(self) -> str:
        return f"{self.container}{SEPARATOR}{self.inner}"

    def read(self) -> bytes:
        """The image's bytes. Raises FileNotFoundError, or ImageError with the reason; also if the
        bytes are not those that were imported."""
        content = self._content()
        if self.proof and proof_of(content) != self.proof:
            raise _other_picture(self.name, self.container.name)
        return content

    def _content(self) -> bytes:
        ending = self.container.suffix.lower()
        reader = _READERS.get(ending) or picture_readers().get(ending)
        if reader is None:
            raise ImageError(f"'{self.container.name}' is not a container of images.")
        try:
            return reader(self.container, self.inner)
        except NotRegular as problem:
            raise ImageError(f"'{self.container.name}' is not a regular file.") from problem
        except LeadsOut as problem:
            raise ImageError(f"'{self.container.name}' has become a link.") from problem
        except IsADirectoryError as problem:
            raise ImageError(f"'{self.container.name}' is a folder.") from problem
        except (KeyError, ValueError, IndexError, EOFError, pa.ArrowException) as problem:
            raise ImageError(
                f"'{self.name}' is missing from its container: {problem}."
            ) from problem
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as problem:
            raise ImageError(f"'{self.name}' cannot be unpacked: {problem}.") from problem


#: An image of a dataset: a separate file, of known content or not, or inside a container.
ImageFile = Path | ProvedFile | Member


def with_proof(image: ImageFile) -> ProvedFile | Member:
    """The image with the proof of its present content. Raises as `Member.read`, and OSError."""
    if isinstance(image, Member):
        return replace(image, proof=proof_of(image.read()))
    path = file_of(image)
    return ProvedFile(path, _hash_of(path))


def is_there(image: ImageFile) -> bool:
    """Whether its file exists and, if that is a zip, has such a member. Raises OSError."""
    if not file_of(image).exists():
        return False
    if not isinstance(image, Member) or image.container.suffix.lower() != ".zip":
        return True
    try:
        return ZipMembers.of(image.container).names.has(image.inner)
    except ImageError:
        return True  # what is wrong with the zip is said when the picture is opened


def locate(root: Path, relative: str) -> ImageFile:
    """The image that a dataset calls `relative`. Raises UnsafePath if it is outside the root,
    including through links."""
    place, proof = split_proof(relative)
    outer, separator, inner = place.partition(SEPARATOR)
    path = (root / outer).resolve()
    if not outer.isascii() and not path.exists():
        path = (root / _in_present_form(root, outer)).resolve()
    if not path.is_relative_to(root.resolve()):
        raise UnsafePath(f"'{relative}' lies outside {root}. It is not opened.")
    if separator:
        return Member(path, inner, proof)
    return ProvedFile(path, proof) if proof else path


def _in_present_form(root: Path, name: str) -> str:
    """The name in the normal form that its file has now, if one alone differs from it in that:
    files that moved between macOS and Linux may be named in another one."""
    place = root
    for part in PurePosixPath(name).parts:
        if not (place / part).exists():
            with suppress(OSError):
                names = _names_by_form(place, place.stat().st_mtime_ns).get(compose(part), [])
                part = names[0] if len(names) == 1 else part
        place /= part
    return place.relative_to(root).as_posix()


@lru_cache(_KEPT_OPEN)
def _names_by_form(folder: Path, _mtime_ns: int) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for name in os.listdir(folder):
        if not name.isascii():
            names.setdefault(compose(name), []).append(name)
    return names


def relative_name(image: ImageFile, root: Path) -> str:
    """The inverse of `locate`."""
    name = _name_below(file_of(image), root)
    if isinstance(image, Path):
        return name
    inner = f"{SEPARATOR}{image.inner}" if isinstance(image, Member) else ""
    return f"{name}{inner}#{image.proof}" if image.proof else f"{name}{inner}"


@lru_cache(_MOST_NAMES)
def _name_below(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()


def proof_of(content: bytes) -> str:
    """The proof of a picture with these bytes."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _hash_of(path: Path) -> str:
    status = path.stat()
    return _hash_of_state(
        path, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
    )


@lru_cache(_MOST_HASHES)
def _hash_of_state(path: Path, *_state: int) -> str:
    digest = hashlib.blake2b(digest_size=16)
    with open_regular(path, is_resolved=True) as file:
        while part := file.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()


def _other_picture(name: str, changed_file: str) -> ImageError:
    return ImageError(
        f"'{name}' is not the picture that was imported: '{changed_file}' has changed. Import the "
        "dataset again, or restore the file."
    )


def file_of(image: ImageFile) -> Path:
    """The file on disk that contains the image."""
    if isinstance(image, Path):
        return image
    return image.container if isinstance(image, Member) else image.path


def tar_member(offset: int, size: int, name: str) -> str:
    return f"{offset}+{size}/{name}"


def tar_position(inner: str) -> tuple[int, int] | None:
    """Where a picture starts in its tar and its size, in bytes; None if it is not as `tar_member`
    writes it.

    >>> tar_position("1536+20480/a.jpg"), tar_position("a+b/a.jpg")
    ((1536, 20480), None)
    """
    offset, _, size = inner.partition("/")[0].partition("+")
    return (int(offset), int(size)) if offset.isdigit() and size.isdigit() else None


class _ContainerPool:
    """A pool of open containers, each used exclusively; a changed file is reopened."""

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
    """Cells of one Parquet file; the rows read last are cached."""

    def __init__(self, path: Path) -> None:
        self._opened = open_parquet(_kept_open(path))
        self._ends = list(accumulate(group.rows for group in self._opened.groups))
        #: The column, the rows and the cells that were read last.
        self._last: tuple[str, range, Any] = ("", range(0), None)

    def cell(self, row: int, column: str) -> Any:
        column, place = _place(self._opened.file.schema_arrow.names, column)
        if self._last[0] != column or row not in self._last[1]:
            self._last = self._read(row, column)
        _, rows, cells = self._last
        cell = cells[row - rows.start]
        return cell.as_py() if place is None else cell[place].as_py()

    def _read(self, row: int, column: str) -> tuple[str, range, Any]:
        """Read the row, with as many rows of its group as may be read at once."""
        group = next((number for number, end in enumerate(self._ends) if row < end), None)
        if group is None:
            raise IndexError(f"there is no row {row}")
        start = self._ends[group - 1] if group else 0
        at_once = rows_at_once(self._opened, group, [column])
        if at_once == MOST_ROWS:  # not limited by memory: the whole group
            at_once = max(self._ends[group] - start, 1)
        for batch in self._opened.file.iter_batches(at_once, row_groups=[group], columns=[column]):
            rows = range(start, start + batch.num_rows)
            if row in rows:
                return column, rows, batch.column(0)
            start = rows.stop
        raise IndexError(f"there is no row {row}")


class ArrowRows:
    """Cells of an Arrow table."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def cell(self, row: int, column: str) -> Any:
        if not 0 <= row < self._table.num_rows:
            raise IndexError(f"there is no row {row}")
        column, place = _place(self._table.column_names, column)
        cell = self._table.column(column)[row]
        return cell.as_py() if place is None else cell[place].as_py()


def _place(columns: Collection[str], name: str) -> tuple[str, int | None]:
    """The column, and the list index if the name ends with one, else None."""
    column, _, place = name.rpartition("/")
    return (column, int(place)) if name not in columns and place.isdigit() else (name, None)


def _kept_open(path: Path) -> Any:
    """Open without a time limit, for containers that stay open while the program runs."""
    return open_regular(path, math.inf, is_resolved=True)


class ZipMembers:
    """The members of an archive by their names with slashes and in UTF-8: Windows' programs write
    backslashes, and macOS' do not say that a name is UTF-8."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        counts = Counter(archive.namelist())
        #: Names that several members have.
        self.repeated = {name for name, count in counts.items() if count > 1}
        self._stored: dict[str, list[str]] = {}
        for entry in archive.infolist():
            if (plain := _plain_name(entry)) != entry.filename and plain not in counts:
                self._stored.setdefault(plain, []).append(entry.filename)
        self.repeated |= {name for name, members in self._stored.items() if len(members) > 1}
        self.names = NamesByFolder(chain(counts, self._stored))

    @staticmethod
    def of(path: Path) -> "ZipMembers":
        """Those of a zip, which is kept open. Raises ImageError if it cannot be opened."""
        try:
            (_, members), _ = _zips.use(path)
        except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile) as problem:
            raise ImageError(f"'{path.name}' cannot be opened: {problem}.") from problem
        return members

    def stored_name(self, name: str) -> str:
        """The name as the zip has it; the given one if several members have it."""
        members = self._stored.get(name, [name])
        return members[0] if len(members) == 1 else name


def _plain_name(entry: zipfile.ZipInfo) -> str:
    name = entry.filename
    if not entry.flag_bits & _IS_UTF_8 and not name.isascii():
        with suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return name.replace("\\", "/").removeprefix("./")


def _opened_zip(path: Path) -> tuple[zipfile.ZipFile, ZipMembers]:
    archive = zipfile.ZipFile(_kept_open(path))
    return archive, ZipMembers(archive)


_zips = _ContainerPool(_opened_zip)
#: The flag of a member whose name is said to be UTF-8 (APPNOTE.TXT, 4.4.4, bit 11).
_IS_UTF_8 = 0x800
#: Compression methods with bounded output: with others a few bytes may expand to gigabytes at once,
#: whatever size the archive claims.
_BOUNDED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def zip_member(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    """The member's entry in the zip. Raises KeyError; ValueError if it is too large, and
    NotImplementedError if its decompressed size cannot be bounded."""
    about = archive.getinfo(name)
    if about.file_size > MOST_BYTES:
        raise ValueError(
            f"it unpacks into {about.file_size:,} bytes, and at most {MOST_BYTES:,} are read"
        )
    if about.compress_type not in _BOUNDED:
        raise NotImplementedError("its compression is not deflate")
    return about


_parquets = _ContainerPool(_ParquetRows)
_arrows = _ContainerPool(lambda path: ArrowRows(arrow_table(path, (path,))))


def _from_tar(path: Path, inner: str) -> bytes:
    if (position := tar_position(inner)) is None:
        raise ValueError(f"'{inner.partition('/')[0]}' is not a position in a tar")
    offset, size = position
    if size > MOST_BYTES:
        raise ValueError(f"{size:,} bytes are too many")
    with open_regular(path, is_resolved=True) as file:
        file.seek(offset)
        content = file.read(size)
    if len(content) < size:
        raise EOFError("the tar ends before it")
    return content


def _from_zip(path: Path, inner: str) -> bytes:
    (archive, members), lock = _zips.use(path)
    if inner in members.repeated:
        raise ValueError("several members of the zip have that name")
    with lock:
        about = zip_member(archive, inner)
        with archive.open(about) as file:
            content: bytes = file.read(about.file_size)
            file.read(1)  # reading past the end verifies the checksum
    return content


def _from_rows(pool: _ContainerPool) -> Callable[[Path, str], bytes]:
    def read(path: Path, inner: str) -> bytes:
        row, _, column = inner.partition("/")
        rows, lock = pool.use(path)
        with lock:
            cell = rows.cell(int(row), column)
        content = picture_of_text(cell.encode()) if isinstance(cell, str) else image_bytes(cell)
        if content is None:
            raise ValueError("the cell holds no image")
        return content

    return read


def image_bytes(cell: Any) -> bytes | None:
    """The image bytes of a cell: bytes, or a struct with `bytes`, like Hugging Face's Image
    feature; None if it contains neither."""
    if isinstance(cell, dict):
        cell = cell.get("bytes")
    return bytes(cell) if isinstance(cell, bytes | bytearray | memoryview) else None


_READERS: dict[str, Callable[[Path, str], bytes]] = {
    ".tar": _from_tar,
    **dict.fromkeys((".zip", PACKED), _from_zip),
    ".parquet": _from_rows(_parquets),
    ".arrow": _from_rows(_arrows),
    **dict.fromkeys((*TEXT_TABLES, ".json"), written_picture),
}


def address_of_text(
    text: str, table: Path, row: int, column: str, picture_texts: WrittenPictures
) -> str:
    """The address, within its table, of a picture that a row (from 1) has as text. Raises BadCell.

    A conversation's picture may be in another column than `column`, or among others."""
    ending = table.suffix.lower()
    if ending in (*TEXT_TABLES, ".json"):
        try:
            inner = picture_texts.place(text)
        except OSError as problem:
            raise BadCell(f"its table cannot be opened: {problem.strerror}") from problem
        if inner is not None:
            return inner
    elif ending in (".parquet", ".arrow"):
        try:
            content = picture_of_text(text.encode("utf-8", "replace"))
        except ValueError as problem:
            raise BadCell(f"the picture that is written in the row: {problem}") from problem
        for place in (column, "image", "images/0"):
            member = Member(table, f"{row - 1}/{place}")
            with suppress(ImageError, OSError):
                if member.read() == content:
                    return member.inner
    raise BadCell(
        "the picture is written in the row as text (base64), at a place from which it cannot be "
        "read again. Save the pictures as files, or the rows as JSON lines in UTF-8"
    )
