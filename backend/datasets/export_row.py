"""Exported rows: their columns in every format, and what had to be changed."""

import json
import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from backend.datasets.caption_writers import COLUMNS as WRITER_COLUMNS
from backend.datasets.caption_writers import Writer
from backend.datasets.cells import without_surrogates
from backend.datasets.safe_files.containers import ImageFile
from backend.measures import Numbers, export_names

#: Marks a folder as ours, so that --overwrite never deletes anything else.
MARK = ".traced-export"
#: Our columns as fields of an Arrow schema, followed by the source's other columns as JSON.
FIELDS = [
    ("id", pa.string()), ("caption", pa.string()), ("original_caption", pa.string()),
    ("caption_kind", pa.string()), ("split", pa.string()), ("verdict", pa.string()),
    ("note", pa.string()),
    *((name, pa.string()) for name in (*WRITER_COLUMNS, "original_writer")),
    *((name, pa.float64()) for name in export_names()),
    ("picture", pa.string()),
    ("tags", pa.list_(pa.string())), ("own_tags", pa.string()),
    ("extra", pa.string()),
]  # fmt: skip
COLUMNS = tuple(name for name, _ in FIELDS if name != "extra")
_TEXTS = tuple(name for name, kind in FIELDS if kind == pa.string() and name != "extra")
#: Names that a source column cannot keep: our own, and those that a reader would interpret as the
#: image's path or as our column of packed values.
RESERVED = frozenset(COLUMNS) | {
    "file_name", "image_path", "image_file", "filename", "filepath", "image", "extra",
}  # fmt: skip
_PREFIX = "source_"


@dataclass(frozen=True)
class ExportRow:
    """One exported pair. `numbers`: by the names of measures; `content`: what the format writes
    beside it (`ExportFormat.contents`)."""

    id: str
    image_path: ImageFile
    caption: str
    original_caption: str
    split: str | None = None
    verdict: str | None = None
    numbers: Numbers = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)
    #: Origin of the caption: human, corrected, edited, or an enrichment: blend, visual, holistic.
    caption_kind: str = "human"
    #: The note of the current verdict.
    note: str | None = None
    #: What is known to be wrong with the picture, separated by spaces.
    picture: str | None = None
    #: People's own words on the pair, separated by "; ".
    own_tags: str | None = None
    #: Of the caption; `original_writer`: the name of that of the original caption. None: nobody
    #: says.
    writer: Writer | None = None
    original_writer: str | None = None
    content: Any = None


@dataclass
class Changes:
    """Changes that a format requires, for the card. Names are those of the source."""

    renamed: dict[str, str] = field(default_factory=dict)
    #: Columns with NaN or infinity, which JSON cannot represent; null was written.
    not_json: set[str] = field(default_factory=set)
    #: Columns with lone surrogates, which are not valid Unicode; U+FFFD was written.
    no_text: set[str] = field(default_factory=set)
    #: Columns packed into `extra` as JSON text.
    packed: set[str] = field(default_factory=set)
    #: Complete sentences added by a writer.
    remarks: list[str] = field(default_factory=list)


def exportable(
    row: ExportRow, changes: Changes, reserved_names: frozenset[str] = RESERVED
) -> ExportRow:
    """The row with source columns that neither clash with ours nor break JSON; every change is
    recorded in `changes`."""
    extra = {}
    for key, value in row.extra.items():
        plain = without_surrogates(key)
        if plain != key:
            changes.no_text.add(plain)
        name = new_name(plain, reserved_names)
        if name != plain:
            changes.renamed[plain] = name
        extra[name] = _clean(value, plain, changes)
    numbers = {name: _clean(value, name, changes) for name, value in row.numbers.items()}
    return replace(row, extra=extra, numbers=numbers)


def new_name(key: str, reserved_names: frozenset[str] = RESERVED) -> str:
    """The name under which a source column is exported. A source column that already has the new
    name is renamed in turn, so that names stay unique.

    >>> new_name("width"), new_name("verdict"), new_name("source_verdict"), new_name(" Caption")
    ('width', 'source_verdict', 'source_source_verdict', 'source_ Caption')
    """
    plain = key
    while plain.startswith(_PREFIX):
        plain = plain.removeprefix(_PREFIX)
    return _PREFIX + key if plain.strip().lower() in reserved_names else key


def arrow_values(row: ExportRow) -> dict[str, Any]:
    """A row of `FIELDS`."""
    return {
        **own_values(row),
        "tags": list(row.tags),
        "extra": json.dumps(row.extra, ensure_ascii=False) if row.extra else None,
    }


def json_values(row: ExportRow) -> dict[str, Any]:
    """All columns for a JSON line."""
    return {**own_values(row), "tags": list(row.tags), **row.extra}


def typed_values(row: ExportRow) -> dict[str, Any]:
    """Our columns for loaders that infer types from the first rows: text is never null, and the
    list of tags is written as text, because it could be empty."""
    fields = own_values(row)
    texts = {name: fields[name] or "" for name in _TEXTS}
    return {**fields, **texts, "tags": " ".join(row.tags)}


def own_values(row: ExportRow) -> dict[str, Any]:
    """Our columns."""
    writer = row.writer.cells() if row.writer is not None else {}
    values = {**vars(row), **dict.fromkeys((*export_names(), *WRITER_COLUMNS)), **row.numbers}
    values |= writer
    return {name: values[name] for name in COLUMNS}


def _clean(value: Any, column: str, changes: Changes) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        changes.not_json.add(column)
        return None
    if isinstance(value, str):
        text = without_surrogates(value)
        if text != value:
            changes.no_text.add(column)
        return text
    if isinstance(value, dict):
        return {without_surrogates(str(k)): _clean(v, column, changes) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item, column, changes) for item in value]
    return value


@dataclass
class Target:
    """`part`: the temporary folder that is written; `out`: its final path; `root`: the folder of
    the source's images; `copy_images`: of a table, into the export.

    A writer fills in `files` (a split and the patterns of its files, for loaders that read the
    card) and `loader` (what else the card tells them, such as `features`), and adds to `changes`.
    `features`: the types of the columns for loaders without such a parameter (`dataset_info`).
    """

    part: Path
    out: Path
    root: Path
    copy_images: bool = False
    files: dict[str, str | list[str]] = field(default_factory=dict)
    loader: dict[str, Any] = field(default_factory=dict)
    features: list[dict[str, Any]] = field(default_factory=list)
    changes: Changes = field(default_factory=Changes)
