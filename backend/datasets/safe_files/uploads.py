"""Datasets uploaded in the browser: archives, tables and folders, written as they arrive.

Each upload has its own folder below one that is not served. Its content is imported like any other
dataset: nothing is unpacked or trusted here. A file's name determines only its place within that
folder.

    uploads/
      3f0c…/           one upload: only its random name gives access to it
        photos.zip     or a folder, as chosen by the user
"""

import os
import shutil
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from backend.errors import NotFound, SettingsError, UnsafePath
from db.texts import has_controls

#: Bytes that must stay free on the disk, because the database may be on it too.
KEPT_FREE = 1 << 30
#: Seconds after which an upload that no dataset uses is removed.
ABANDONED = 24 * 3600
_PART = ".part-of-upload"
MOST_FILES, MOST_FOLDERS, LONGEST_NAME = 1_000_000, 20, 200


class Uploads:
    """All uploads below `folder`, each of at most `limit` bytes."""

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder
        self.limit = limit
        self._taken: dict[str, tuple[int, int]] = {}  # bytes and files, by upload
        self._received: dict[str, tuple[float, int]] = {}  # day and bytes, by sender
        self._lock = threading.Lock()

    def begin(self) -> str:
        """Create a new upload and return its name."""
        name = uuid.uuid4().hex
        (self.folder / name).mkdir(parents=True, mode=0o700)
        self._taken[name] = (0, 0)
        return name

    @contextmanager
    def writing(self, upload: str, path: str) -> Iterator["Incoming"]:
        """Write a file of the upload; it appears when the block ends, and not at all if the block
        raises.

        `path`: its name, or its path in the chosen folder. Raises UnsafePath if it leads elsewhere,
        SettingsError if the file exists or the upload is too large, and NotFound.
        """
        folder = self._folder_of(upload)
        target = folder / place_of(path)
        self._count(upload, 0, 1)
        is_there = False
        part = folder / f".{uuid.uuid4().hex}{_PART}"
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with part.open("xb") as file:
                yield Incoming(file, lambda size: self._count(upload, size, 0))
            os.link(part, target)  # unlike a rename, never overwrites a file
            is_there = True
        except FileExistsError as problem:
            raise SettingsError(f"'{path[:200]}' is in this upload already.") from problem
        except OSError as problem:
            raise SettingsError(
                f"'{path[:200]}' cannot be written: {problem.strerror or problem}."
            ) from problem
        finally:
            part.unlink(missing_ok=True)
            if not is_there:
                self._taken.pop(upload, None)  # forces a recount

    def admit(self, sender: str, size: int) -> None:
        """Count a picture that is kept elsewhere for a day; each sender has the limit of an upload
        for them. Raises SettingsError if it is exceeded, or the disk full."""
        today = time.time() // ABANDONED
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._lock:
            day, total = self._received.get(sender, (today, 0))
            total = size + (total if day == today else 0)
            if total <= self.limit:
                self._received[sender] = today, total
        self._check(total, 1)

    def path_of(self, upload: str) -> Path:
        """The path to import: the uploaded file or folder if there is only one, else the whole
        upload. Raises NotFound, and SettingsError for an empty upload."""
        folder = self._folder_of(upload)
        entries = sorted(path for path in folder.iterdir() if path.suffix != _PART)
        if not entries:
            raise SettingsError("Nothing was uploaded: choose an archive, a table or a folder.")
        return entries[0] if len(entries) == 1 else folder

    def discard(self, upload: str) -> None:
        """Remove an upload, complete or not. Raises NotFound."""
        shutil.rmtree(self._folder_of(upload))
        self._taken.pop(upload, None)

    def remove_abandoned(self, paths: Collection[str], now: float | None = None) -> int:
        """Remove uploads that no dataset uses; return how many. `paths`: those that datasets refer
        to. Uploads of the last day are kept, because they may still be in progress."""
        if not self.folder.is_dir():
            return 0
        now = time.time() if now is None else now
        removed_count = 0
        for entry in self.folder.iterdir():
            is_used = any(Path(path).is_relative_to(entry) for path in paths)
            if not is_used and entry.is_dir() and now - entry.stat().st_mtime > ABANDONED:
                shutil.rmtree(entry, ignore_errors=True)
                removed_count += 1
        return removed_count

    def is_used_alone(self, path: str, others: Collection[str]) -> bool:
        """Whether the path is in an upload, and none of the `others` is in the same one."""
        place = Path(path)
        if not place.is_relative_to(self.folder) or place == self.folder:
            return False
        folder = self.folder / place.relative_to(self.folder).parts[0]
        return not any(Path(other).is_relative_to(folder) for other in others)

    def _folder_of(self, upload: str) -> Path:
        is_name = len(upload) == 32 and all(c in "0123456789abcdef" for c in upload)
        folder = self.folder / upload
        if not is_name or not folder.is_dir():
            raise NotFound("There is no such upload. Choose the files again.")
        return folder

    def _count(self, upload: str, size: int, files: int) -> None:
        """Count additional bytes and files; raise SettingsError if a limit is exceeded."""
        with self._lock:
            if upload not in self._taken:  # the server was restarted meanwhile
                files_there = [
                    path for path in self.folder.joinpath(upload).rglob("*") if path.is_file()
                ]
                self._taken[upload] = (
                    sum(path.stat().st_size for path in files_there),
                    len(files_there),
                )
            bytes_taken, count = self._taken[upload]
            self._taken[upload] = bytes_taken, count = bytes_taken + size, count + files
        self._check(bytes_taken, count)

    def _check(self, size: int, count: int) -> None:
        if size > self.limit:
            raise SettingsError(
                f"The upload is larger than {self.limit / 1e9:,g} GB. Ask the server's "
                "administrator to put the files there, and import them by their path."
            )
        if count > MOST_FILES:
            raise SettingsError(f"There are more than {MOST_FILES:,} files: upload an archive.")
        if shutil.disk_usage(self.folder).free < KEPT_FREE:
            raise SettingsError("The server's disk is full: nothing more can be uploaded.")


class Incoming:
    """A file being written; each piece is counted before it is written."""

    def __init__(self, file: IO[bytes], count: Callable[[int], None]) -> None:
        self._file = file
        self._count = count

    def write(self, piece: bytes) -> None:
        self._count(len(piece))
        self._file.write(piece)


def place_of(path: str) -> PurePosixPath:
    """The path of a file within its upload. Raises UnsafePath.

    >>> place_of("photos/dogs/1.jpg")
    PurePosixPath('photos/dogs/1.jpg')
    """
    parts = path.split("/")
    if (
        len(parts) > MOST_FOLDERS
        or any(part in ("", ".", "..") for part in parts)
        or any(len(part.encode(errors="surrogatepass")) > LONGEST_NAME for part in parts)
        or "\\" in path
        or has_controls(path)
    ):
        raise UnsafePath(f"'{path[:200]}' cannot be the name of an uploaded file.")
    return PurePosixPath(path)
