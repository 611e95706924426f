"""Rows of delimited values, robust against unclosed quotation marks.

`csv` treats everything from a quotation mark to the next one as one cell, across any number of
lines. Therefore each multi-line record is checked while it grows: if a line in it looks like a
complete row (as many cells as the header, and an image cell that looks like those of other rows),
or if the record never ends, its first line is reported as a problem (in a TSV, read as it is), and
reading resumes with the next line. Ordinary multi-line captions are not affected.
"""

import csv
import io
import re
from collections import deque
from collections.abc import Iterable, Iterator

from backend.datasets.cells import TableRow, check_names
from backend.datasets.columns import IMAGE_NAMES
from backend.datasets.read_options import PICTURES
from backend.datasets.safe_files.text_files import LONGEST_LINE, TextLine
from backend.errors import DatasetFormatError

#: Supported delimiters, the most common first.
DELIMITERS = (",", ";", "\t", "|")
#: Maximum number of characters of a multi-line record.
_LONGEST_RECORD = 2_000_000
_SHAPES = 200
#: Stands for a carriage return within a line, which `csv` accepts in quoted cells alone and pandas
#: writes without quotation marks (before Python 3.13). No decoded text has this surrogate.
_RETURN = "\ud80d"
#: The line by which Excel is told the delimiter.
_EXCEL = re.compile(r"sep=(.)", re.IGNORECASE)
#: A quoted cell and the text before it; the cell may continue on the next line.
_QUOTED = re.compile(r'(^|[,;\t|])"[^"]*(?:""[^"]*)*(?:"|$)')


class _NeverClosed(Exception):
    """The record being read has an unclosed quotation mark."""


def csv_rows(
    lines: Iterable[TextLine], delimiter: str | None, name: str = "the table"
) -> Iterator[TableRow]:
    """Rows by the names in the header. `delimiter`: None detects it from the header. Raises
    DatasetFormatError for duplicate column names, or if there is no header."""
    # Captions may be longer than csv's own limit of 131,072 characters per field.
    csv.field_size_limit(LONGEST_LINE)
    feed = _Lines(lines)
    header: list[str] | None = None
    reader = csv.reader(feed, delimiter=delimiter or ",", strict=True)
    while True:
        feed.begin()
        if header is None and (first := feed.peek()) is not None:
            if match := _EXCEL.fullmatch(first.strip()):
                delimiter = delimiter or match[1]
                next(feed)
                continue
            reader = csv.reader(feed, delimiter=delimiter or _delimiter_of(first), strict=True)
        try:
            cells = [cell.replace(_RETURN, "\r") for cell in next(reader)]
        except StopIteration:
            break
        except _Unreadable as problem:
            yield TableRow(feed.number, None, str(problem))
            continue
        except (_NeverClosed, csv.Error) as problem:
            cells = feed.plain_cells(isinstance(problem, _NeverClosed))
            if header is not None and cells:
                yield TableRow(feed.first, dict(zip(header, cells, strict=True)))
            elif isinstance(problem, _NeverClosed) or feed.ended:
                yield TableRow(feed.first, None, _NEVER_CLOSED)
            else:
                yield TableRow(feed.first, None, _csv_problem(problem))
            feed.again()
            continue
        if header is None:
            header = _names_without_header(cells) or [cell.strip() for cell in cells]
            check_names(header, name)
            feed.know(header, reader.dialect.delimiter)
            if header != [cell.strip() for cell in cells]:
                yield TableRow(feed.number, dict(zip(header, cells, strict=True)))
            continue
        if not cells:
            continue
        if len(cells) > len(header):
            yield TableRow(
                feed.number,
                None,
                f"{len(cells)} cells where the header has {len(header)}. Put captions that "
                'hold commas into double quotes ("…").',
            )
            continue
        feed.learn(cells)
        yield TableRow(feed.number, dict(zip(header, cells, strict=False)))
    if header is None:
        raise DatasetFormatError(f"'{name}' is empty: it has no header line.")


_NEVER_CLOSED = (
    'A cell that begins with a quotation mark (") on this line is not closed: it would swallow the '
    'rows after it. Close it, or write marks within a cell twice ("").'
)


def _csv_problem(problem: csv.Error) -> str:
    if "expected after" in str(problem):
        return (
            'Text follows a closing quotation mark ("): the cell has lost or misplaced one. Write '
            'marks within a cell twice ("").'
        )
    return f"This line is not valid CSV: {problem}."


class _Unreadable(Exception):
    """A line that cannot be decoded."""


class _Lines(Iterator[str]):
    """The lines that `csv.reader` reads; keeps track of those of the current record."""

    def __init__(self, lines: Iterable[TextLine]) -> None:
        self._lines = _without_returns(lines)
        self._pushed: deque[TextLine] = deque()
        self.number = 0
        self.begin()
        self._columns = self._image = 0
        self._delimiter = ","
        self._shapes: dict[str, None] = {}

    def begin(self) -> None:
        """Start a new record."""
        self.taken: list[str] = []
        self.first = self.number + 1
        self._length = 0
        self.ended = False

    def again(self) -> None:
        """Push back all lines of the record but the first, to read them again."""
        self._pushed.extendleft(TextLine(line) for line in reversed(self.taken[1:]))
        self.number = self.first

    def plain_cells(self, is_followed: bool) -> list[str]:
        """The cells of a row of TSV with an odd quotation mark, which is a character there: the
        format has none of its own (IANA). Empty for other rows. `is_followed`: the last line taken
        is the next row."""
        if self._delimiter != "\t" or len(self.taken) != 1 + is_followed:
            return []
        cells = self.taken[0].rstrip("\r\n").replace(_RETURN, "\r").split("\t")
        return cells if len(cells) == self._columns else []

    def peek(self) -> str | None:
        """The next line without consuming it; None at the end or if it cannot be decoded."""
        if not self._pushed and (line := next(self._lines, None)) is not None:
            self._pushed.append(line)
        return self._pushed[0].text if self._pushed else None

    def know(self, header: list[str], delimiter: str) -> None:
        """Store the number of columns and the image column, to recognise rows."""
        self._columns, self._delimiter = len(header), delimiter
        lower = [cell.lower() for cell in header]
        self._image = next((lower.index(n) for n in IMAGE_NAMES if n in lower), 0)

    def learn(self, cells: list[str]) -> None:
        """Learn from a valid row what image cells look like."""
        if len(self._shapes) < _SHAPES and self._image < len(cells):
            self._shapes[_shape(cells[self._image])] = None

    def __next__(self) -> str:
        line = self._pushed.popleft() if self._pushed else next(self._lines, None)
        if line is None:
            self.ended = True
            raise StopIteration
        if line.text is None:
            if self.taken:
                # The record ends before this line, which is reported separately.
                self._pushed.appendleft(line)
                raise _NeverClosed
            self.number += 1
            raise _Unreadable(line.problem)
        self.number += 1
        self.taken.append(line.text)
        self._length += len(line.text)
        if len(self.taken) > 1 and (
            self._length > _LONGEST_RECORD or self._looks_like_row(line.text)
        ):
            raise _NeverClosed
        return line.text

    def _looks_like_row(self, line: str) -> bool:
        if self._columns < 2 or self._delimiter not in line or self._closes(line):
            return False
        try:
            (cells,) = csv.reader([line], delimiter=self._delimiter)
        except (csv.Error, ValueError):
            return False
        if len(cells) != self._columns:
            return False
        image = cells[self._image]
        if not image or image != image.strip() or image.startswith('"'):
            return False
        if image.lower().endswith(PICTURES) and len(image.split()) == 1:
            return True
        return _shape(image) in self._known_shapes()

    def _closes(self, line: str) -> bool:
        """Whether the line's first quotation mark ends a cell that began on an earlier line."""
        plain = line.rstrip("\r\n").replace('""', "")
        before, mark, after = plain.partition('"')
        opens = not before or before.endswith(self._delimiter)
        return bool(mark) and not opens and (not after or after.startswith(self._delimiter))

    def _known_shapes(self) -> Iterable[str]:
        """Shapes of image cells read so far; if there are none, that of the record's own image."""
        if self._shapes:
            return self._shapes
        before = self.taken[0].split('"')[0].split(self._delimiter)
        image = before[self._image : self._image + 1] if len(before) > self._image + 1 else []
        return [_shape(cell) for cell in image]


def _without_returns(lines: Iterable[TextLine]) -> Iterator[TextLine]:
    """Lines without carriage returns but at their ends. If the first line has one, they are line
    ends; elsewhere they are characters of a cell, for which `_RETURN` stands."""
    are_ends = None
    for line in lines:
        has_one = line.text is not None and has_return(line.text)
        are_ends = has_one if are_ends is None else are_ends
        if line.text is None or not has_one:
            yield line
        elif are_ends:
            yield from map(TextLine, split_at_returns(line.text))
        else:
            text = line.text.rstrip("\r\n")
            yield TextLine(text.replace("\r", _RETURN) + line.text[len(text) :])


def has_return(line: str) -> bool:
    """Whether a carriage return is before the line's end."""
    return "\r" in line.rstrip("\r\n")


def split_at_returns(line: str) -> Iterator[str]:
    """The lines of a line that bare carriage returns end."""
    return iter(io.StringIO(line, newline=""))


def _delimiter_of(header: str) -> str:
    """The delimiter that is most frequent in the header, outside quoted names."""
    # Not csv.Sniffer: it prefers a comma wherever one occurs, takes "image;caption;size (w, h)" for
    # comma-separated, and its time has no useful bound. More lines do not help: captions hold more
    # commas than a table has delimiters.
    plain = _QUOTED.sub(r"\1", header)
    return max(DELIMITERS, key=plain.count)


def _names_without_header(cells: list[str]) -> list[str]:
    """Names of the columns of a table of pictures and captions whose first line is a pair already;
    empty for any other.

    >>> _names_without_header(["A dog.", "a.jpg"]), _names_without_header(["image", "caption"])
    (['caption', 'image'], [])
    """
    are_pictures = [cell.strip().lower().endswith(PICTURES) for cell in cells]
    if len(cells) != 2 or sum(are_pictures) != 1:
        return []
    return ["image" if is_picture else "caption" for is_picture in are_pictures]


def _shape(cell: str) -> str:
    """Collapse runs of letters and of digits: 'img/0012.jpg' and 'img/7.jpg' have the same shape.

    The extension is kept, because it is the most informative part.
    """
    stem, dot, ending = cell.rpartition(".")
    if not dot or len(ending) > 5:
        stem, ending = cell, ""
    plain = re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "0", stem))
    return f"{plain}.{ending.lower()}"
