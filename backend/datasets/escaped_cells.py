"""Escape and unescape cells of exported CSV that a program would obey instead of showing.

* A caption such as `=HYPERLINK(…)` is evaluated when the CSV is opened in a spreadsheet (CSV
  injection). A leading apostrophe makes it text. To make round trips exact, another apostrophe is
  also put before cells that begin with apostrophes followed by such a character, and one is removed
  again when our own export is read.
* Control characters operate the terminal in which the CSV is printed. Each, except tab and line
  breaks, becomes ␛ and two hexadecimal digits; in such cells ␛ itself is doubled. Cells of others
  stay as they are, unless they hold ␛ and the digits of a control character.
"""

import re
from typing import Any

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
    """Escape a cell for CSV; numbers are unchanged.

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
