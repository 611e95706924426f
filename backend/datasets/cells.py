"""Rows of tables and their cells, as text and as JSON that every database and file can store; and
the proof at the end of an image's address: "#" and a hash of its bytes.

Nothing is repaired silently: a value that cannot be stored unchanged raises `BadCell`, which
becomes that row's problem. NaN, which pandas uses for missing values, becomes null; the infinities
become "Infinity" and "-Infinity". Nothing here imports pyarrow.
"""

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from backend.errors import DatasetFormatError


@dataclass(frozen=True)
class TableRow:
    """`values` by column; None with a `problem` if the row itself cannot be read.

    `number` is None if the problem concerns many rows or the whole file. `split`: the one that its
    folder states, for a row without a value of its own. `within`: the folder of an archive that the
    row's paths are relative to, such as `a.zip!/train`; "" outside of archives.
    `is_anywhere`: its picture may be in any folder of the dataset.
    """

    number: int | None
    values: dict[str, Any] | None
    problem: str = ""
    split: str = ""
    within: str = ""
    is_anywhere: bool = False


def without_surrogates(text: str) -> str:
    """The text with U+FFFD in place of lone surrogates, which UTF-8 cannot encode."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


class UniqueNames(dict[str, Any]):
    """An object of JSON; `twice`: a name that it has twice, so that one value would be lost."""

    twice: str | None = None

    def __setitem__(self, name: str, value: Any) -> None:
        if name in self:
            self.twice = name
        super().__setitem__(name, value)

    def row(self, number: int) -> TableRow:
        """The object as a row, or the problem with it."""
        if self.twice is None:
            return TableRow(number, self)
        return TableRow(number, None, f"This object has the field '{self.twice[:80]}' twice.")


def unique_names(pairs: Iterable[tuple[str, Any]]) -> UniqueNames:
    """The `object_pairs_hook` of `json`."""
    values = UniqueNames()
    for name, value in pairs:
        values[name] = value
    return values


def json_object(text: str) -> dict[str, Any]:
    """The object in a text. Raises ValueError if there is none, or if it has a name twice."""
    values = json.loads(text, object_pairs_hook=unique_names)
    if not isinstance(values, UniqueNames):
        raise ValueError("it holds no object")
    if values.twice is not None:
        raise ValueError(f"it has the field '{values.twice[:80]}' twice")
    return values


def check_names(names: Sequence[str], file: str) -> None:
    """Raise DatasetFormatError if two columns have the same name: one of them would be lost."""
    for name in names:
        if name and names.count(name) > 1:
            places = [str(index) for index, other in enumerate(names, 1) if other == name]
            raise DatasetFormatError(
                f"'{file}' has {len(places)} columns named '{name[:80]}' (columns "
                f"{', '.join(places)}). Give each a name of its own."
            )


_PROVED = re.compile(r"(.*)#([0-9a-f]{32})", re.DOTALL)


def split_proof(relative: str) -> tuple[str, str]:
    """The place of an image, and its proof; "" if it has none."""
    match = _PROVED.fullmatch(relative)
    return (match[1], match[2]) if match else (relative, "")


def picture_key(relative: str) -> str:
    """What identifies a picture: its proof, or its place if it has none."""
    place, proof = split_proof(relative)
    return proof or place


#: Maximum nesting; deeper than any dataset, and within Python's recursion limit.
DEEPEST = 100


class BadCell(ValueError):
    """A value that cannot be stored; the message says what is wrong with it."""


class EmbeddedImage(str):
    """The address of an image inside its container (see `containers`), if a cell contains it."""

    __slots__ = ()


@dataclass(frozen=True)
class Unusable:
    """A cell that could not be read, and why."""

    reason: str


#: A cell of a column of bytes that are neither pictures nor texts. It is not kept.
UNREAD_BYTES = Unusable("it holds bytes that are neither a picture nor text")


def text_of(value: Any) -> str:
    """A cell as text: unchanged if it is text, empty for missing values.

    Bytes are text if they are UTF-8. Raises BadCell.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, Unusable):
        raise BadCell(value.reason)
    if isinstance(value, EmbeddedImage):
        raise BadCell("it holds binary data, not text")
    if isinstance(value, str):
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        try:
            return bytes(value).decode("utf-8")
        except UnicodeDecodeError:
            raise BadCell("it holds bytes that are not UTF-8") from None
    if isinstance(value, list | dict | tuple | bool):
        return json.dumps(json_value(value), ensure_ascii=False)
    try:
        return str(value)
    except Exception as problem:  # raised by a library's own type
        raise BadCell(f"it cannot be written as text: {problem}") from problem


def plain_text(value: Any) -> str:
    """The same; "" for a cell that holds no text."""
    try:
        return text_of(value)
    except BadCell:
        return ""


def json_value(value: Any, depth: int = 0) -> Any:
    """The value in a form that JSON can represent; other types become text. Raises BadCell."""
    if depth > DEEPEST:
        raise BadCell(f"it is nested more than {DEEPEST} levels deep")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        if problem := text_problem(value):
            raise BadCell(problem)
        return str(value)
    if isinstance(value, int):
        try:
            str(value)
        except ValueError:
            raise BadCell("it holds a number of more than 4,300 digits") from None
        return int(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        return None if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if isinstance(value, dict):
        return {json_value(text_of(k)): json_value(v, depth + 1) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item, depth + 1) for item in value]
    return json_value(text_of(value))


def size_of(value: Any) -> int:
    """Approximate size of a stored value in characters."""
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, dict):
        return sum(size_of(key) + size_of(inner) for key, inner in value.items())
    return sum(map(size_of, value)) if isinstance(value, list | tuple) else 16


def text_problem(text: str) -> str:
    """Why some database cannot store the text unchanged; "" if all can."""
    if "\0" in text:
        return "it holds a zero byte"
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            return "it holds characters that are not Unicode (lone surrogates)"
    return ""


def trim(text: str, most: int = 120) -> str:
    """Untrusted text for use in a message: storable and short."""
    return text[:most].replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_ESCAPED_FORMULA = re.compile(r"'+[=+\-@\t\r]")
_CONTROLS = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
_DIGITS = "0[0-8bcef]|1[0-9a-f]|7f|[89][0-9a-f]"
#: What is escaped, in the cells that need it.
_HAS_CONTROLS = re.compile(f"[{_CONTROLS}]|␛(?:{_DIGITS})")
_CONTROL = re.compile(f"[{_CONTROLS}␛]")
_HAS_ESCAPES = re.compile(f"␛(?:{_DIGITS})")
_ESCAPE = re.compile(f"␛(␛|{_DIGITS})")


def escape(cell: Any) -> Any:
    """Escape what a program would obey instead of showing, for CSV; numbers are unchanged.

    * A caption such as `=HYPERLINK(…)` is evaluated when the CSV is opened in a spreadsheet (CSV
      injection). A leading apostrophe makes it text. To make round trips exact, another apostrophe
      is also put before cells that begin with apostrophes followed by such a character.
    * Control characters operate the terminal in which the CSV is printed. Each, except tab and line
      breaks, becomes ␛ and two hexadecimal digits; in such cells ␛ itself is doubled.

    >>> escape("=1+1"), escape("a dog"), escape("\\x1b[2J"), escape(-0.5)
    ("'=1+1", 'a dog', '␛1b[2J', -0.5)
    """
    if not isinstance(cell, str):
        return cell
    if _HAS_CONTROLS.search(cell):
        cell = _CONTROL.sub(lambda m: "␛␛" if m[0] == "␛" else f"␛{ord(m[0]):02x}", cell)
    return f"'{cell}" if _FORMULA.match(cell) else cell


def unescape(cell: str) -> str:
    """The inverse of `escape`.

    >>> unescape("'=1+1"), unescape("'tis a dog"), unescape("␛1b[2J")
    ('=1+1', "'tis a dog", '\\x1b[2J')
    """
    if _ESCAPED_FORMULA.match(cell):
        cell = cell[1:]
    if _HAS_ESCAPES.search(cell):
        cell = _ESCAPE.sub(lambda m: "␛" if m[1] == "␛" else chr(int(m[1], 16)), cell)
    return cell
