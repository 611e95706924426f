"""The files in a tar, one by one, with limited memory."""

import tarfile
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, cast

from backend.datasets.cells import BadCell, trim
from backend.datasets.read_options import is_hidden
from backend.datasets.reading.tar_samples import MOST_TEXT, TarMember, read_member
from backend.datasets.safe_files.containers import SEPARATOR
from backend.datasets.safe_files.foreign_names import NamesByFolder
from backend.datasets.safe_files.text_files import open_in_folders
from backend.errors import DatasetFormatError, UnsafePath

#: A multiple of a tar's blocks.
_READ_AT_ONCE = 1 << 20
#: Files by which is told what a tar holds.
_FIRST = 100


class DamagedTar(ValueError):
    """A tar that cannot be read to its end; the message says why."""

    has_members = False


def members_of(
    path: Path, folders: Sequence[Path], text_endings: Collection[str]
) -> Iterator[TarMember]:
    """As `members_and_ends`, without the ends."""
    return (each for each in members_and_ends(path, folders, text_endings) if each is not None)


def members_and_ends(
    path: Path, folders: Sequence[Path], text_endings: Collection[str]
) -> Iterator[TarMember | None]:
    """The files in a tar that are not hidden; those of tars that were joined follow each other,
    with None after the last of each, which is whole whatever comes behind it.
    `folders`: as for `text_files.open_in_folders`; `text_endings`: of the files whose text is read.
    Raises DamagedTar."""
    has_members = False
    try:
        with open_in_folders(path, folders) as raw:
            start: int | None = 0
            while start is not None:
                raw.seek(start)
                with tarfile.open(fileobj=cast(IO[bytes], _Reads(raw)), mode="r:") as archive:
                    while (entry := archive.next()) is not None:
                        archive.members.clear()  # it would keep all of them  # pyrefly: ignore[missing-attribute]
                        if not entry.isfile() or is_hidden(entry.name.replace("\\", "/")):
                            continue
                        member = read_member(path, archive, entry, text_endings)
                        has_members = True
                        yield member
                    start = _next_archive(raw, archive.offset)
                yield None
    except (tarfile.TarError, EOFError, OSError, ValueError, RecursionError) as problem:
        endless = isinstance(problem, RecursionError)
        damage = DamagedTar("it consists of headers without end" if endless else str(problem))
        damage.has_members = has_members
        raise damage from problem


def holds_pictures_alone(tar: Path, root: Path) -> bool:
    """Whether the first files of a tar are pictures: their captions are elsewhere."""
    try:
        first = list(islice(members_of(tar, (root,), ()), _FIRST))
    except (DamagedTar, DatasetFormatError, UnsafePath):
        return False
    return bool(first) and all(member.is_picture for member in first)


class TarPictures:
    """Where the pictures of a tar are, by their names. `problem`: why it ends prematurely, "" if it
    does not."""

    def __init__(self, path: Path, folders: Sequence[Path]) -> None:
        self.problem = ""
        #: What follows the separator in the address of each; None: several have that name.
        self._inner: dict[str, str | None] = {}
        try:
            for member in members_of(path, folders, ()):
                if member.is_picture:
                    inner = str(member.address).partition(SEPARATOR)[2]
                    name = member.name.replace("\\", "/").removeprefix("./")
                    self._inner[name] = None if name in self._inner else inner
        except (DamagedTar, DatasetFormatError) as problem:
            self.problem = str(problem).rstrip(".")
        self.names = NamesByFolder(self._inner)

    def stored_name(self, name: str) -> str:
        """Raises BadCell if several members have the name."""
        if (inner := self._inner.get(name)) is None:
            raise BadCell(f"several members of the tar are called '{trim(name)}'")
        return inner


class _Reads:
    """A tar's file with limited read sizes: the library reads long names as a whole, and a damaged
    header may claim gigabytes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int) -> bytes:
        if size > MOST_TEXT + tarfile.BLOCKSIZE:
            raise ValueError(f"one of its headers claims {size:,} bytes")
        return self._file.read(size)


def _next_archive(raw: IO[bytes], offset: int) -> int | None:
    """Where the next archive begins, if several were joined; None if there is none. Raises
    ValueError unless the tar ends where the library stopped: it treats a damaged header as the end,
    and the rest would silently be missing."""
    raw.seek(offset)
    while block := raw.read(_READ_AT_ONCE):
        if rest := block.lstrip(b"\0"):
            start = raw.tell() - len(rest)
            start -= start % tarfile.BLOCKSIZE
            if start == offset:
                raise ValueError(f"the header at byte {offset:,} is damaged")
            return start
    return None
