"""Pairs from a folder of images with metadata, a table with image paths and captions, or shards.

A reader never stops at an invalid row: it reports the row (file, number, what is wrong, what to do)
and continues. Several captions of one image become several pairs. Images are opened while reading,
so that every imported pair can be shown and scored.
"""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from backend.datasets.caption_writers import Writer, common_writer
from backend.datasets.cells import (
    BadCell,
    EmbeddedImage,
    TableRow,
    size_of,
    text_problem,
    trim,
    unescape,
)  # fmt: skip
from backend.datasets.columns import (
    CAPTION_NAMES,
    Columns,
    listed_names,
    usual_name,
)
from backend.datasets.export_row import MARK
from backend.datasets.read_options import (
    DETECTED,
    JSON_LINES,
    SHARDS,
    SOURCES,
    ListForm,
    ReadOptions,
    where_to_state,
)
from backend.datasets.reading.annotations import (
    annotation_rows,
    is_mm_imdb,
    mm_imdb_rows,
    plain_rows,
    where_to_get,
)
from backend.datasets.reading.caption_columns import CaptionColumn, caption_column
from backend.datasets.reading.caption_texts import TextReader
from backend.datasets.reading.captions_txt import caption_list_rows, is_caption_list
from backend.datasets.reading.conversations import AnswerRule, has_questions_in_text
from backend.datasets.reading.folder_tables import METADATA, table_alone, tables_of
from backend.datasets.reading.guessed_columns import caption_columns
from backend.datasets.reading.hub_cards import stated_writer
from backend.datasets.reading.hub_copies import blobs_of, check_pointer
from backend.datasets.reading.image_paths import ImagePaths
from backend.datasets.reading.named_pictures import PicturesBelow, names_picture
from backend.datasets.reading.on_disk import SeenIds
from backend.datasets.reading.pair_checks import (
    LONGEST_ID,
    ImageCheck,
    check_picture,
    derived_id,
)
from backend.datasets.reading.row_forms import row_forms
from backend.datasets.reading.row_pairs import Candidate, RowPairs, SourcePair
from backend.datasets.reading.sample_fields import SampleChoice, column_and_path
from backend.datasets.reading.shards import tar_rows, zip_rows
from backend.datasets.reading.sidecars import metadata_rows, sidecar_rows
from backend.datasets.reading.source_tables import SourceTables, image_folders, root_of
from backend.datasets.reading.table_columns import detect_columns
from backend.datasets.reading.tables import is_json_document, row_count, rows_of, text_encoding
from backend.datasets.reading.tar_descriptions import describe_tars, sample_choice
from backend.datasets.reading.tar_samples import CaptionEndings
from backend.datasets.reading.text_tars import TextTars, set_texts_apart
from backend.datasets.reading.unread_sources import not_a_table
from backend.datasets.safe_files.containers import (
    is_there,
    relative_name,
)
from backend.datasets.safe_files.daemon_pool import DaemonPool
from backend.datasets.safe_files.regular_files import typed_path
from backend.datasets.safe_files.text_files import known_encoding
from backend.datasets.safe_files.written_pictures import (
    WrittenPictures,
    hide_base64,
)
from backend.datasets.splits import split_of_shard
from backend.datasets.table_readers import table_readers
from backend.errors import (
    DatasetFormatError,
    DatasetNotFound,
    UnsafePath,
    UnsupportedFormat,
)

_WORKERS = 4
_AHEAD = 256
#: Rows inspected to detect columns before any is read, and the maximum of their characters.
_HEAD, _LARGEST_HEAD = 1000, 8_000_000
_MOST_MISSING = 3
_MOST_NOTES = 20


@dataclass(frozen=True)
class Problem:
    """A row that is left out. `kind`: one of a few fixed names; `message`: for the user."""

    file: str
    row: int | None
    kind: str
    message: str
    id: str = ""


@dataclass
class DatasetReader:
    """Iterates over the valid pairs; afterwards `problems` contains the invalid rows. If
    `on_problem` is given, it is called for each instead, so that memory use is bounded.

    `root`: the folder that no image path may leave; `folders`: the resolved folders that tables lie
    in; `total`: number of rows, if known beforehand;
    `image_check`: all but "decode" leave it to the caller to check which files are images. `notes`:
    automatic decisions, such as a detected encoding; complete after the iteration. `missing`: the
    first images that do not exist, relative to the root. `image_column`: where the last table's
    image paths were found, as a sentence, unless that was stated. `writer`: of captions whose rows
    do not name theirs.
    """

    root: Path
    source: SourceTables
    options: ReadOptions
    folders: tuple[Path, ...]
    total: int | None = None
    image_check: ImageCheck = "decode"
    on_problem: Callable[[Problem], None] | None = None
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    image_column: str = ""
    writer: Writer | None = None
    #: What lists of texts were in the tables read so far, by column.
    _forms: dict[str, ListForm] = field(default_factory=dict)
    #: A table was read whose captions have a usual name: others are not guessed.
    _has_usual_captions: bool = False
    _text_tars: TextTars | None = None
    _pictures: PicturesBelow | None = None
    _endings: CaptionEndings = field(default_factory=CaptionEndings)

    def __iter__(self) -> Iterator[SourcePair]:
        self.problems.clear()
        self.notes[:] = self.source.notes
        self._forms.clear()
        self._has_usual_captions = False
        self._endings = CaptionEndings()
        with closing(SeenIds()) as ids, ExitStack() as stack:
            self._pictures = stack.enter_context(closing(PicturesBelow(self.root)))
            if self.source.text_tars:
                self._text_tars = stack.enter_context(closing(self._open_text_tars()))
            for table in self.source.tables:
                yield from self._read(table, ids)
            if self._text_tars is not None:
                for tar, number, message in self._text_tars.find_unused():
                    self._report(self._name_of(tar), number, "no image", message)

    def _open_text_tars(self) -> TextTars:
        names = {tar: self._name_of(tar) for tar in (*self.source.tables, *self.source.text_tars)}
        choice = sample_choice(self.source.text_tars[0], None, self.options)
        text_tars = TextTars(self.source, names, self.root, choice)
        if text_tars.note:
            self._note(text_tars.note)
        if text_tars.begins_again:
            self._note(
                "Names occur in several tars: a picture has the texts of the tar that is called as "
                "its own but for one word, as in images/0.tar and texts/0.tar."
            )
        return text_tars

    def _name_of(self, table: Path) -> str:
        """The path below the root."""
        is_below = table.is_relative_to(self.root) and table != self.root
        return trim(table.relative_to(self.root).as_posix() if is_below else table.name, 1000)

    def _read(self, table: Path, ids: SeenIds) -> Iterator[SourcePair]:
        name = self._name_of(table)
        candidates = self._candidates(table, name)
        with DaemonPool(_WORKERS) as pool:
            while batch := list(islice(candidates, _AHEAD)):
                paths = list(dict.fromkeys(candidate.pair.image_path for candidate in batch))
                check = partial(check_picture, self.image_check)
                images = dict(zip(paths, pool.map(check, paths), strict=True))
                for candidate in batch:
                    pair = candidate.pair
                    image, message = images[pair.image_path]
                    if message:
                        self._report_image(candidate, message)
                        continue
                    place = relative_name(pair.image_path, self.root)
                    content = f"{place}\n{pair.caption}"
                    earlier = ids.add(pair.id, content)
                    if earlier is None:
                        yield replace(pair, image_path=image)
                        continue
                    id_by_content = derived_id(place, pair.caption)
                    is_repeated = earlier or pair.id == id_by_content
                    if not is_repeated and candidate.id_is_a_guess:
                        is_repeated = ids.add(id_by_content, content) is not None
                        if not is_repeated:
                            self._note(
                                f"'{name}': ids in '{candidate.id_is_a_guess}' are not unique; "
                                "pairs that share one have ids derived from their image and "
                                "caption."
                            )
                            yield replace(pair, id=id_by_content, image_path=image)
                            continue
                    self._report_repeated(pair, is_repeated)

    def _report_image(self, candidate: Candidate, message: str) -> None:
        pair = candidate.pair
        kind = "unreadable image" if _exists(pair) else "missing image"
        if kind == "missing image":
            if len(self.missing) < _MOST_MISSING:
                self.missing.append(relative_name(pair.image_path, self.root))
            if "://" in candidate.path_text and not candidate.path_text.startswith("file:"):
                message = f"'{trim(candidate.path_text)}' is an address: download the picture."
            else:
                message = f"There is no file '{trim(hide_base64(candidate.path_text))}'."
                message += candidate.paths.hint(pair.image_path)
        self._report(pair.file, pair.row, kind, message, pair.id)

    def _report_repeated(self, pair: SourcePair, is_same: bool) -> None:
        kind, message = "repeated pair", "This pair was read before: the same picture and caption."
        if not is_same:
            kind = "duplicate id"
            message = (
                f"The id '{pair.id[:80]}' was used before. Give every pair an id of its own, or "
                "import again and say that no column contains ids."
            )
        self._report(pair.file, pair.row, kind, message, pair.id)

    def _candidates(self, table: Path, name: str) -> Iterator[Candidate]:
        """The pairs of a table. One that cannot be read does not stop the others."""
        try:
            yield from self._pairs_in(table, name)
        except DatasetFormatError as problem:
            if len(self.source.tables) == 1:
                raise
            self._report(name, None, "unreadable file", str(problem))

    def _pairs_in(self, table: Path, name: str) -> Iterator[Candidate]:
        check_pointer(table, self.folders)
        ours = (table.parent / MARK).is_file() or (table.parent.parent / MARK).is_file()
        choice = sample_choice(table, self.source.described, self.options)
        rows = self._rows(table, name, ours, choice)
        if ours:
            rows = (
                row if row.values is None else replace(row, values=_as_exported(table, row.values))
                for row in rows
            )
        first = _head_of(rows)
        rule = AnswerRule(
            self.options.answers == "all", self.options.question,
            takes_lists=self.options.lists is None, needs_answers=not self.options.uncaptioned,
            asks_in_text=has_questions_in_text(row.values or {} for row in first),
            names_picture=lambda text: names_picture(table, text, self.root),
        )  # fmt: skip
        rows = plain_rows(chain(first, rows), rule, choice.captions or None)
        # The columns are those of all the first rows together: in JSONL a row may lack some, which
        # is reported for that row.
        head = _head_of(rows)
        good = [row.values for row in head if row.values is not None]
        pairs_by = partial(self._row_pairs, table, name, ours, choice.captions)
        pairs = pairs_by(good) if good else None
        if pairs is not None:
            for note in filter(None, (form.note(name, good) for form in row_forms())):
                self._note(note)
            pairs.learn_paths(head)
        for row in chain(head, rows):
            if row.values is None:
                self._report(name, row.number, "unreadable row", row.problem)
                continue
            if pairs is None:
                pairs = pairs_by([row.values])
            try:
                yield from pairs.of_row(row)
            except BadCell as problem:
                self._report(name, row.number, "unusable row", f"{problem}.")
            except Exception as problem:  # of any type: the other rows must still be read
                message = f"This row cannot be read: {problem or type(problem).__name__}."
                self._report(name, row.number, "unusable row", message)
        notes = [*rule.notes(name), *(pairs.captions.notes(name) if pairs is not None else [])]
        for note in filter(None, notes):
            self._note(note)
        if pairs is None and not choice.excluded:
            if head and len(self.source.tables) > 1:
                return  # each of its rows is reported
            first = next((f" Row {row.number}: {row.problem}" for row in head), "")
            remedy = where_to_state("answers", "all") if rule.left_out else {}
            notes = "".join(f" {note}" for note in self.source.notes)
            raise DatasetFormatError(
                f"'{name}' holds no rows that can be read.{first}{notes}", **remedy
            )

    def _row_pairs(
        self, table: Path, name: str, ours: bool, captions: str, rows: list[dict[str, Any]]
    ) -> RowPairs:
        """What reads the rows of a table that begins with these; `captions`: see `_columns_of`."""
        columns, caption_cells = self._columns_of(rows, name, ours, captions)
        folders = image_folders(table, self.root, self.options.image_root is not None)
        paths = ImagePaths(
            self.root, folders, lambda note: self._note(f"'{name}': {note}"),
            state_splits=table.name in METADATA, pictures=self._pictures,
            foreign=self._folders_of_others(table),
        )  # fmt: skip
        return RowPairs(
            table, name, self.root, columns, caption_cells, paths,
            WrittenPictures(table, self.folders), self.options, self._split_of(table), self.writer,
            partial(self._report, name),
        )  # fmt: skip

    def _folders_of_others(self, table: Path) -> list[Path]:
        """The folders with a table of their own that this one is not in."""
        return [folder for folder in self._table_folders if not table.is_relative_to(folder)]

    @cached_property
    def _table_folders(self) -> set[Path]:
        return {table if table.is_dir() else table.parent for table in self.source.tables}

    def _rows(self, table: Path, name: str, ours: bool, choice: SampleChoice) -> Iterator[TableRow]:
        known_name = known_encoding(self.options.encoding) if self.options.encoding else None

        def read_as(encoding: str) -> None:
            self._note(f"Some texts in '{name}' are read as {encoding}.")

        per_line = self.options.captions_per_line
        # The texts beside pictures are the source's, with its line ends.
        is_exact = ours and table.suffix == ".tar"
        texts = TextReader(known_name, read_as, self._note, per_line, is_exact)
        if table.is_dir():
            if self.options.caption_from == "metadata":
                return metadata_rows(table)
            if is_mm_imdb(table):
                return mm_imdb_rows(table, texts)
            return sidecar_rows(table, texts, self.options, choice.captions)
        ending = table.suffix.lower()
        if ending == ".tar":
            return tar_rows(table, texts, self.folders, choice, self._text_tars, self._endings)
        if ending == ".zip":
            captions = choice.captions
            return zip_rows(table, texts, self.options, known_name, captions, self.folders)
        if ending in (".txt", ".token"):
            return caption_list_rows(table, known_name, self.folders)
        encoding = text_encoding(table, known_name, self.folders)
        if encoding is not None and encoding.note:
            self._note(encoding.note)
        is_lines = ending in JSON_LINES and encoding is not None
        if _is_annotations(table) or (
            is_lines and is_json_document(table, encoding.name, self.folders)
        ):
            return annotation_rows(table, encoding.name if encoding else "utf-8-sig", self.folders)
        return rows_of(
            table, encoding.name if encoding else None, self.options.delimiter, self.folders
        )

    def _columns_of(
        self, rows: list[dict[str, Any]], name: str, ours: bool, captions: str
    ) -> tuple[Columns, CaptionColumn]:
        """The role of each column, and how captions are read; `captions`: the stated place of the
        captions, "" to find it."""
        names = dict.fromkeys(key for row in rows for key in row)
        captions, path = column_and_path(captions, names)
        options = self.options
        self._has_usual_captions |= bool(usual_name(names, CAPTION_NAMES))
        if not (captions or options.uncaptioned or self._has_usual_captions):
            likely = caption_columns(names)
            captions = likely[0] if likely else ""
            if len(likely) > 1 and options.caption_fields is None:
                options = options.model_copy(update={"caption_fields": ",".join(likely)})
            if likely:
                self._note(f"'{name}': captions are read from {listed_names(likely)}.")
        assert self._pictures is not None
        columns = detect_columns(rows, name, captions, options, self._pictures, self._note)
        holds_pictures = any(isinstance(row.get(columns.image), EmbeddedImage) for row in rows)
        if options.image_column is None and not holds_pictures:
            self.image_column = (
                f"Image paths were taken from the column '{trim(columns.image)}' of '{name}', "
                f"whose columns are {listed_names(names)}."
            )
        return caption_column(rows, columns, name, options, ours, self._forms, self._note, path)

    def _split_of(self, table: Path) -> str:
        """The split of a table or a shard; "" if unknown."""
        if split := self.source.splits.get(table):
            return split
        return split_of_shard(table) if table.suffix.lower() in SHARDS else ""

    def _report(self, file: str, row: int | None, kind: str, message: str, id: str = "") -> None:
        problem = Problem(file, row, kind, message, trim(id, LONGEST_ID))
        (self.on_problem or self.problems.append)(problem)

    def _note(self, note: str) -> None:
        if note not in self.notes and len(self.notes) < _MOST_NOTES:
            self.notes.append(note)


def read_dataset(
    path: Path, options: ReadOptions = DETECTED, image_check: ImageCheck = "decode"
) -> DatasetReader:
    """A reader of the folder or table at `path`; `image_check`: see DatasetReader.

    Raises DatasetNotFound or DatasetFormatError, stating what is expected, if there is nothing to
    read; UnsafePath if a table is a link to elsewhere.
    """
    path = path.resolve()
    if text_problem(str(path)):
        raise DatasetFormatError(
            f"The path '{trim(str(path), 1000)}' is not UTF-8 and cannot be stored in a database. "
            "Rename the file or folder."
        )
    if not path.exists():
        raise DatasetNotFound(f"There is no file or folder '{path}'.{where_to_get(path)}")
    options.check()
    if options.caption_from is not None:
        if not path.is_dir():
            raise DatasetFormatError(
                f"'{path.name}' is not a folder: for captions that are written in the images "
                "give the folder of the images."
            )
        source, root = SourceTables([path]), path
    elif path.is_dir():
        described = describe_tars(path, options)
        source = tables_of(path, options.subset, options.uncaptioned, described)
        source = set_texts_apart(source, path)
        root = path
    elif path.suffix.lower() not in (*SOURCES, *table_readers()) and not is_caption_list(path):
        raise UnsupportedFormat(not_a_table(path))
    else:
        source, root = table_alone(path, options), root_of(path)
    if options.image_root is not None:
        root = typed_path(options.image_root)
        if not os.path.isdir(root):
            raise DatasetNotFound(
                f"There is no folder '{root}', which image paths are to be relative to."
            )
        if text_problem(str(root)):
            raise DatasetFormatError(f"The path '{trim(str(root), 1000)}' is not UTF-8. Rename it.")
    folders = (path, root)
    _check_links([*source.tables, *source.text_tars], folders)
    counts = [
        None if _is_annotations(table) else row_count(table, folders) for table in source.tables
    ]
    total = sum(count for count in counts if count is not None) if None not in counts else None
    writer = common_writer(options.writer, options.writer_prompt, options.writer_date)
    writer = writer or common_writer(stated_writer(path if path.is_dir() else path.parent))
    return DatasetReader(root, source, options, folders, total, image_check, writer=writer)


def _check_links(tables: list[Path], folders: tuple[Path, ...]) -> None:
    """Raise UnsafePath if a table is a link that leads out of the given folders."""
    for table in tables:
        target = table.resolve()
        if not any(target.is_relative_to(folder) for folder in folders):
            advice = (
                "Give that file itself; if its images lie here, name this folder as the one that "
                "image paths are relative to."
            )
            if blobs_of(table) is not None:
                advice = (
                    "Of the hub's cache, only an import reads snapshots; for other uses, download "
                    "the dataset into a folder of its own."
                )
            raise UnsafePath(
                f"'{trim(table.name)}' is a link that leads outside the dataset's folder, to "
                f"'{trim(str(target), 500)}'. {advice}"
            )


def _head_of(rows: Iterator[TableRow]) -> list[TableRow]:
    """The first rows, up to `_HEAD` rows or `_LARGEST_HEAD` characters."""
    head, size = [], 0
    for row in islice(rows, _HEAD):
        head.append(row)
        size += size_of(row.values or {})
        if size > _LARGEST_HEAD:
            break
    return head


def _exists(pair: SourcePair) -> bool:
    try:
        return is_there(pair.image_path)
    except OSError:
        return False


def _as_exported(table: Path, values: dict[str, Any]) -> dict[str, Any]:
    """Undo the changes of our own export in a row: remove apostrophes before formulas, and unpack
    the source's other columns from `extra`."""
    if table.suffix.lower() in (".csv", ".tsv"):
        values = {k: unescape(v) if isinstance(v, str) else v for k, v in values.items()}
    cell = values.get("extra")
    try:
        extra = json.loads(cell) if isinstance(cell, str) and cell else {}
    except ValueError:
        return values
    if not isinstance(extra, dict):
        return values
    return {**extra, **{key: value for key, value in values.items() if key != "extra"}}


def _is_annotations(table: Path) -> bool:
    return table.is_dir() or table.suffix.lower() == ".json"
