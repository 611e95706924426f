"""Cell values as text and as JSON that every database and file can store.

Nothing is repaired silently: a value that cannot be stored unchanged raises `BadCell`, which
becomes that row's problem. Two common values do not exist in JSON: NaN, which pandas uses for
missing values, becomes null, and the infinities become the strings "Infinity" and "-Infinity".
"""

import json
import math
import re
from dataclasses import dataclass
from typing import Any

#: Maximum nesting; deeper than any dataset, and within Python's recursion limit.
DEEPEST = 100


class BadCell(ValueError):
    """A value that cannot be stored; the message says what is wrong with it."""


class Embedded(str):
    """The address of an image inside its container (see `containers`), if a cell contains it."""

    __slots__ = ()


@dataclass(frozen=True)
class Unusable:
    """A cell that could not be read, and why."""

    reason: str


def text_of(value: Any) -> str:
    """A cell as text: unchanged if it is text, empty for missing values.

    Bytes are text if they are UTF-8. Raises BadCell.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, Unusable):
        raise BadCell(value.reason)
    if isinstance(value, Embedded):
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
        text_of_number(value)
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


def text_of_number(value: int) -> str:
    """The decimal digits. Raises BadCell if there are more than Python converts to text."""
    try:
        return str(value)
    except ValueError:
        raise BadCell("it holds a number of more than 4,300 digits") from None


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


def shown(text: str, most: int = 120) -> str:
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


def escaped(cell: Any) -> Any:
    """Escape what a program would obey instead of showing, for CSV; numbers are unchanged.

    * A caption such as `=HYPERLINK(…)` is evaluated when the CSV is opened in a spreadsheet (CSV
      injection). A leading apostrophe makes it text. To make round trips exact, another apostrophe
      is also put before cells that begin with apostrophes followed by such a character.
    * Control characters operate the terminal in which the CSV is printed. Each, except tab and line
      breaks, becomes ␛ and two hexadecimal digits; in such cells ␛ itself is doubled.

    >>> escaped("=1+1"), escaped("a dog"), escaped("\\x1b[2J"), escaped(-0.5)
    ("'=1+1", 'a dog', '␛1b[2J', -0.5)
    """
    if not isinstance(cell, str):
        return cell
    if _HAS_CONTROLS.search(cell):
        cell = _CONTROL.sub(lambda m: "␛␛" if m[0] == "␛" else f"␛{ord(m[0]):02x}", cell)
    return f"'{cell}" if _FORMULA.match(cell) else cell


def unescaped(cell: str) -> str:
    """The inverse of `escaped`.

    >>> unescaped("'=1+1"), unescaped("'tis a dog"), unescaped("␛1b[2J")
    ('=1+1', "'tis a dog", '\\x1b[2J')
    """
    if _ESCAPED_FORMULA.match(cell):
        cell = cell[1:]
    if _HAS_ESCAPES.search(cell):
        cell = _ESCAPE.sub(lambda m: "␛" if m[1] == "␛" else chr(int(m[1], 16)), cell)
    return cell
