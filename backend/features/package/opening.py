"""Open a package in place: its pictures stay in the zip, its database is copied beside it once."""

import errno
import hashlib
import os
import shutil
import sqlite3
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from backend.datasets.safe_files.containers import PACKED
from backend.datasets.safe_files.regular_files import DatabaseFile, open_regular
from backend.errors import DatasetFormatError, DatasetNotFound, SettingsError
from backend.features.package import queries
from backend.features.package.manifest import (
    DATABASE,
    MANIFEST,
    SETTING,
    VERDICTS,
    Manifest,
    check_database,
    parse_manifest,
)
from backend.store import Store, translate_errors
from db import open_store
from db.queries import dataset_queries, setting_queries

#: A manifest of more bytes, and a database of more, is none of a package.
MOST_MANIFEST, MOST_DATABASE = 1_000_000, 20_000_000_000
#: A larger database shrinks by no more than this: few bytes must not fill a disk.
SMALL, MOST_RATIO = 10_000_000, 100
#: Methods of compression whose output is bounded as it is read.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
#: Seconds that copying the database may take.
_SECONDS = 3600.0


def verdicts_of(package: Path) -> Path:
    """The database beside a package."""
    return package.with_name(package.name.removesuffix(PACKED) + VERDICTS)


def open_package(package: Path) -> tuple[Path, Manifest]:
    """The database with which to review the package, beside it, and its manifest. The first call
    copies it from the package; later ones find the verdicts that were given.

    Raises DatasetNotFound, DatasetFormatError for a file that is no package or was changed, and
    SettingsError if nothing can be written beside it, or if other verdicts are there.
    """
    target = verdicts_of(package)
    with _reading(package) as archive:
        manifest = parse_manifest(_content(archive, package.name), package.name)
        try:
            if not target.exists():
                _copy_out(archive, package, manifest, target)
        except OSError as problem:
            raise SettingsError(
                f"{target} cannot be written: {problem.strerror or problem}. Verdicts go there: "
                "copy the package into a folder that you may write to, with enough room."
            ) from problem
    _move_to(package, target, manifest)
    return target, manifest


@contextmanager
def _reading(package: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with open_regular(package, _SECONDS) as file, zipfile.ZipFile(file) as archive:
            yield archive
    except FileNotFoundError as problem:
        raise DatasetNotFound(f"There is no package '{package}'.") from problem
    except IsADirectoryError as problem:
        raise DatasetFormatError(f"'{package}' is a folder, and no package.") from problem
    except DatabaseFile as problem:
        raise DatasetFormatError(f"'{package.name}' is a database, and no package.") from problem
    except (zipfile.BadZipFile, EOFError, NotImplementedError) as problem:
        raise DatasetFormatError(
            f"'{package.name}' is no package, or is incomplete: {problem}. Copy or download it "
            "again."
        ) from problem


def _member(archive: zipfile.ZipFile, name: str, most: int, package: str) -> zipfile.ZipInfo:
    """The entry of a member. Raises DatasetFormatError for one that may not be unpacked."""
    try:
        member = archive.getinfo(name)
    except KeyError as problem:
        raise DatasetFormatError(f"'{package}' is no package: it has no {name}.") from problem
    is_bomb = member.file_size > SMALL and member.file_size > MOST_RATIO * member.compress_size
    if member.file_size > most or is_bomb or member.compress_type not in _METHODS:
        raise DatasetFormatError(
            f"'{package}' is not opened: its {name} is too large, or packed in another way."
        )
    return member


def _content(archive: zipfile.ZipFile, package: str) -> bytes:
    member = _member(archive, MANIFEST, MOST_MANIFEST, package)
    with archive.open(member) as file:
        return file.read(MOST_MANIFEST)


def _copy_out(archive: zipfile.ZipFile, package: Path, manifest: Manifest, target: Path) -> None:
    """Put the database in place, whole; of two programs that do so at once, one wins."""
    member = _member(archive, DATABASE, MOST_DATABASE, package.name)
    if member.file_size > shutil.disk_usage(target.parent).free:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    prefix = f".{target.name}.part-"
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=prefix) as folder:
        part = Path(folder) / DATABASE
        digest, left = hashlib.sha256(), member.file_size
        with archive.open(member) as source, part.open("xb") as copy:
            while left and (block := source.read(min(left, 1 << 20))):
                left -= len(block)
                digest.update(block)
                copy.write(block)
        if left or digest.hexdigest() != manifest.digest:
            raise DatasetFormatError(
                f"'{package.name}' was changed after it was packed: its {DATABASE} is another one. "
                "Ask for another copy."
            )
        check_database(part, package.name, Path(folder))
        with _opened(part) as store:
            _check_same(store, manifest, package.name)
            with store.writing(large=True) as session:
                dataset_id = queries.only_dataset(session)
                elsewhere = queries.move_pictures(session, dataset_id, "", package.name)
                if elsewhere:
                    raise DatasetFormatError(
                        f"'{package.name}' is not opened: {elsewhere:,} of its pairs have their "
                        "pictures elsewhere."
                    )
                place = (str(package), str(package.parent))
                dataset_queries.move_dataset(session, dataset_id, *place)
        with part.open("rb") as file:
            os.fsync(file.fileno())
        try:
            os.link(part, target)
        except FileExistsError:
            return
        except OSError:  # a file system without links
            os.replace(part, target)


def _move_to(package: Path, target: Path, manifest: Manifest) -> None:
    """The folder and the name that the package has now."""
    with _opened(target) as store:
        _check_same(store, manifest, package.name)
        dataset_id = store.read(queries.only_dataset)
        dataset = store.read(dataset_queries.get_dataset, dataset_id)
        if dataset.source != str(package):
            with store.writing(large=True) as session:
                old = Path(dataset.source).name
                queries.move_pictures(session, dataset_id, old, package.name)
                place = (str(package), str(package.parent))
                dataset_queries.move_dataset(session, dataset_id, *place)


def _check_same(store: Store, manifest: Manifest, name: str) -> None:
    if manifest_in(store, name).id != manifest.id:
        raise SettingsError(
            f"Beside '{name}' are the verdicts of another package, {store.address}. Move one of "
            "them into another folder."
        )


def manifest_in(store: Store, name: str) -> Manifest:
    """The manifest in a database. Raises DatasetFormatError for one of no package."""
    content: Any = store.read(setting_queries.get_setting, SETTING)
    return Manifest.parse(content, name)


@contextmanager
def _opened(path: Path) -> Iterator[Store]:
    with translate_errors():
        store = Store(open_store(f"sqlite:///{path}"))
    try:
        yield store
    finally:
        store.close()


@contextmanager
def verdicts_read(file: Path) -> Iterator[tuple[Store, Manifest]]:
    """A copy of the verdicts of a package, or of a database that was beside one: the file itself
    stays as it is, even while somebody reviews. Raises as `open_package`."""
    source = verdicts_of(file) if file.name.endswith(PACKED) else file
    if not source.is_file():
        raise DatasetNotFound(
            f"There are no verdicts in {source}: serve the package first, or give the file that "
            "was beside it."
        )
    with tempfile.TemporaryDirectory(prefix="traced-") as folder:
        copy = Path(folder) / DATABASE
        # Without a log nobody is writing; a folder that is read-only can have no index of one.
        is_idle = not source.with_name(f"{source.name}-wal").exists()
        address = f"file:{quote(str(source))}?mode=ro{'&immutable=1' if is_idle else ''}"
        try:
            reading, writing = sqlite3.connect(address, uri=True), sqlite3.connect(copy)
            try:
                reading.backup(writing)
            finally:
                writing.close()
                reading.close()
        except sqlite3.Error as problem:
            raise DatasetFormatError(
                f"'{source.name}' cannot be read as verdicts: {problem}. Ask for another copy."
            ) from problem
        check_database(copy, source.name, Path(folder))
        with _opened(copy) as store:
            yield store, manifest_in(store, source.name)
