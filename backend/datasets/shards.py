"""Rows of datasets that contain their images: WebDataset tars, zips, saved datasets.

Each row's image is an address for `containers.locate`, so that nothing has to be unpacked.
"""

import json
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import filterfalse
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from backend.datasets.caption_texts import TextReader, unreadable_picture
from backend.datasets.cells import EmbeddedImage, TableRow, json_object, trim
from backend.datasets.columns import CAPTION_NAMES
from backend.datasets.containers import SEPARATOR, ZipMembers, tar_member, zip_member
from backend.datasets.csv_table import csv_rows
from backend.datasets.export_row import MARK
from backend.datasets.on_disk import SeenIds
from backend.datasets.read_options import CAPTIONS, PICTURES, UNREADABLE_PICTURES, is_hidden
from backend.datasets.regular_files import read_within
from backend.datasets.sidecars import owners_of
from backend.datasets.splits import SplitFolders
from backend.datasets.tables import jsonl_rows
from backend.datasets.text_files import decoded_lines, encoding_of, open_in_folders
from backend.errors import DatasetFormatError
from db.texts import compose

#: Maximum bytes of a sample's caption or metadata; larger members are not read.
_MOST_TEXT = 4_000_000
#: Maximum number of members of a tar that are taken together as one key's samples.
_MOST_MEMBERS = 1000
#: A multiple of a tar's blocks.
_READ_AT_ONCE = 1 << 20
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
        values: dict[str, Any] = json.loads(read_within(dataset, path, _MOST_TEXT).decode("utf-8"))
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


def tar_rows(path: Path, texts: TextReader, folders: Sequence[Path] = ()) -> Iterator[TableRow]:
    """One row per sample: consecutive members with the same name up to the first dot of the last
    path component, or up to the last dot where that gives a picture with a text.

    The caption is in `.txt`, or in a column of `.json`. A sample in which it is uncertain which
    text belongs to which picture gives a problem. A truncated or damaged tar gives the samples
    before the damage, then a problem; tars that were joined are read one after the other.
    `folders`: as for `text_files.open_in_folders`.
    """
    number = 0
    with closing(SeenIds()) as keys:
        try:
            for group in _groups(path, folders):
                for values in [_UNSORTED] if _is_torn(group, keys) else _samples(group, texts):
                    number += 1
                    if isinstance(values, str):
                        yield TableRow(number, None, values)
                    else:
                        yield TableRow(number, values)
        except _Damaged as problem:
            if not problem.has_members:
                raise DatasetFormatError(
                    f"'{path.name}' is not a tar archive: {problem}."
                ) from problem
            yield TableRow(number + 1, None, f"The tar ends prematurely here: {problem}.")


_UNSORTED = (
    "Other files of this sample stand elsewhere in the tar, which is not sorted: write the files "
    "of each sample one after the other (tar --sort=name)."
)


def _is_torn(group: list["_TarMember"], keys: SeenIds) -> bool:
    """Whether a picture or a text is missing, and the sample's name occurred before."""
    stems = {member.stem for member in group}
    occurred = keys.add(stems.pop() if len(stems) == 1 else group[0].key) is not None
    return occurred and not _has_picture_and_text(group)


class _Damaged(ValueError):
    """A tar that cannot be read to its end; the message says why."""

    has_members = False


def _groups(path: Path, folders: Sequence[Path]) -> Iterator[list["_TarMember"]]:
    """The members of a tar, in groups that follow each other and may be samples of one key. Raises
    _Damaged."""
    group: list[_TarMember] = []
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
                        member = _tar_member(path, archive, entry)
                        has_members = True
                        if group and not member.continues(group):
                            yield group
                            group = []
                        if len(group) <= _MOST_MEMBERS:
                            group.append(member)
                    start = _next_archive(raw, archive.offset)
                if group:
                    yield group
                    group = []
    except (tarfile.TarError, EOFError, OSError, ValueError, RecursionError) as problem:
        endless = isinstance(problem, RecursionError)
        damage = _Damaged("it consists of headers without end" if endless else str(problem))
        damage.has_members = has_members
        raise damage from problem


@dataclass(frozen=True)
class _TarMember:
    """A file in a tar. `key`: its name up to the first dot, `stem`: up to the last one, `ending`:
    the rest after the key, all in normal form C; `text`: the content of a text, else None."""

    name: str
    key: str
    stem: str
    ending: str
    address: EmbeddedImage
    text: bytes | None

    @property
    def suffix(self) -> str:
        """For `k.image.jpg` and `k.caption.txt` the last extension counts."""
        return PurePosixPath(self.ending).suffix or self.ending

    @property
    def is_picture(self) -> bool:
        return self.suffix in PICTURES

    def continues(self, group: "list[_TarMember]") -> bool:
        """Whether this member may belong to the sample of the members before it. `k.01.jpg` and
        `k.01.txt` are a sample of their own; what follows under another stem begins the next."""
        first = group[0]
        return self.key == first.key and (
            self.stem == group[-1].stem
            or first.stem == first.key
            or len({member.stem for member in group}) > 1
            or not _has_picture_and_text(group)
        )


def _has_picture_and_text(group: list[_TarMember]) -> bool:
    is_there = any(member.is_picture for member in group)
    return is_there and any(member.text is not None for member in group)


def _parts(member: str) -> tuple[str, str, str]:
    """Key, stem and ending of a member's name, as in `_TarMember`."""
    member = member.replace("\\", "/")
    name = PurePosixPath(member)
    before, dot, rest = name.name.partition(".")
    key, ending = str(name.with_name(before)) if before else member, f"{dot}{rest}".lower()
    return key, str(name.with_suffix("")) if name.suffix and ending else key, ending


def _tar_member(path: Path, archive: tarfile.TarFile, entry: tarfile.TarInfo) -> _TarMember:
    key, stem, ending = _parts(compose(entry.name))
    inner = tar_member(entry.offset_data, entry.size, entry.name)
    text = None
    last = PurePosixPath(ending).suffix or ending
    if last in (*CAPTIONS, ".json") and entry.size <= _MOST_TEXT:
        file = archive.extractfile(entry)
        text = file.read() if file is not None else b""
    address = EmbeddedImage(f"{path.name}{SEPARATOR}{inner}")
    return _TarMember(entry.name, key, stem, ending, address, text)


def _samples(group: list[_TarMember], texts: TextReader) -> Iterator[dict[str, Any] | str]:
    """The columns of each sample among consecutive members of one key, or the problem with it."""
    key = trim(group[0].key, 80)
    if len(group) > _MOST_MEMBERS:
        yield (
            f"More than {_MOST_MEMBERS:,} files are named '{key}' up to the first dot, and which "
            "text belongs to which picture is uncertain. Rename them."
        )
        return
    endings = [member.ending for member in group]
    period = next((n for n, ending in enumerate(endings) if ending in endings[:n]), len(endings))
    if endings != endings[:period] * (len(endings) // period):
        names = ", ".join(dict.fromkeys(trim(member.name, 80) for member in group[:6]))
        yield (
            f"Files of the sample '{key}' occur twice ({names}), and which text belongs to which "
            "picture is uncertain. Give every sample a name of its own."
        )
        return
    for start in range(0, len(group), period):
        sample = group[start : start + period]
        try:
            yield _columns(sample, texts)
        except DatasetFormatError as problem:
            yield str(problem)
        except (ValueError, RecursionError) as problem:
            yield f"The text of the sample '{key}' is broken: {problem}."


def _columns(sample: list[_TarMember], texts: TextReader) -> dict[str, Any]:
    """The columns of one sample. Raises DatasetFormatError if its picture or its text is uncertain,
    and ValueError if a text is broken."""

    def name(member: _TarMember) -> str:
        return f"{trim(member.key, 80)}{member.ending}"

    picture = _only([m for m in sample if m.is_picture], "pictures", texts.note)
    if picture is None and (other := [m for m in sample if m.suffix in UNREADABLE_PICTURES]):
        raise DatasetFormatError(unreadable_picture(other[0].name))
    captions = [m for m in sample if m.text is not None and m.suffix in CAPTIONS]
    if len({member.text for member in captions}) == 1:
        captions = captions[:1]
    caption = _only(captions, "texts", texts.note)
    metadata = _only([m for m in sample if m.suffix == ".json" and m.text is not None],
                     "metadata files", texts.note)  # fmt: skip
    text = texts.decode(metadata.text or b"", name(metadata)) if metadata else "{}"
    values = json_object(text)
    if caption is not None:
        values = {**values, "caption": texts.captions(caption.text or b"", name(caption))}
    elif not any(name.lower() in CAPTION_NAMES for name in values):
        values["caption"] = ""  # this sample's problem, not the shard's
    if "id" not in values:
        key, stem, _ = _parts(sample[0].name)
        values["__key__"] = stem if len({member.stem for member in sample}) == 1 else key
    return {**values, "image": picture.address if picture else ""}


def _only(members: list[_TarMember], what: str, note: Callable[[str], None]) -> _TarMember | None:
    """The one member, or the one with a plain ending (`k.jpg` beside `k.mask.jpg`); None if there
    is none. Raises DatasetFormatError if several remain."""
    plain = [member for member in members if member.stem == member.key] or members
    if len(plain) > 1:
        names = ", ".join(f"'{trim(member.name, 80)}'" for member in plain[:4])
        raise DatasetFormatError(
            f"This sample has several {what} ({names}), and which of them is meant is uncertain. "
            "Keep one, or give every pair a name of its own."
        )
    for member in members:
        if member is not plain[0]:
            note(f"Files '*{trim(member.ending, 80)}' are left out: their samples have a "
                 f"'*{plain[0].ending}'.")  # fmt: skip
    return plain[0] if plain else None


class _Reads:
    """A tar's file with limited read sizes: the library reads long names as a whole, and a damaged
    header may claim gigabytes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int) -> bytes:
        if size > _MOST_TEXT + tarfile.BLOCKSIZE:
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


def zip_rows(
    path: Path,
    encoding: str | None = None,
    delimiter: str | None = None,
    note: Callable[[str], None] = lambda _: None,
    folders: Sequence[Path] = (),
    texts: TextReader | None = None,
) -> Iterator[TableRow]:
    """Rows of the metadata files in a zip, with images in the same zip; without such a file, its
    images with the text beside each. `note` is called with notes on their encoding; `folders`: as
    for `text_files.open_in_folders`; `texts`: reads those beside images."""
    with open_in_folders(path, folders) as file:
        try:
            archive = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as problem:
            raise DatasetFormatError(f"'{path.name}' is not a zip archive: {problem}.") from problem
        with archive:
            yield from _zip_tables(archive, path, encoding, delimiter, note, texts)


def _zip_tables(
    archive: zipfile.ZipFile,
    path: Path,
    encoding: str | None,
    delimiter: str | None,
    note: Callable[[str], None],
    texts: TextReader | None,
) -> Iterator[TableRow]:
    members = ZipMembers(archive)
    by_folder: dict[PurePosixPath, list[str]] = {}
    for name in sorted(name for name in members.names if PurePosixPath(name).name in _METADATA):
        if not is_hidden(name):
            by_folder.setdefault(PurePosixPath(name).parent, []).append(name)
    beside = {} if by_folder or texts is None else _texts_beside(members)
    if beside and texts is not None:
        yield from _zip_sidecars(archive, members, path, texts, beside)
        return
    if not by_folder:
        raise DatasetFormatError(
            f"'{path.name}' holds no metadata.jsonl or metadata.csv, and no text beside a picture. "
            "Unpack it and give its folder, or a table beside it whose image paths begin with "
            f"'{path.name}{SEPARATOR}'."
        )
    folders = SplitFolders(by_folder)
    for folder, tables in by_folder.items():
        table, *others = sorted(tables, key=lambda name: _METADATA.index(PurePosixPath(name).name))
        for other in others:
            note(f"'{trim(other)}' is not read, because '{trim(table)}' is in the same folder.")
        if table in members.repeated:
            yield TableRow(None, None, f"'{trim(table)}' occurs several times in the zip.")
            continue
        try:
            split = folders.of(folder)
            within = f"{path.name}{SEPARATOR}{'' if str(folder) == '.' else folder}"
            member = members.stored_name(table)
            for row in _zip_table(archive, path, member, encoding, delimiter, note):
                yield replace(row, split=split, within=within)
        except DatasetFormatError as problem:
            if len(by_folder) == 1:
                raise
            yield TableRow(None, None, str(problem))


def _texts_beside(members: ZipMembers) -> dict[PurePosixPath, dict[str, list[str]]]:
    """The pictures that each text may belong to, by folder; empty if there are none."""
    by_folder: dict[PurePosixPath, set[str]] = {}
    for name in filterfalse(is_hidden, sorted(members.names)):
        by_folder.setdefault(PurePosixPath(name).parent, set()).add(PurePosixPath(name).name)
    owners = {folder: owners_of(names, CAPTIONS) for folder, names in by_folder.items()}
    return {folder: of_folder for folder, of_folder in owners.items() if of_folder}


def _zip_sidecars(
    archive: zipfile.ZipFile,
    members: ZipMembers,
    path: Path,
    texts: TextReader,
    beside: dict[PurePosixPath, dict[str, list[str]]],
) -> Iterator[TableRow]:
    """One row per text that is beside one picture."""
    number, splits = 0, SplitFolders(beside)
    for folder, owners in beside.items():
        within = f"{path.name}{SEPARATOR}{'' if str(folder) == '.' else folder}"
        for text, pictures in owners.items():
            number += 1
            name = str(folder / text)
            if len(pictures) > 1 or name in members.repeated:
                yield TableRow(number, None, f"'{trim(name)}' belongs to no picture alone.")
                continue
            try:
                about = zip_member(archive, members.stored_name(name))
                if about.file_size > _MOST_TEXT:
                    raise ValueError("it is too large for a caption")
                caption = texts.captions(archive.read(about), name)
            except (ValueError, KeyError, NotImplementedError, RuntimeError, OSError,
                    DatasetFormatError, zipfile.BadZipFile, zlib.error) as problem:  # fmt: skip
                yield TableRow(number, None, f"'{trim(name)}' cannot be read: {problem}.")
                continue
            values = {"file_name": pictures[0], "caption": caption}
            yield TableRow(number, values, split=splits.of(folder), within=within)


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
            if table.endswith(".jsonl"):
                yield from jsonl_rows(lines)
            else:
                yield from csv_rows(lines, delimiter, trim(table))
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError,
            RuntimeError, ValueError) as problem:  # fmt: skip
        yield TableRow(
            None, None, f"'{trim(table)}' in the zip cannot be unpacked to its end: {problem}."
        )
