"""Open files named by a dataset or a user: only regular files, and never blocking indefinitely.

A path may lead to a FIFO, a socket or a device, on which an ordinary `open` or `read` may block
forever. A path can change between a check and the opening, so the open descriptor is checked, and
it is opened without blocking (O_NONBLOCK, which has no effect on regular files).

The databases of this process are never opened: closing any descriptor of a file drops all POSIX
locks that the process holds on it, and SQLite's locks with them. Another program that then closes
the database deletes its write-ahead log, and every later verdict would be lost. For the same reason
nothing is written over them, and no link at the place of a new file is followed.
"""

import errno
import io
import os
import re
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from backend.datasets.cells import trim
from backend.datasets.read_options import SCHEMES
from backend.errors import SettingsError

#: Seconds that reading one file may take, including on slow and network disks.
SECONDS = 60.0
#: The beginnings of SQLite's databases (backups among them), of their write-ahead logs, and of
#: PostgreSQL's backups.
_DATABASE_SIGNS = (b"SQLite format 3\0", b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83", b"PGDMP")
#: The beginning of an address, also after `Path` has joined its slashes; not of "C:/".
_SCHEME = re.compile(rf"[A-Za-z][\w.+-]+:/|(?:{'|'.join(SCHEMES)}):(?!\w+/\w)", re.IGNORECASE)
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK


class NotRegular(OSError):
    """The path does not lead to a regular file."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.EINVAL, "it is not a regular file", str(path))


class TooSlow(OSError):
    """Reading takes longer than allowed."""

    def __init__(self) -> None:
        super().__init__(errno.ETIMEDOUT, "reading it takes too long")


class LeadsOut(OSError):
    """A link that leads out of the dataset's folder."""

    def __init__(self, path: Path) -> None:
        reason = "it is a link that leads out of the dataset's folder"
        super().__init__(errno.EPERM, reason, str(path))


class DatabaseFile(OSError):
    """The path leads to a database of SQLite, a part of one or a backup."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.EPERM, "it is a database or a backup of one", str(path))


#: Paths of the databases of this process.
_databases: set[Path] = set()


def refuse_database(path: Path) -> None:
    """From now on, `RegularFile` refuses SQLite's database at `path` and its side files, by
    whatever name or link they are reached."""
    _databases.add(path.absolute())


def is_database(file: os.stat_result) -> bool:
    """Whether it is a database of this process, or one of its side files."""
    for path in _databases:
        for suffix in ("", "-wal", "-shm", "-journal"):
            try:
                if os.path.samestat(os.stat(f"{path}{suffix}"), file):
                    return True
            except OSError:
                continue
    return False


class RegularFile(io.FileIO):
    """An unbuffered file for reading. Raises IsADirectoryError, NotRegular, DatabaseFile; and
    TooSlow for reads more than `seconds` after opening. `is_resolved`: the path was resolved and
    checked; LeadsOut is raised if a part of it has become a link since then."""

    def __init__(self, path: Path, seconds: float = SECONDS, is_resolved: bool = False) -> None:
        self._deadline = time.monotonic() + seconds
        if is_database(os.stat(path)):
            raise DatabaseFile(path)
        try:
            descriptor = _open_without_links(path) if is_resolved else os.open(path, _FLAGS)
        except OSError as problem:
            if problem.errno in (errno.ENXIO, errno.ENODEV):  # a socket, a device without a driver
                raise NotRegular(path) from problem
            raise
        if is_database(os.fstat(descriptor)):  # a link that changed since the check above
            raise DatabaseFile(path)  # the descriptor stays open, since closing it drops the locks
        try:
            mode = os.fstat(descriptor).st_mode
            if stat.S_ISDIR(mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
            if not stat.S_ISREG(mode):
                raise NotRegular(path)
            if os.pread(descriptor, 16, 0).startswith(_DATABASE_SIGNS):
                raise DatabaseFile(path)
            super().__init__(descriptor, "rb", closefd=True)
        except BaseException:
            os.close(descriptor)
            raise

    def readinto(self, buffer: Any) -> int | None:
        self._check()
        return super().readinto(buffer)

    def read(self, size: int | None = -1) -> bytes:
        self._check()
        return super().read(-1 if size is None else size) or b""

    def _check(self) -> None:
        if time.monotonic() > self._deadline:
            raise TooSlow()


def _open_without_links(path: Path) -> int:
    """Open an absolute path folder by folder, each relative to the one before: a name that is
    exchanged for a link meanwhile is not followed. Raises LeadsOut."""
    root, *folders, name = path.parts
    parent = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder in folders:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            inner = os.open(folder, flags, dir_fd=parent)
            os.close(parent)
            parent = inner
        return os.open(name, _FLAGS | os.O_NOFOLLOW, dir_fd=parent)
    except OSError as problem:
        if problem.errno in (errno.ELOOP, errno.ENOTDIR):
            raise LeadsOut(path) from problem
        raise
    finally:
        os.close(parent)


def open_regular(
    path: Path, seconds: float = SECONDS, is_resolved: bool = False
) -> io.BufferedReader:
    """`path.open("rb")` for a path named by a dataset. Raises as `RegularFile`, and OSError."""
    return io.BufferedReader(RegularFile(path, seconds, is_resolved), buffer_size=1 << 16)


def read_regular(
    path: Path, most: int | None = None, seconds: float = SECONDS, is_resolved: bool = False
) -> bytes:
    """The whole file. Raises ValueError if it has more than `most` bytes, and as
    `open_regular`."""
    with open_regular(path, seconds, is_resolved) as file:
        size = os.fstat(file.fileno()).st_size
        if most is not None and size > most:
            raise ValueError(f"it has {size:,} bytes")
        parts = []
        while part := file.read(1 << 20):
            parts.append(part)
    return b"".join(parts)


def read_within(folder: Path, path: Path, most: int) -> bytes:
    """Read a file of the dataset in `folder`. Raises LeadsOut if it is a link to elsewhere, and as
    `read_regular`."""
    return read_regular(_resolved_within((folder.resolve(),), path), most, is_resolved=True)


def open_within(folders: Sequence[Path], path: Path, seconds: float = SECONDS) -> io.BufferedReader:
    """Open a file that has to lie in one of these resolved folders, or be one of them. Raises as
    `read_within`."""
    return open_regular(_resolved_within(folders, path), seconds, is_resolved=True)


def _resolved_within(folders: Sequence[Path], path: Path) -> Path:
    target = path.resolve()
    if not any(target.is_relative_to(folder) for folder in folders):
        raise LeadsOut(path)
    return target


@contextmanager
def replacement(path: Path, is_flushed: bool = True) -> Iterator[Path]:
    """A new, empty file beside `path`, which takes its place as a whole when the block ends; if it
    raises, nothing changes. `is_flushed`: it is on the disk then. A link at either place is not
    followed. Raises DatabaseFile, and OSError."""
    _refuse_database_at(path)
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)  # left by a kill
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
    try:
        yield part
        if is_flushed:
            flush(part)
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    if is_flushed:
        flush(path.parent)


def flush(path: Path) -> None:
    """Have a file, or the names in a folder, on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_for_append(path: Path) -> io.BufferedWriter:
    """`path.open("ab")`. Raises DatabaseFile, and OSError for a link."""
    _refuse_database_at(path)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, 0o666), "ab")


def _refuse_database_at(path: Path) -> None:
    try:
        file = os.stat(path)
    except OSError:
        return
    if is_database(file):
        raise DatabaseFile(path)


def typed_path(text: str | Path) -> Path:
    """The absolute path, with links resolved and `~` expanded. Raises SettingsError if it is not a
    valid path: an address, a zero byte, a lone surrogate, an unknown user, a loop of links."""
    if scheme := _SCHEME.match(str(text)):
        schemes = ", ".join(f"{name}://" for name in SCHEMES)
        raise SettingsError(
            f"'{trim(str(text))}' is not a path of this machine. Where addresses are taken, they "
            f"begin with one of {schemes}. Write a folder of that name as './{scheme[0]}…', and a "
            "file without file://."
        )
    try:
        os.fsencode(text)  # accepts names that are not UTF-8, as returned by the system
        return Path(text).expanduser().resolve()
    except (RuntimeError, ValueError, OSError) as error:
        reason = str(getattr(error, "strerror", None) or error).rstrip(".")
        raise SettingsError(f"'{trim(str(text))}' is not a path: {trim(reason)}.") from error
