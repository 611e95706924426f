"""Open files named by a dataset: only regular files, and never blocking indefinitely.

A path may lead to a FIFO, a socket or a device, on which an ordinary `open` or `read` may block
forever. A path can change between a check and the opening, so the open descriptor is checked, and
it is opened without blocking (O_NONBLOCK, which has no effect on regular files).
"""

import errno
import io
import os
import stat
import time
from pathlib import Path
from typing import Any

#: Seconds that reading one file may take, including on slow and network disks.
SECONDS = 60.0
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


class RegularFile(io.FileIO):
    """An unbuffered file for reading. Raises IsADirectoryError, NotRegular; and TooSlow for reads
    more than `seconds` after opening."""

    def __init__(self, path: Path, seconds: float = SECONDS) -> None:
        self._deadline = time.monotonic() + seconds
        try:
            descriptor = os.open(path, _FLAGS)
        except OSError as problem:
            if problem.errno in (errno.ENXIO, errno.ENODEV):  # a socket, a device without a driver
                raise NotRegular(path) from problem
            raise
        try:
            mode = os.fstat(descriptor).st_mode
            if stat.S_ISDIR(mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
            if not stat.S_ISREG(mode):
                raise NotRegular(path)
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


def open_regular(path: Path, seconds: float = SECONDS) -> io.BufferedReader:
    """`path.open("rb")` for a path named by a dataset. Raises as `RegularFile`, and OSError."""
    return io.BufferedReader(RegularFile(path, seconds), buffer_size=1 << 16)


def read_regular(path: Path, most: int | None = None, seconds: float = SECONDS) -> bytes:
    """The whole file. Raises ValueError if it has more than `most` bytes, and as
    `open_regular`."""
    with open_regular(path, seconds) as file:
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
    resolved = path.resolve()
    if not resolved.is_relative_to(folder.resolve()):
        raise LeadsOut(path)
    return read_regular(resolved, most)
