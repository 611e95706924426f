"""The pairs in a row of a table: its picture, split and id, each of its captions, and what its
other columns say."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backend.datasets.caption_writers import Writer, writer_in
from backend.datasets.cells import (
    UNREAD_BYTES,
    BadCell,
    EmbeddedImage,
    TableRow,
    json_value,
    size_of,
    text_of,
    text_problem,
    trim,
)
from backend.datasets.columns import WEAK_IDS, Columns
from backend.datasets.read_options import ReadOptions
from backend.datasets.reading.caption_columns import CaptionColumn
from backend.datasets.reading.caption_fields import FIELD_COLUMN, kind_of
from backend.datasets.reading.image_paths import ImagePaths
from backend.datasets.reading.pair_checks import caption_problem, derived_id, id_problem
from backend.datasets.safe_files.containers import (
    SEPARATOR,
    ImageFile,
    address_of_text,
    relative_name,
)
from backend.datasets.safe_files.written_pictures import (
    WrittenPictures,
    is_written_picture,
    shorten_pictures,
)
from db.texts import is_blank

#: Maximum number of characters of a row's other columns, which are stored with each of its
#: captions.
MOST_EXTRA = 1_000_000
#: Says that a pair is left out: (row, one of a few fixed kinds, a message for the user, its id).
Report = Callable[[int | None, str, str, str], None]


@dataclass(frozen=True)
class SourcePair:
    """One pair as read from the dataset. `extra`: its other columns, as JSON values."""

    id: str
    image_path: ImageFile
    caption: str
    split: str | None
    extra: dict[str, Any]
    file: str
    row: int


@dataclass(frozen=True)
class Candidate:
    """A pair whose image has not been opened yet. `path_text`: the path as its table writes it;
    `id_is_a_guess`: the detected column of its id if other pairs may share that id; else empty."""

    pair: SourcePair
    path_text: str
    id_is_a_guess: str
    paths: ImagePaths


@dataclass(frozen=True)
class RowPairs:
    """The rows of a `table`, which is called `name` below the `root`. `split`: of rows that name
    none, "" if it has none; `writer`: of captions whose rows name none."""

    table: Path
    name: str
    root: Path
    columns: Columns
    captions: CaptionColumn
    paths: ImagePaths
    written_pictures: WrittenPictures
    options: ReadOptions
    split: str
    writer: Writer | None
    report: Report

    def of_row(self, row: TableRow) -> Iterator[Candidate]:
        """Raises BadCell for a row without a pair."""
        assert row.values is not None
        columns, values = self.columns, self.captions.unpack(row.values)
        path_text = _of_column(text_of, values, columns.image, is_image=True)
        if not path_text:
            self.report(row.number, "no image", _without_picture(self.table, columns.image), "")
            return
        if "\0" not in path_text and (problem := text_problem(path_text)):
            raise BadCell(f"The image path '{trim(path_text)}': {problem}")
        split = row.split or self.split
        if columns.split in values:
            split = _of_column(text_of, values, columns.split)
        if problem := text_problem(split):
            raise BadCell(f"The split '{trim(split)}': {problem}")
        is_address = isinstance(values.get(columns.image), EmbeddedImage)
        if is_written := not is_address and is_written_picture(path_text):
            inner = address_of_text(
                path_text, self.table, row.number or 0, columns.image, self.written_pictures
            )
            path_text, is_address = f"{self.table.name}{SEPARATOR}{inner}", True
        path = (
            self.paths.picture_in_container(self.table.parent, path_text)
            if is_address
            else self.paths.find(path_text, row.within, row.is_anywhere, split)
        )
        if path is None:
            self.report(row.number, "unsafe path", self.paths.refusal(path_text), "")
            return
        if problem := text_problem(relative_name(path, self.root)):
            raise BadCell(f"The image path '{trim(str(path))}': {problem}")
        extra = self._other_columns(values)
        extra = shorten_pictures(extra) if is_written else extra
        if (size := size_of(extra)) > MOST_EXTRA:
            raise BadCell(
                f"The other columns hold {size:,} characters; at most {MOST_EXTRA:,} are allowed. "
                "Leave out the largest"
            )
        if columns.split not in values:
            split = split or self.paths.split_of(path)
        if (writer := writer_in(values, columns, self.writer)) is not None:
            extra |= writer.cells()
        for pair, id_is_a_guess in self._pairs(row.number, values, extra, path, split):
            yield Candidate(pair, path_text, id_is_a_guess, self.paths)

    def learn_paths(self, rows: Iterable[TableRow]) -> None:
        """Find out what the paths of the first rows are relative to."""
        cells = (((row.values or {}).get(self.columns.image), row.within) for row in rows)
        texts = ((str(cell), within) for cell, within in cells if type(cell) in (str, int))
        self.paths.learn(each for each in texts if not is_written_picture(each[0]))

    def _other_columns(self, values: dict[str, Any]) -> dict[str, Any]:
        columns = self.columns
        known_columns = {columns.image, columns.caption, columns.id, columns.split}
        return {
            _of_column(json_value, {key: key}, key): _of_column(json_value, values, key)
            for key in values
            if key not in known_columns and key and values[key] is not UNREAD_BYTES
        }

    def _pairs(
        self,
        number: int | None,
        values: dict[str, Any],
        extra: dict[str, Any],
        path: ImageFile,
        split: str,
    ) -> Iterator[tuple[SourcePair, str]]:
        """A pair of each caption, and see `Candidate.id_is_a_guess`."""
        columns = self.columns
        given_id = _of_column(text_of, values, columns.id) if columns.id else ""
        given_id = "" if is_blank(given_id) else given_id
        guess = "" if self.options.id_column is not None else columns.id or ""
        is_weak = bool(given_id) and guess.strip().lower() in WEAK_IDS
        captions = list(self.captions.by_field(values))
        own_kind = kind_of(values) or columns.caption
        kinds = {kind for kind, *_ in captions}
        others = {column: value for column, value in extra.items() if column not in kinds}
        if not kinds & {"", own_kind}:
            others[own_kind] = _of_column(json_value, values, columns.caption)
        for kind, text, place in captions:
            identity = given_id or derived_id(relative_name(path, self.root), text)
            if kind not in ("", own_kind):
                identity += f"#{kind}"
            if place is not None and given_id:
                identity += f"#{place}"
            if self.options.uncaptioned and is_blank(text):
                text = ""
            elif problem := caption_problem(text) or id_problem(identity):
                what = "empty caption" if is_blank(text) else "unusable row"
                self.report(number, what, problem, identity)
                continue
            own_columns = {**others, FIELD_COLUMN: kind} if kind else extra
            pair = SourcePair(
                identity, path, text, split[:255] or None, own_columns, self.name, number or 0
            )
            yield pair, guess if is_weak else ""


def _without_picture(table: Path, column: str) -> str:
    if table.suffix.lower() != ".tar":
        return f"The column '{column}' is empty."
    return (
        "The sample has no picture. If other tars hold the pictures, import the folder that all of "
        "them are in; if they are files, unpack this tar beside them."
    )


def _of_column(
    convert: Callable[[Any], Any], values: dict[str, Any], column: str, is_image: bool = False
) -> Any:
    """A cell's converted value. Raises BadCell naming the column. `is_image`: it may be an
    embedded image, whose address is the value."""
    value = values.get(column)
    if is_image and isinstance(value, EmbeddedImage):
        return str(value)
    try:
        return convert(value)
    except BadCell as problem:
        raise BadCell(f"The column '{trim(column)}': {problem}") from problem
