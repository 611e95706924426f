"""Escape and unescape cells that a spreadsheet would evaluate as formulas.

A caption such as `=HYPERLINK(…)` is evaluated when the CSV is opened in a spreadsheet (CSV
injection). A leading apostrophe makes it text. To make round trips exact, another apostrophe is
also put before cells that begin with apostrophes followed by such a character, and one is removed
again when our own export is read.
"""

import re
from typing import Any

_RISKY = re.compile(r"'*[=+\-@\t\r]")
_MADE_HARMLESS = re.compile(r"'+[=+\-@\t\r]")


def no_formula(cell: Any) -> Any:
    """Escape a cell for CSV; numbers are unchanged.

    >>> no_formula("=1+1"), no_formula("a dog"), no_formula(-0.5)
    ("'=1+1", 'a dog', -0.5)
    """
    return f"'{cell}" if isinstance(cell, str) and _RISKY.match(cell) else cell


def as_it_was(cell: str) -> str:
    """The inverse of `no_formula`.

    >>> as_it_was("'=1+1"), as_it_was("'tis a dog")
    ('=1+1', "'tis a dog")
    """
    return cell[1:] if _MADE_HARMLESS.match(cell) else cell
