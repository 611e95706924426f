"""Where files lie: a folder of this machine, or an address of object storage, opened by fsspec.

`s3://BUCKET/FOLDER`, `gs://…`, `az://CONTAINER/…`, `hf://datasets/OWNER/NAME/…`,
`hf://buckets/OWNER/NAME/…`, and one file at `https://…`. Credentials come from where each service's
own tools find them (environment, files); they are never read from an address, stored or printed.

Every request is bounded and tried three times. A file is read block by block, so that a broken
connection costs one block, and its version is compared before and after. Object stores show a
written file as a whole or not at all; a folder gets it by renaming.
"""

import importlib
import json
import shutil
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import TimeoutError as TooLate
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar
from urllib.parse import urlsplit

from fsspec import AbstractFileSystem, filesystem

from backend.datasets.cells import trim
from backend.datasets.read_options import SCHEMES, is_address, without_query
from backend.datasets.safe_files.daemon_pool import DaemonPool
from backend.datasets.safe_files.fetching import Fetcher, FetchError, FetchRefused, Limits, as_url
from backend.datasets.safe_files.regular_files import replacement, typed_path
from backend.errors import (
    DatasetFormatError,
    DatasetNotFound,
    ExportError,
    SettingsError,
    TracedError,
    missing_extra,
)

R = TypeVar("R")

#: Options of what opens a scheme.
_OPTIONS: Mapping[str, dict[str, Any]] = {
    "s3": {
        "config_kwargs": {
            "connect_timeout": 10, "read_timeout": 60, "retries": {"max_attempts": 2},
        }
    },
}  # fmt: skip
#: Bytes that are asked for at once.
_BLOCK = 16 << 20
#: Bytes that tell the columns of a table.
_END = 1 << 20
#: A request may take so many seconds, and a second more for so many bytes.
_SECONDS, _SLOWEST = 60.0, 100_000
#: Seconds before the second and the third try.
_PAUSES: Sequence[float] = (1.0, 5.0)
#: What services call a file's version, the best first.
_VERSIONS = (
    "ETag", "etag", "blob_id", "xet_hash", "md5Hash", "LastModified", "last_modified", "updated",
    "mtime",
)  # fmt: skip


@dataclass(frozen=True)
class StoredFile:
    """`name`: its path below the location. `version`: another one if its content changes (ETag, or
    size and time of change). `key`: what its service calls it."""

    name: str
    size: int
    version: str
    key: str


class Location:
    """A folder or a file, here or at an address.

    Raises DatasetNotFound for what cannot be read, ExportError for what cannot be written, and
    SettingsError for an address that is none.
    """

    def __init__(self, text: str | Path) -> None:
        self.is_local = not is_address(text)
        if self.is_local:
            self._text = str(typed_path(text))
        else:
            self._text = trim(without_query(str(text)).rstrip("/"))
            self._files, self._key = _open(str(text))

    def __str__(self) -> str:
        return self._text

    @property
    def name(self) -> str:
        """Its last part."""
        return PurePosixPath(self._text).name

    @property
    def folder(self) -> Path:
        """The path on this machine; for local ones."""
        assert self.is_local
        return Path(self._text)

    def files(self) -> list[StoredFile]:
        """Every file, in order of the names. Raises DatasetNotFound if there is nothing."""
        if self.is_local:
            return _files_below(self.folder)
        entries = self._attempt(lambda: self._files.find(self._key, detail=True), "read")
        folders = {str(place) for key in entries for place in PurePosixPath(key).parents}
        root = self._key if self._key in folders else self._key.rpartition("/")[0]
        files = [
            StoredFile(
                without_query(key)[len(root) :].lstrip("/"), about["size"] or 0,
                _version(about), key,
            )
            for key, about in entries.items()
            if about["type"] == "file" and not _is_marker(key, about["size"] or 0, folders)
        ]  # fmt: skip
        if not files:
            raise DatasetNotFound(f"There is nothing at {self}.")
        return sorted(files, key=lambda file: file.name)

    def is_empty(self) -> bool:
        try:
            return not self.files()
        except DatasetNotFound as problem:
            if isinstance(problem.__cause__, FileNotFoundError | None):
                return True
            raise

    def copy(self, file: StoredFile, folder: Path) -> Path:
        """The file on this machine: where it lies, or its copy below `folder`. Raises
        DatasetFormatError if it changes meanwhile."""
        if self.is_local:
            return Path(file.key)
        target = folder / file.name
        if not target.resolve().is_relative_to(folder.resolve()):
            raise DatasetFormatError(f"{self} lists a file outside of it: '{trim(file.name)}'.")
        before, size = self._state(file)
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacement(target, is_flushed=False) as part, part.open("wb") as out:
            for start in range(0, file.size, _BLOCK):
                out.write(self.part(file, start, min(start + _BLOCK, file.size)))
            if not out.tell() == file.size == size or self._state(file) != (before, size):
                raise DatasetFormatError(
                    f"{self}/{file.name} changed while it was read. Run again for its new state."
                )
        return target

    def ends(self, file: StoredFile, folder: Path) -> Path:
        """As `copy`, but of a large file only both ends, with a hole between them: enough for the
        header of a table or the footer of a Parquet file."""
        if self.is_local or file.size <= 2 * _END:
            return self.copy(file, folder)
        target = folder / PurePosixPath(file.name).name
        with target.open("wb") as out:
            out.write(self.part(file, 0, _END))
            out.seek(file.size - _END)
            out.write(self.part(file, file.size - _END, file.size))
        return target

    def part(self, file: StoredFile, start: int, end: int) -> bytes:
        """Bytes of a file at an address, up to but not including `end`."""
        return self._attempt(
            lambda: bytes(self._files.cat_file(file.key, start=start, end=end)), "read", end - start
        )

    def _state(self, file: StoredFile) -> tuple[str, int]:
        """Its version, of which a listing may say more, and its size."""

        def state() -> tuple[str, int]:
            about = self._files.info(file.key, refresh=True)
            return _version(about), about.get("size") or file.size

        return self._attempt(state, "read")

    def read(self, name: str) -> bytes | None:
        """A small file; None if there is none."""
        if self.is_local:
            path = self.folder / name
            return path.read_bytes() if path.is_file() else None

        def content() -> bytes | None:
            try:
                return bytes(self._files.cat_file(f"{self._key}/{name}"))
            except FileNotFoundError:
                return None

        return self._attempt(content, "read")

    def check_writable(self) -> None:
        """Raise ExportError for an address of which files can only be read."""
        if self._text.startswith(("https://", "http://")):
            raise ExportError(f"{self} can only be read.")
        if self._text.startswith("hf://buckets/"):
            raise ExportError(
                f"{self} can only be read: a bucket takes files by connections (Xet) that this "
                "program cannot check. Write into a folder, and copy that by the hub's own "
                f"program: hf buckets sync FOLDER {self}"
            )

    def write(self, name: str, content: bytes) -> None:
        """Make or replace a small file."""
        if self.is_local:
            self._make_folder(name)
            with replacement(self.folder / name) as part:
                part.write_bytes(content)
        else:
            self.check_writable()
            key = f"{self._key}/{name}"
            self._attempt(lambda: self._files.pipe_file(key, content), "write", len(content))

    def put_file(self, name: str, file: Path) -> None:
        """Make or replace the file `name` by a copy of the local `file`."""
        if self.is_local:
            self._make_folder(name)
            with replacement(self.folder / name) as part:
                shutil.copyfile(file, part)
        else:
            self.check_writable()
            key, size = f"{self._key}/{name}", file.stat().st_size
            self._attempt(lambda: self._files.put_file(str(file), key), "write", size)

    def rename(self, name: str, to: str) -> None:
        """Call a file otherwise, in the place of what is called so. Raises ExportError."""
        if self.is_local:
            (self.folder / name).replace(self.folder / to)
        else:
            self.check_writable()
            old, new = f"{self._key}/{name}", f"{self._key}/{to}"
            self._attempt(lambda: self._files.copy(old, new), "write")
            self.remove(name)

    def remove(self, name: str) -> None:
        """Remove a file, if it is there. Raises ExportError."""
        if self.is_local:
            (self.folder / name).unlink(missing_ok=True)
            return
        self.check_writable()

        def remove() -> None:
            with suppress(FileNotFoundError):
                self._files.rm_file(f"{self._key}/{name}")

        self._attempt(remove, "write")

    def _make_folder(self, name: str) -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)

    def _attempt(self, work: Callable[[], R], verb: str, size: int = 0) -> R:
        """The result of `work`, tried three times, each for a time that depends on `size` in bytes.
        Raises as the class says."""
        error = DatasetNotFound if verb == "read" else ExportError
        for pause in (*_PAUSES, None):
            try:
                with DaemonPool(1) as pool:
                    return pool.submit(work).result(_SECONDS + size / _SLOWEST)
            except (TracedError, NotImplementedError):
                raise
            except FileNotFoundError as problem:
                raise error(f"There is no {self}.") from problem
            except PermissionError as problem:
                raise error(
                    f"No permission to {verb} {self}. Credentials are taken from the environment, "
                    "as the service's own tools find them."
                ) from problem
            except Exception as problem:  # of whatever library opens the address
                if pause is None:
                    reason = "it takes too long" if isinstance(problem, TooLate) else str(problem)
                    raise error(
                        f"Could not {verb} {self}: {trim(reason or type(problem).__name__, 200)}."
                    ) from problem
                time.sleep(pause)
        raise AssertionError("the last try returns or raises")


def folder_for(address: str, folder: Path) -> Path:
    """Where `fetch` puts the files of an address: another place for each."""
    place = without_query(address).rstrip("/")
    readable = "".join(c if c.isalnum() or c in "._-" else "_" for c in place)[:100]
    return folder / f"{readable}-{sha256(place.encode('utf-8', 'replace')).hexdigest()[:16]}"


def fetch(address: str, folder: Path, most: float) -> Path:
    """Copy all files at the address into a folder of their own below `folder`; those that are there
    in the same version are kept, and others removed. `most`: bytes. Returns the folder, or the
    only file. Raises as `Location`, and SettingsError for more bytes."""
    location = Location(address)
    files = location.files()
    size = sum(file.size for file in files)
    existing_folder = next(place for place in (folder, *folder.parents) if place.exists())
    if size > min(most, shutil.disk_usage(existing_folder).free):
        raise SettingsError(
            f"{location} has {size / 1e9:.1f} GB, more than fits (upload_limit: {most / 1e9:g} GB, "
            "and the free disk). Score it shard by shard instead.",
            terminal=f"score {location} --out DESTINATION/",
        )
    target = folder_for(address, folder)
    marks = target.with_name(f".{target.name}.json")
    copied_versions = json.loads(marks.read_text("utf-8")) if marks.is_file() else {}
    versions = {file.name: file.version for file in files}
    for old in _files_below(target) if target.exists() else ():
        if versions.get(old.name) != copied_versions.get(old.name):
            Path(old.key).unlink()
    for file in files:
        if not (target / file.name).is_file():
            location.copy(file, target)
            copied_versions[file.name] = file.version
            marks.write_text(json.dumps(copied_versions), "utf-8")
    return target / files[0].name if str(location).endswith(f"/{files[0].name}") else target


def _files_below(path: Path) -> list[StoredFile]:
    if not path.exists():
        raise DatasetNotFound(f"There is no {path}.")
    root = path if path.is_dir() else path.parent
    paths = [path] if path.is_file() else (p for p in path.glob("**/*") if p.is_file())
    states = [(file, file.stat()) for file in paths]
    files = [
        StoredFile(
            file.relative_to(root).as_posix(), state.st_size,
            f"{state.st_size}-{state.st_mtime_ns}", str(file),
        )
        for file, state in states
    ]  # fmt: skip
    return sorted(files, key=lambda file: file.name)


def _is_marker(key: str, size: int, folders: Collection[str]) -> bool:
    """Whether it is the empty object by which consoles (`images/`), and programs of Hadoop and
    Azure, remember a folder."""
    return key.endswith("/") or (size == 0 and (key in folders or key.endswith("_$folder$")))


def _version(about: Mapping[str, Any]) -> str:
    stamp = next((about[name] for name in _VERSIONS if about.get(name)), "")
    return f"{about['size']}-{stamp}".replace('"', "")


def _open(address: str) -> tuple[AbstractFileSystem, str]:
    """What opens the address, and what that calls it. Raises SettingsError."""
    parts = urlsplit(address)
    if parts.username or parts.password:
        raise SettingsError("An address must not hold a user or a password.")
    if not parts.netloc:
        raise SettingsError(f"'{trim(address)}' names no bucket and no server.")
    package = SCHEMES[parts.scheme]
    if not package:
        return WebFiles(), address
    try:
        importlib.import_module(package)
    except ImportError as problem:
        raise missing_extra(f"{parts.scheme}://", "storage") from problem
    key = address.partition("://")[2].rstrip("/")
    if parts.scheme == "hf":
        from backend.datasets.safe_files.hub_files import HubFiles

        return HubFiles(), key
    options = _OPTIONS.get(parts.scheme, {})
    return filesystem(parts.scheme, use_listings_cache=False, **options), key


class WebFiles(AbstractFileSystem):
    """Single files of public web servers, read in parts; never those of private networks."""

    protocol = ("https", "http")
    cachable = False

    def __init__(self, allow_private: bool = False) -> None:
        super().__init__()
        limits = Limits(seconds=_SECONDS + _BLOCK / _SLOWEST, bytes=_BLOCK,
                        allow_private=allow_private)  # fmt: skip
        self._fetcher = Fetcher(limits, connections=1)

    def find(self, path: str, *_: Any, **__: Any) -> dict[str, dict[str, Any]]:
        return {path: self.info(path)}

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        headers, _content = self._ask(path, 0, 1)
        size = headers.get("content-range", "").rpartition("/")[2]
        if not size.isdigit():
            raise DatasetNotFound(f"The server of {_plain(path)} does not serve parts of files.")
        return {"name": path, "type": "file", "size": int(size),
                "etag": headers.get("etag") or headers.get("last-modified", "")}  # fmt: skip

    def cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **_: Any
    ) -> bytes:
        return self._ask(path, start or 0, end or _BLOCK)[1]

    def _ask(self, path: str, start: int, end: int) -> tuple[dict[str, str], bytes]:
        try:
            return self._fetcher.fetch_part(as_url(path), start, end)
        except FetchRefused as problem:
            raise DatasetNotFound(f"Could not read {without_query(path)}: {problem}.") from problem
        except FetchError as problem:
            raise OSError(str(problem)) from problem


def _plain(address: str) -> str:
    return trim(PurePosixPath(without_query(address)).name)
