"""Rows as other programs write them, which features and packages make pairs of (`row_forms` in
docs/extending.md)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from backend import plugins
from backend.datasets.cells import TableRow
from backend.datasets.reading.conversations import AnswerRule
from backend.datasets.reading.json_stream import JsonFile


@dataclass(frozen=True)
class RowContext:
    """How the rows of a table are read. `rule`: which answers of conversations are captions;
    `caption_column`: the one that was stated or that the source states; `before`: the values of the
    row above, as the file has them."""

    rule: AnswerRule
    caption_column: str | None
    before: Mapping[str, Any]

    def states_caption(self, values: Mapping[str, Any]) -> bool:
        """Whether the row has the stated column."""
        column = self.caption_column
        return bool(column) and column.partition("[")[0] in values


@dataclass(frozen=True)
class RowForm:
    """`fits(values, context)`: whether a row is of this form; `rows(row, values, context)`: rows
    with a picture and a caption, in its place; one without values says its problem. May raise
    `conversations.NoPair`. `rows_of_file`: of a JSON file that is of this form as a whole; None for
    another. `note(file, rows)`: what an import says of a file whose first rows, after `rows`, are
    these; "" for nothing."""

    fits: Callable[[dict[str, Any], RowContext], bool]
    rows: Callable[[TableRow, dict[str, Any], RowContext], Iterator[TableRow]]
    rows_of_file: Callable[[JsonFile], Iterator[TableRow] | None] = lambda _: None
    note: Callable[[str, Sequence[Mapping[str, Any]]], str] = lambda *_: ""


def row_forms() -> tuple[RowForm, ...]:
    return plugins.load("row_forms", RowForm)
