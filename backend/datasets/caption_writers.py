"""Who or what wrote a caption: a person or a model, from what a source says of it.

A writer is kept among the source's other columns, under `COLUMNS`, so that queues, tables, exports
and `patterns` treat it as they treat each of these.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from backend.datasets.columns import MODEL_WRITERS, PEOPLE_WRITERS, Columns

#: What a writer is; "": nobody says.
WriterKind = Literal["person", "model", ""]
#: Under which names a writer is kept and exported, in the order of `Writer`'s fields.
COLUMNS = ("writer", "writer_kind", "writer_prompt", "writer_date")
LONGEST_NAME, LONGEST_PROMPT, LONGEST_DATE = 255, 4000, 64


@dataclass(frozen=True)
class Writer:
    """`prompt`: of a model; `date`: as the source writes it; both "" if nobody says."""

    name: str
    kind: WriterKind = ""
    prompt: str = ""
    date: str = ""

    def cells(self) -> dict[str, str]:
        """What is known, by `COLUMNS`.

        >>> Writer("org/blip", "model").cells()
        {'writer': 'org/blip', 'writer_kind': 'model'}
        """
        values = (self.name, self.kind, self.prompt, self.date)
        return {column: value for column, value in zip(COLUMNS, values, strict=True) if value}

    def in_words(self) -> str:
        """
        >>> Writer("org/blip", "model", "Describe it.", "2024-05-01").in_words()
        'org/blip (model), 2024-05-01, prompt “Describe it.”'
        """
        kind = f" ({self.kind})" if self.kind else ""
        prompt = f"prompt “{self.prompt}”" if self.prompt else ""
        return ", ".join(filter(None, (f"{self.name}{kind}", self.date, prompt)))


def writer_in(
    values: Mapping[str, Any], columns: Columns, default: Writer | None = None
) -> Writer | None:
    """The writer of a row's caption: as the row says, else the default."""

    def cell(column: str | None, longest: int) -> str:
        # A table that pandas wrote has its index in a column whose name is empty.
        return _plain(values.get(column), longest) if column else ""

    name = cell(columns.writer, LONGEST_NAME)
    if not name:
        return default
    prompt = cell(columns.writer_prompt, LONGEST_PROMPT)
    kind = _kind(cell(columns.writer_kind, LONGEST_NAME)) or _kind_of_column(columns.writer or "")
    date = cell(columns.writer_date, LONGEST_DATE)
    return Writer(name, kind or _kind_of(name, prompt), prompt, date)


def common_writer(
    name: str | None, prompt: str | None = None, date: str | None = None
) -> Writer | None:
    """The writer of all captions of a source, as a person or its card states it."""
    name, prompt = _plain(name, LONGEST_NAME), (prompt or "").strip()
    return Writer(name, _kind_of(name, prompt), prompt, date or "") if name else None


def writer_of(columns: Mapping[str, Any]) -> Writer | None:
    """The writer that is kept among the other columns of a pair."""
    name, kind, prompt, date = map(columns.get, COLUMNS)
    if not (text := _plain(name, LONGEST_NAME)):
        return None
    return Writer(text, _kind(kind), _plain(prompt, LONGEST_PROMPT), _plain(date, LONGEST_DATE))


def without_writer(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The other columns of a pair, but those that say who wrote the caption."""
    if writer_of(columns) is None:
        return dict(columns)
    return {name: value for name, value in columns.items() if name not in COLUMNS}


def _kind_of_column(column: str) -> WriterKind:
    name = column.strip().lower()
    return "model" if name in MODEL_WRITERS else "person" if name in PEOPLE_WRITERS else ""


def _kind_of(name: str, prompt: str) -> WriterKind:
    """Only models have prompts, and names such as OWNER/MODEL."""
    return "model" if prompt or "/" in name else ""


def _kind(value: Any) -> WriterKind:
    text = _plain(value, 10).lower()
    return "person" if text == "person" else "model" if text == "model" else ""


def _plain(value: Any, longest: int) -> str:
    """A cell as one line of text; "" for what is neither text nor a number.

    >>> _plain(" a\\n b ", 9), _plain(17, 9), _plain(True, 9), _plain(["x"], 9)
    ('a b', '17', '', '')
    """
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    return " ".join(str(value).split())[:longest]
