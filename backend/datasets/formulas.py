"""Cells that a spreadsheet would take for formulas, made harmless and back again.

A caption such as `=HYPERLINK(…)` runs when somebody opens the CSV in a spreadsheet (CSV injection).
An apostrophe before it makes it text there. So that a round trip is exact, one more apostrophe goes
before cells that begin with apostrophes and then with such a character, and one is taken off again
when our own export is read.
"""

import re
from typing import Any

_RISKY = re.compile(r"'*[=+\-@\t\r]")
_MADE_HARMLESS = re.compile(r"'+[=+\-@\t\r]")


def no_formula(cell: Any) -> Any:
    """The cell for a CSV; numbers stay as they are.

    >>> no_formula("=1+1"), no_formula("a dog"), no_formula(-0.5)
    ("'=1+1", 'a dog', -0.5)
    """
    return f"'{cell}" if isinstance(cell, str) and _RISKY.match(cell) else cell


def as_it_was(cell: str) -> str:
    """The inverse.

    >>> as_it_was("'=1+1"), as_it_was("'tis a dog")
    ('=1+1', "'tis a dog")
    """
    return cell[1:] if _MADE_HARMLESS.match(cell) else cell
