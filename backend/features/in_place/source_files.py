"""What has to be written where: each file of a source, with the bytes that change.

A table is read line by line, so that a large one needs no memory, a JSON document as a whole; a row
is only changed if it is the one that was imported, by its picture or its id, and has the captions
that were imported. If one of its rows is not, the whole file is left alone.
"""

import hashlib
import io
import json
import math
import os
import stat
from bisect import bisect_right
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import accumulate, pairwise, product
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from backend.datasets.read_options import (
    CAPTIONS,
    JSON_LINES,
    TEXT_TABLES,
    is_hidden,
    where_to_state,
)
from backend.datasets.reading.caption_fields import MARKS
from backend.datasets.reading.captions_txt import caption_place
from backend.datasets.reading.csv_table import csv_rows, has_return, split_at_returns
from backend.datasets.reading.json_tables import is_document
from backend.datasets.reading.pair_checks import derived_id
from backend.datasets.reading.sample_fields import NAMED_LIKE_CAPTIONS
from backend.datasets.reading.sidecars import MOST_TEXT, Beside, SidecarChoice, files_beside
from backend.datasets.safe_files.regular_files import open_regular, read_regular
from backend.datasets.safe_files.text_files import TextLine, decoded_lines, encoding_of
from backend.errors import DatasetFormatError
from backend.features.in_place.captions_in_text import (
    CaptionChange,
    NotThere,
    OtherCaption,
    Place,
    change_text,
    csv_places,
    delimiter_of,
    json_places,
    listed_places,
    text_readings,
)
from backend.features.in_place.documents import document_rows, is_lines
from backend.features.in_place.report import LeftAlone
from db.texts import compose

_MARKS = {
    BOM_UTF8: "utf-8", BOM_UTF32_LE: "utf-32-le", BOM_UTF32_BE: "utf-32-be",
    BOM_UTF16_LE: "utf-16-le", BOM_UTF16_BE: "utf-16-be",
}  # fmt: skip


@dataclass(frozen=True)
class CaptionGroup:
    """The captions of one row, or of one picture with a file beside it, in order. `picture`: its
    place below the dataset's root; `ids`: of the pairs."""

    file: str
    row: int | None
    picture: str
    ids: tuple[str, ...]
    changes: tuple[CaptionChange, ...]

    def identity(self) -> set[str]:
        """What the row must name: the ids, or the picture if the source has none."""
        own_ids = {
            id
            for id, change in zip(self.ids, self.changes, strict=True)
            if id != derived_id(self.picture, change.before)
        }
        return own_ids | {id.rpartition("#")[0] or id for id in own_ids} or {_stem(self.picture)}


@dataclass(frozen=True)
class Splice:
    """From byte `start` on, `before` becomes `after`; `line`: the first, from 1."""

    start: int
    before: bytes
    after: bytes
    line: int = 1


@dataclass(frozen=True)
class FileChange:
    """`name`: relative to the source's folder; `digest`: SHA-256 of the file now, "" if there is
    none yet; `state`: what `state_of` said before it was read; `encoding`: of its text."""

    path: Path
    name: str
    digest: str = ""
    state: tuple[int, ...] = ()
    encoding: str = "utf-8"
    #: All of it when it is changed; None: follows from what is there.
    content: bytes | None = None
    splices: tuple[Splice, ...] = ()
    captions: int = 0
    already_there: int = 0


def state_of(path: Path) -> tuple[int, ...]:
    """What changes when somebody writes the file; () if there is none."""
    try:
        about = os.stat(path)
    except FileNotFoundError:
        return ()
    return about.st_mtime_ns, about.st_size, about.st_ino


def _is_written(path: Path, since: float) -> bool:
    """Whether it is a file that was written, or put in the place of another, since then, and that
    is read at once."""
    try:
        about = os.stat(path)
    except OSError:
        return False
    is_small = stat.S_ISREG(about.st_mode) and about.st_size <= MOST_TEXT
    return is_small and max(about.st_mtime, about.st_ctime) > since


@dataclass
class SourceFiles:
    """The files of the `source` of a dataset, whose pictures are below `root`. `column`,
    `encoding`, `delimiter`: as stated at the import; "": detected."""

    source: Path
    root: Path
    column: str = ""
    encoding: str | None = None
    delimiter: str | None = None
    _beside: dict[str, dict[str, Beside]] = field(default_factory=dict)
    _folders: dict[Path, Path] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """`folder`: resolved, with all of its files; `has_texts`: beside the pictures."""
        self.folder = (self.source if self.source.is_dir() else self.source.parent).resolve()
        self.has_texts = self.source.is_dir()

    def is_beside(self, file: str) -> bool:
        """Whether the captions of this file, as pairs name it, stand beside their pictures."""
        return self.has_texts and file == self.source.name

    def plan(self, groups: Iterable[CaptionGroup]) -> Iterator[FileChange | LeftAlone]:
        """What has to change in each file."""
        tables: dict[str, dict[int | None, CaptionGroup]] = {}
        for group in groups:
            if self.is_beside(group.file):
                beside = self._files_beside(group.picture)
                for part in _by_text(group, beside):
                    plan = partial(self._beside_picture, part, beside)
                    yield self._try_to_plan(group.picture, _count([part]), plan)
            else:
                tables.setdefault(group.file, {})[group.row] = group
        for name, rows in tables.items():
            plan = partial(self._table, name, rows)
            yield self._try_to_plan(name, _count(rows.values()), plan)

    def says_other(self, group: CaptionGroup, since: float) -> str:
        """The name of the file that has another caption where the one of the group was, which is
        neither as it was nor as it is to be; "" if none has, or if it was not written `since`
        (seconds since 1970), is too large to be read while a page waits, or cannot be read."""
        is_beside = self.is_beside(group.file)
        places = self._texts_of(group) if is_beside else self._places_of(group.file)
        path = next((path for path in places if _is_written(path, since)), None)
        if path is None:
            return ""
        try:
            if is_beside:
                files = [path for path in self._texts_of(group) if path.is_file()]
                is_other = all(_is_other(partial(self._small_file, file, group)) for file in files)
            else:
                is_other = self._has_other_row(self._place_of(path), group)
        except (DatasetFormatError, OSError, ValueError):
            return ""  # an import would say so, and take nothing
        return path.name if is_other else ""

    def _texts_of(self, group: CaptionGroup) -> Iterator[Path]:
        """Where the caption of a picture may stand beside it."""
        path, kind = self.root / group.picture, group.changes[0].kind
        if kind:
            for mark, ending in product(MARKS, CAPTIONS):
                yield path.with_name(f"{path.stem}{mark}{kind}{ending}")
        stated = self._ending()
        for ending in (stated,) if stated else (*CAPTIONS, *NAMED_LIKE_CAPTIONS, ".json"):
            yield from (path.with_suffix(ending), path.with_name(path.name + ending))

    def _has_other_row(self, path: Path, group: CaptionGroup) -> bool:
        """Whether the rows of the group have another caption, all of them. Raises NotThere."""
        _check_ending(path.name)
        by_key = _rows_by_key(path, state_of(path), self.encoding, self.delimiter)
        rows = {row.number: row for key in group.identity() for row in by_key.get(key, ())}

        def change(row: _Record) -> None:
            *_, text, places = row.parts()
            change_text(text, group.changes, [places], self._field())

        return bool(rows) and all(_is_other(partial(change, row)) for row in rows.values())

    def _places_of(self, table: str) -> tuple[Path, ...]:
        """Where a table, as pairs name it, may be."""
        return self.source, self.source / table, self.root / table

    def _try_to_plan(
        self, name: str, captions: int, plan: Callable[[], FileChange]
    ) -> FileChange | LeftAlone:
        try:
            return plan()
        except (NotThere, DatasetFormatError, UnicodeError) as problem:
            reason = str(problem)
            if isinstance(problem, UnicodeEncodeError):
                letter = problem.object[problem.start]
                reason = f"'{letter}' cannot be written in its encoding, {problem.encoding}"
            elif isinstance(problem, UnicodeDecodeError):
                advice = where_to_state("encoding")["terminal"]
                reason = f"it is not text in {problem.encoding}. {advice}"
        except (OSError, ValueError) as problem:
            reason = getattr(problem, "strerror", None) or str(problem)
        return LeftAlone(name, reason.rstrip("."), captions)

    def _files_beside(self, picture: str) -> Beside | None:
        """None for a picture that is gone."""
        folder, _, name = picture.rpartition("/")
        if folder not in self._beside:
            place = self.root / folder
            names = os.listdir(place) if place.is_dir() else []
            names = [name for name in names if not is_hidden(name)]
            self._beside[folder] = files_beside(names, self._ending())
        return self._beside[folder].get(name)

    def _beside_picture(self, group: CaptionGroup, beside: Beside | None) -> FileChange:
        if beside is None:
            raise NotThere("there is no such picture any more")
        picture = self.root / group.picture
        texts, metadata, problem, named = beside
        if problem:
            raise NotThere(problem)
        if own_text := named.get(group.changes[0].kind):
            texts, metadata = [own_text], []
        if not texts and group.changes[0].before == "" and not metadata:
            path = self._place_of(picture.with_suffix(".txt"))
            content = group.changes[0].after.encode()
            splices = (Splice(0, b"", content),)
            return FileChange(path, self._name(path), content=content, splices=splices, captions=1)
        reason = NotThere("no text with its caption is beside it")
        for name in (*texts, *metadata):
            try:
                return self._small_file(picture.with_name(name), group)
            except NotThere as problem:
                reason = NotThere(f"'{name}': {problem}")
        raise reason

    def _small_file(self, path: Path, group: CaptionGroup) -> FileChange:
        path = self._place_of(path)
        state = state_of(path)
        content = read_regular(path, MOST_TEXT, is_resolved=True)
        mark, encoding = _encoding(io.BytesIO(content), path.name, self.encoding, is_guessed=False)
        text = _decode(content[len(mark) :], encoding)
        if mark + _encode(text, encoding) != content:
            raise NotThere(_NOT_EXACT)
        is_json = path.suffix.lower() == ".json"
        column = "" if self._ending() else self._field()
        readings = [json_places(text)] if is_json else text_readings(text)
        new_text, already_there = change_text(text, group.changes, readings, column)
        splice = Splice(len(mark), content[len(mark) :], _encode(new_text, encoding))
        return FileChange(
            path, self._name(path), hashlib.sha256(content).hexdigest(), state, encoding,
            mark + splice.after, *_counts([splice], [group], already_there),
        )  # fmt: skip

    def _table(self, name: str, rows: Mapping[int | None, CaptionGroup]) -> FileChange:
        _check_ending(name)
        path = next((place for place in self._places_of(name) if place.is_file()), None)
        if path is None:
            raise NotThere("there is no such file any more")
        path = self._place_of(path)
        state = state_of(path)
        with open_regular(path, math.inf, is_resolved=True) as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
            file.seek(0)
            lines, records = _records_in(file, path, self.encoding, self.delimiter)
            search = _RowSearch(rows.values(), lines.encoding, self._field())
            for record in records:
                search.add(record)
        splices, already_there = search.result()
        if lines.digest() != digest:
            raise NotThere(_NOT_EXACT)
        if lines.document:
            splices = _in_whole_lines(lines, splices)
        counts = changes, *_ = _counts(splices, rows.values(), already_there)
        ends = sorted((splice.start, splice.start + len(splice.before)) for splice in changes)
        if any(end > start for (_, end), (start, _) in pairwise(ends)):
            raise NotThere("several of its rows stand in the same place")
        return FileChange(path, self._name(path), digest, state, lines.encoding, None, *counts)

    def _ending(self) -> str:
        """The stated ending of texts beside pictures; "" if none was."""
        return SidecarChoice(self.column).ending if self.has_texts else ""

    def _field(self) -> str:
        """The stated field of captions, without the column that holds it."""
        return self.column.rstrip("]").rpartition("[")[2]

    def _name(self, path: Path) -> str:
        """The name relative to the source's folder."""
        return str(path)[len(str(self.folder)) :].lstrip(os.sep).replace(os.sep, "/")

    def _place_of(self, path: Path) -> Path:
        """Where a file of the source is. Raises NotThere if that is elsewhere."""
        if path.parent not in self._folders:
            self._folders[path.parent] = path.parent.resolve()
        path = self._folders[path.parent] / path.name
        path = path.resolve() if path.is_symlink() else path
        if not path.is_relative_to(self.folder):
            raise NotThere("it is a link that leads out of the dataset's folder")
        return path


def _encoding(file: Any, name: str, stated: str | None, is_guessed: bool) -> tuple[bytes, str]:
    """The byte order mark, and the encoding of what follows it."""
    encoding = encoding_of(file, name, stated, guess=is_guessed).name
    head = file.read(4)
    file.seek(0)
    mark = next((mark for mark in _MARKS if head.startswith(mark)), b"")
    if encoding in ("utf-8-sig", "utf-16", "utf-32"):
        return mark, _MARKS[mark] if mark else "utf-8"
    return b"", encoding


def _check_ending(name: str) -> None:
    """Raise NotThere for a table that is no text."""
    if PurePosixPath(name).suffix.lower() not in (*TEXT_TABLES, ".json", *_LISTS):
        raise NotThere(_OTHER_FORMAT)


def _is_other(change: Callable[[], object]) -> bool:
    """Whether it finds another caption. Raises as it does where it finds none."""
    try:
        change()
    except OtherCaption:
        return True
    return False


def _by_text(group: CaptionGroup, beside: Beside | None) -> Iterator[CaptionGroup]:
    """The captions of each text beside a picture that changes: kinds with texts of their own
    apart."""
    named = set(beside.named) if beside else set()
    for kinds in ([], *([kind] for kind in sorted(named))):
        changes = tuple(
            change
            for change in group.changes
            if change.kind in kinds or not (kinds or change.kind in named)
        )
        if any(change.before != change.after for change in changes):
            yield replace(group, changes=changes)


#: Endings of texts that list pictures with their captions.
_LISTS = (".txt", ".token")
_OTHER_FORMAT = (
    "captions are written into CSV, TSV, JSON, lists of pictures with captions, and texts beside "
    "pictures only. Export the dataset instead"
)
_NOT_EXACT = "it cannot be written again byte for byte in its encoding"


def _counts(
    splices: Sequence[Splice], groups: Iterable[CaptionGroup], already_there: int
) -> tuple[tuple[Splice, ...], int, int]:
    """What changes, how many captions do, and how many had been changed."""
    changes = tuple(splice for splice in splices if splice.before != splice.after)
    return changes, _count(groups) - already_there, already_there


def _count(groups: Iterable[CaptionGroup]) -> int:
    return sum(change.before != change.after for group in groups for change in group.changes)


def _errors(encoding: str) -> str:
    """Bytes of single lines that are not UTF-8 are kept."""
    return "surrogateescape" if encoding == "utf-8" else "strict"


def _decode(content: bytes, encoding: str) -> str:
    return content.decode(encoding, _errors(encoding))


def _encode(text: str, encoding: str) -> bytes:
    return text.encode(encoding, _errors(encoding))


@dataclass(frozen=True)
class _Record:
    """A row of a table as it is written: `number` as an import counts; `texts`: all texts in it;
    `header`, `stated`: of CSV, the delimiter if it was stated; `find`: the places of any other."""

    number: int
    lines: Sequence[tuple[int, int, str]]
    texts: Sequence[str]
    header: Sequence[str] = ()
    stated: str | None = None
    find: Callable[[str], list[Place]] = json_places

    def names(self) -> set[str]:
        """By which `CaptionGroup.identity` names it."""
        return {key for text in self.texts for key in (text, _stem(text))}

    def parts(self) -> tuple[int, int, str, list[Place]]:
        """Its first byte and line, its text, and the places in that."""
        if not self.header:
            start, line, text = self.lines[0]
            return start, line, text, self.find(text)
        # What stands before a record without being one: the header, empty lines.
        for first in reversed(range(len(self.lines))):
            text = "".join(line for *_, line in self.lines[first:])
            if (delimiter := delimiter_of(text, self.texts, self.stated)) is not None:
                start, line, _ = self.lines[first]
                return start, line, text, csv_places(text, self.header, delimiter)
        raise NotThere("its cells cannot be told apart")


class _Hit(NamedTuple):
    """A row with what is looked for: what changes, how many captions had changed before, and all
    texts of the row."""

    splice: Splice
    already_there: int
    texts: list[str]


class _RowSearch:
    """Finds the rows of captions in a table: by their ids if they have their own, else by their
    pictures, and by their captions. A row may have moved within its file."""

    def __init__(self, groups: Iterable[CaptionGroup], encoding: str, column: str) -> None:
        self._groups = list(groups)
        self._encoding, self._column = encoding, column
        self._by_key: dict[str, list[int]] = {}
        self._hits: list[dict[int, _Hit]] = [{} for _ in self._groups]
        self._reasons = [""] * len(self._groups)
        for number, group in enumerate(self._groups):
            for key in group.identity():
                self._by_key.setdefault(key, []).append(number)

    def add(self, record: _Record) -> None:
        for number in {n for key in record.names() for n in self._by_key.get(key, ())}:
            group = self._groups[number]
            try:
                start, line, text, places = record.parts()
                new_text, already_there = change_text(text, group.changes, [places], self._column)
            except NotThere as problem:
                self._reasons[number] = str(problem)
                continue
            before, after = (_encode(each, self._encoding) for each in (text, new_text))
            splice = Splice(start, before, after, line)
            self._hits[number][record.number] = _Hit(splice, already_there, sorted(record.texts))

    def result(self) -> tuple[list[Splice], int]:
        """What changes, and how many captions had changed before: also in rows that say the same
        as one in all their texts, of which an import takes the first. Raises NotThere."""
        splices, already_there = [], 0
        for group, hits, reason in zip(self._groups, self._hits, self._reasons, strict=True):
            hit = hits.get(group.row or 0)
            if hit is None and len(hits) == 1:
                hit = next(iter(hits.values()))
            if hit is None:
                reason = "it stands in several rows" if hits else reason or _ROW_GONE
                raise NotThere(f"row {group.row}: {reason}")
            splices += [each.splice for each in hits.values() if each.texts == hit.texts]
            already_there += hit.already_there
        return splices, already_there


_ROW_GONE = "there is no row with its picture or id any more. Import the dataset again"


def _stem(text: str) -> str:
    """The name of a picture, however its path is written."""
    return compose(PurePosixPath(text.replace("\\", "/")).stem).lower()


class _Lines:
    """The lines of a file, their places, and the hash of all that was read."""

    def __init__(self, file: Any, mark: bytes, encoding: str) -> None:
        self._text = io.TextIOWrapper(file, encoding, _errors(encoding), newline="\n")
        self.encoding, self._hash = encoding, hashlib.sha256(mark)
        self._start = len(mark)
        #: The lines of a JSON document, whose rows are counted in characters of it.
        self.document: list[tuple[int, int, str]] = []

    def __iter__(self) -> Iterator[tuple[int, int, str]]:
        """(first byte, number, text) of each line."""
        for number, text in enumerate(self._text, 1):
            content = _encode(text, self.encoding)
            self._hash.update(content)
            yield self._start, number, text
            self._start += len(content)
        self._text.detach()

    def digest(self) -> str:
        """SHA-256 of the lines as they would be written."""
        return self._hash.hexdigest()


def _records_in(
    file: Any, path: Path, encoding: str | None, delimiter: str | None
) -> tuple[_Lines, Iterator[_Record]]:
    """The lines and rows of a table. `encoding`, `delimiter`: as stated. Raises NotThere for
    another format."""
    ending = path.suffix.lower()
    mark, encoding = _encoding(file, path.name, encoding, is_guessed=True)
    file.seek(len(mark))
    is_json = ending in JSON_LINES
    has_document = ending == ".json" or (is_json and is_document(decoded_lines(file, encoding)))
    file.seek(len(mark))
    lines = _Lines(file, mark, encoding)
    if has_document:
        return lines, _document_records(lines)
    if is_json:
        return lines, _json_records(lines)
    if ending in _LISTS:
        return lines, _listed_records(lines)
    delimiter = delimiter or ("\t" if ending == ".tsv" else None)
    return lines, _csv_records(lines, delimiter, path.name)


@lru_cache(maxsize=2)
def _rows_by_key(
    path: Path, _state: tuple[int, ...], encoding: str | None, delimiter: str | None
) -> Mapping[str, Sequence[_Record]]:
    """The rows of a table of at most MOST_TEXT bytes by what names them, read once as long as it is
    not written; none of one that cannot be read."""
    rows: dict[str, list[_Record]] = {}
    try:
        with open_regular(path, is_resolved=True) as file:
            for row in _records_in(file, path, encoding, delimiter)[1]:
                for key in row.names():
                    rows.setdefault(key, []).append(row)
    except (DatasetFormatError, OSError, ValueError):
        return {}
    return rows


def _document_records(lines: _Lines) -> Iterator[_Record]:
    """The rows of a JSON document, by their places in its characters, or of lines of JSON."""
    every = list(lines)
    document = "".join(text for *_, text in every)
    if is_lines(document):
        yield from _json_records(every)
        return
    lines.document = every
    for row in document_rows(document):
        texts = [*_texts_in(row.value), *filter(None, [row.picture])]
        yield _Record(row.number, [(row.start, 0, document[row.start : row.end])], texts)


def _in_whole_lines(lines: _Lines, splices: Sequence[Splice]) -> list[Splice]:
    """What changes in the lines of a document, as bytes; several rows may stand in one line.
    `splices`: by their places in its characters."""
    starts = list(accumulate((len(text) for *_, text in lines.document), initial=0))
    pieces: list[tuple[int, int, list[Splice]]] = []
    for splice in sorted(splices, key=lambda splice: splice.start):
        length = len(_decode(splice.before, lines.encoding))
        first = bisect_right(starts, splice.start) - 1
        last = bisect_right(starts, splice.start + length - 1)
        if pieces and first < pieces[-1][1]:
            pieces[-1] = (pieces[-1][0], last, [*pieces[-1][2], splice])
        else:
            pieces.append((first, last, [splice]))
    return [_whole_lines(lines, starts[first], first, last, of) for first, last, of in pieces]


def _whole_lines(
    lines: _Lines, start: int, first: int, last: int, splices: Sequence[Splice]
) -> Splice:
    """The lines `first` to `last` of a document, which begin at character `start`, with splices."""
    before = "".join(text for *_, text in lines.document[first:last])
    after, position = "", start
    for splice in splices:
        after += before[position - start : splice.start - start]
        after += _decode(splice.after, lines.encoding)
        position = splice.start + len(_decode(splice.before, lines.encoding))
    after += before[position - start :]
    place, number, _ = lines.document[first]
    old, new = (_encode(each, lines.encoding) for each in (before, after))
    return Splice(place, old, new, number)


def _listed_records(lines: _Lines) -> Iterator[_Record]:
    for start, number, text in lines:
        if (place := caption_place(text)) is not None:
            texts = [place[0], place[3]]
            yield _Record(number, [(start, number, text)], texts, find=listed_places)


def _json_records(lines: Iterable[tuple[int, int, str]]) -> Iterator[_Record]:
    for start, number, text in lines:
        try:
            values = json.loads(text)
        except (ValueError, RecursionError):
            continue
        yield _Record(number, [(start, number, text)], list(_texts_in(values)))


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts_in(inner)
    elif value is not None:
        yield str(value)


def _csv_records(lines: _Lines, stated: str | None, name: str) -> Iterator[_Record]:
    """The rows as `csv_rows` reads them, each with the lines that it was read from."""
    pulled: list[tuple[int, int, str]] = []

    def feed() -> Iterator[TextLine]:
        are_ends = False
        for start, number, text in lines:
            are_ends = has_return(text) if number == 1 else are_ends
            is_text = text.isascii() or not any("\udc80" <= c <= "\udcff" for c in text)
            for part in split_at_returns(text) if are_ends else [text]:
                pulled.append((start, number, part))
                start += len(_encode(part, lines.encoding))
                yield TextLine(part) if is_text else TextLine(None, "not text")

    first = 0
    for row in csv_rows(feed(), stated, name):
        last = row.number or 0
        if row.values is not None:
            own_lines, cells = pulled[: last - first], list(row.values.values())
            yield _Record(last, own_lines, cells, list(row.values), stated)
        del pulled[: last - first]
        first = last
