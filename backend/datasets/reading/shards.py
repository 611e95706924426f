"""Rows of datasets that contain their images: WebDataset tars, zips, saved datasets.

Each row's image is an address for `containers.locate`, so that nothing has to be unpacked.
"""

import json
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import filterfalse
from pathlib import Path, PurePosixPath
from typing import Any

from backend.datasets.cells import TableRow, trim
from backend.datasets.export_row import MARK
from backend.datasets.read_options import TEXT_TABLES, ReadOptions, is_hidden
from backend.datasets.reading.caption_texts import TextReader
from backend.datasets.reading.on_disk import SeenIds
from backend.datasets.reading.sample_fields import ALL_DETECTED, SampleChoice
from backend.datasets.reading.sidecars import (
    FolderTexts,
    SidecarChoice,
    files_beside,
    sidecar_choice,
    sidecar_row,
)
from backend.datasets.reading.tables import text_rows
from backend.datasets.reading.tar_members import DamagedTar, members_and_ends, members_of
from backend.datasets.reading.tar_samples import (
    MOST_MEMBERS,
    MOST_TEXT,
    CaptionEndings,
    TarMember,
    has_picture_and_text,
    samples_of,
)
from backend.datasets.reading.text_tars import TextTars
from backend.datasets.safe_files.containers import SEPARATOR, ZipMembers, zip_member
from backend.datasets.safe_files.regular_files import read_within
from backend.datasets.safe_files.text_files import decoded_lines, encoding_of, open_in_folders
from backend.datasets.splits import SplitFolders
from backend.errors import DatasetFormatError

_METADATA = ("metadata.jsonl", "metadata.csv", "data.jsonl", "data.csv")


def shards_of(folder: Path) -> list[Path]:
    """The tar shards of a folder, or of its subfolders (train, test, …), in order."""
    for pattern in ("*.tar", "*/*.tar"):
        tars = (path for path in folder.glob(pattern) if not is_hidden(path.name))
        if shards := sorted(path for path in tars if not (path.parent / MARK).is_file()
                            or path.parent == folder):  # fmt: skip
            return shards
    return []


def saved_tables(folder: Path) -> dict[Path, str]:
    """The Arrow files of a dataset written by `save_to_disk`, and the split of each, "" if it has
    none; empty if it is no such dataset.

    Raises DatasetFormatError if the files that list them are broken or list other folders' files.
    """
    if (folder / "dataset_dict.json").is_file():
        about = _about(folder, folder / "dataset_dict.json", "splits")
        parts = {folder / _inside(folder, split): split for split in about["splits"]}
        return {file: split for part, split in parts.items() for file in _saved_files(folder, part)}
    return _saved_files(folder, folder)


def _saved_files(dataset: Path, folder: Path) -> dict[Path, str]:
    """The files of a saved dataset without splits of its own, and the split that it was of."""
    if not (folder / "state.json").is_file():
        return {}
    about = _about(dataset, folder / "state.json", "_data_files")
    files = about["_data_files"]
    names = [entry.get("filename") if isinstance(entry, dict) else None for entry in files]
    split = about.get("_split")
    split = split if isinstance(split, str) else ""
    return {folder / _inside(folder, name): split for name in names}


def _about(dataset: Path, path: Path, key: str) -> dict[str, Any]:
    """The JSON object in a file, which has a list of that key. Raises DatasetFormatError."""
    name = f"{trim(path.parent.name)}/{path.name}"
    try:
        values: dict[str, Any] = json.loads(read_within(dataset, path, MOST_TEXT).decode("utf-8"))
        if not isinstance(values[key], list):
            raise TypeError("no list")
    except (ValueError, KeyError, TypeError, RecursionError, OSError) as problem:
        raise DatasetFormatError(f"'{name}' has no list of '{key}': {problem}.") from problem
    return values


def _inside(folder: Path, name: Any) -> str:
    """The name, which must be of a direct child of the folder. Raises DatasetFormatError."""
    if not isinstance(name, str) or not name or name in (".", "..") or set("/\\\0") & set(name):
        raise DatasetFormatError(
            f"'{trim(folder.name)}' is not a saved dataset: it lists '{trim(str(name))}', which "
            "is not the name of a file or folder in it."
        )
    return name


def tar_rows(
    path: Path,
    texts: TextReader,
    folders: Sequence[Path] = (),
    choice: SampleChoice = ALL_DETECTED,
    text_tars: TextTars | None = None,
    endings: CaptionEndings | None = None,
) -> Iterator[TableRow]:
    """One row per sample: consecutive members with the same name up to the first dot of the last
    path component, or up to the last dot where that gives a picture with a text.

    The caption is in `.txt`, in a column of `.json`, or where `choice` says. A sample in which it
    is uncertain which text belongs to which picture gives a problem. A truncated or damaged tar
    gives the samples before the damage, then a problem; tars that were joined are read one after
    the other.
    `folders`: as for `text_files.open_in_folders`; `text_tars`: the texts of its
    pictures that lie in other tars; `endings`: of the captions in the tars before it.
    """
    endings = endings or CaptionEndings()
    endings.begin_tar(partial(members_of, path, folders, ()))
    number = 0
    excluded: set[str] = set()
    with closing(SeenIds()) as keys:
        try:
            for group in _groups(path, folders, choice, text_tars):
                if group[0].key in choice.excluded:
                    number += 1
                    excluded.add(group[0].key)
                    continue
                if text_tars is not None:
                    group = text_tars.settle(group)
                is_torn = _is_torn(group, keys)
                for values in [_UNSORTED] if is_torn else samples_of(group, texts, choice, endings):
                    number += 1
                    if isinstance(values, str):
                        yield TableRow(number, None, values)
                    else:
                        yield TableRow(number, values)
        except DamagedTar as problem:
            if not problem.has_members:
                raise DatasetFormatError(
                    f"'{path.name}' is not a tar archive: {problem}."
                ) from problem
            yield TableRow(number + 1, None, f"The tar ends prematurely here: {problem}.")
    if unknown := sorted(choice.excluded - excluded):
        names = ", ".join(f"'{trim(key, 80)}'" for key in unknown[:5])
        more = f" and {len(unknown) - 5:,} more" if len(unknown) > 5 else ""
        texts.note(f"'{trim(path.name)}' lacks samples that are to be left out: {names}{more}.")


_UNSORTED = (
    "Other files of this sample stand elsewhere in the tar, which is not sorted: write the files "
    "of each sample one after the other (tar --sort=name)."
)


def _is_torn(group: list["TarMember"], keys: SeenIds) -> bool:
    """Whether a picture or a text is missing, and the sample's name occurred before."""
    stems = {member.stem for member in group}
    occurred = keys.add(stems.pop() if len(stems) == 1 else group[0].key) is not None
    return occurred and not has_picture_and_text(group)


def _groups(
    path: Path, folders: Sequence[Path], choice: SampleChoice, text_tars: TextTars | None
) -> Iterator[list["TarMember"]]:
    """The members of a tar, in groups that follow each other and may be samples of one key, each
    picture with its texts of other tars behind it. Raises DamagedTar."""
    group: list[TarMember] = []
    for own in members_and_ends(path, folders, choice.text_endings):
        others = text_tars.texts_of(path, own) if text_tars and own and own.is_picture else ()
        for member in (own, *others):
            if group and (member is None or not member.continues(group)):
                yield group
                group = []
            if member is not None and len(group) <= MOST_MEMBERS:
                group.append(member)


def zip_rows(
    path: Path,
    texts: TextReader,
    options: ReadOptions,
    encoding: str | None = None,
    captions: str = "",
    folders: Sequence[Path] = (),
) -> Iterator[TableRow]:
    """Rows of the metadata files in a zip, with images in the same zip; without such a file, its
    images with the text beside each. `texts`: reads these, and is told of what is read; `encoding`:
    of the metadata files; `captions`: the column of captions that the user named; `folders`: as for
    `text_files.open_in_folders`."""
    with open_in_folders(path, folders) as file:
        try:
            archive = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as problem:
            raise DatasetFormatError(f"'{path.name}' is not a zip archive: {problem}.") from problem
        with archive:
            yield from _zip_tables(archive, path, texts, options, encoding, captions)


def _zip_tables(
    archive: zipfile.ZipFile,
    path: Path,
    texts: TextReader,
    options: ReadOptions,
    encoding: str | None,
    captions: str,
) -> Iterator[TableRow]:
    members = ZipMembers(archive)
    by_folder: dict[PurePosixPath, list[str]] = {}
    visible = sorted(name for name in members.names if not is_hidden(name))
    for name in visible:
        if PurePosixPath(name).name in _METADATA:
            by_folder.setdefault(PurePosixPath(name).parent, []).append(name)
    for tables in by_folder.values():
        tables.sort(key=lambda name: _METADATA.index(PurePosixPath(name).name))
    if beside := {} if by_folder else _texts_by_folder(archive, members):
        choice = sidecar_choice(beside.values(), options, captions, texts)
        if choice.ending:
            beside = _texts_by_folder(archive, members, choice.ending)
        yield from _zip_sidecars(path, texts, choice, beside)
        return
    every = [name for name in visible if name.lower().endswith(TEXT_TABLES)]
    if not by_folder and len(every) == 1:
        by_folder[PurePosixPath(every[0]).parent] = every
    if not by_folder:
        raise DatasetFormatError(
            f"'{path.name}' holds no metadata.jsonl or metadata.csv, no text beside a picture, and "
            f"{len(every) or 'no'} other tables (CSV, TSV, JSON lines), of which a zip may have "
            "one. Unpack it and give its folder, or a table beside it whose image paths begin with "
            f"'{path.name}{SEPARATOR}'."
        )
    folders = SplitFolders(by_folder)
    for folder, tables in by_folder.items():
        table, *others = tables
        for other in others:
            texts.note(
                f"'{trim(other)}' is not read, because '{trim(table)}' is in the same folder."
            )
        if table in members.repeated:
            yield TableRow(None, None, f"'{trim(table)}' occurs several times in the zip.")
            continue
        try:
            split = folders.of(folder)
            within = f"{path.name}{SEPARATOR}{'' if str(folder) == '.' else folder}"
            member = members.stored_name(table)
            for row in _zip_table(
                archive, path, member, encoding, options.delimiter, texts.note
            ):  # fmt: skip
                yield replace(row, split=split, within=within)
        except DatasetFormatError as problem:
            if len(by_folder) == 1:
                raise
            yield TableRow(None, None, str(problem))


def _texts_by_folder(
    archive: zipfile.ZipFile, members: ZipMembers, ending: str = ""
) -> dict[PurePosixPath, FolderTexts]:
    """By folder, what lies beside each picture (`sidecars.files_beside`); the folders without any
    text or JSON are left out."""
    by_folder: dict[PurePosixPath, set[str]] = {}
    for name in filterfalse(is_hidden, sorted(members.names)):
        by_folder.setdefault(PurePosixPath(name).parent, set()).add(PurePosixPath(name).name)
    beside = {folder: files_beside(names, ending) for folder, names in by_folder.items()}
    return {
        folder: FolderTexts(files, partial(_read_member, archive, members, folder))
        for folder, files in beside.items()
        if any(each.texts or each.metadata or each.named for each in files.values())
    }


def _read_member(
    archive: zipfile.ZipFile, members: ZipMembers, folder: PurePosixPath, file: str
) -> bytes:
    """A small file. Raises ValueError, and OSError."""
    name = str(folder / file)
    if name in members.repeated:
        raise ValueError("it occurs several times in the zip")
    about = zip_member(archive, members.stored_name(name))
    if about.file_size > MOST_TEXT:
        raise ValueError("it is too large for a caption")
    try:
        return archive.read(about)
    except (KeyError, NotImplementedError, RuntimeError, zipfile.BadZipFile,
            zlib.error) as problem:  # fmt: skip
        raise ValueError(str(problem)) from problem


def _zip_sidecars(
    path: Path,
    texts: TextReader,
    choice: SidecarChoice,
    beside: dict[PurePosixPath, FolderTexts],
) -> Iterator[TableRow]:
    """One row per picture with a text or JSON beside it."""
    number, splits = 0, SplitFolders(beside)
    for folder, (files, read_file) in beside.items():
        within = f"{path.name}{SEPARATOR}{'' if str(folder) == '.' else folder}"
        for picture, own_files in files.items():
            if not any(own_files):
                continue
            number += 1
            if own_files.problem:
                yield TableRow(number, None, own_files.problem)
                continue
            row = sidecar_row(number, picture, own_files, read_file, texts, choice)
            yield replace(row, split=splits.of(folder), within=within)


def _zip_table(
    archive: zipfile.ZipFile,
    path: Path,
    table: str,
    encoding: str | None,
    delimiter: str | None,
    note: Callable[[str], None],
) -> Iterator[TableRow]:
    try:
        about = zip_member(archive, table)
    except (ValueError, NotImplementedError) as problem:
        raise DatasetFormatError(
            f"'{trim(table)}' in '{path.name}' cannot be read: {problem}. Unpack the zip and give "
            "its folder."
        ) from problem
    try:
        with archive.open(about) as raw:
            table_encoding = encoding_of(raw, trim(table), encoding)
            if table_encoding.note:
                note(table_encoding.note)
            lines = decoded_lines(raw, table_encoding.name)
            ending = PurePosixPath(table).suffix.lower()
            yield from text_rows(lines, ending, delimiter, trim(table))
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError,
            RuntimeError, ValueError) as problem:  # fmt: skip
        yield TableRow(
            None, None, f"'{trim(table)}' in the zip cannot be unpacked to its end: {problem}."
        )
