"""How far lines of text show a quotation, whatever the case, the punctuation and the line breaks.

>>> share_shown("Main Street", ["MAIN", "STREET"]), share_shown("EXIT", ["EXlT ->"])
(1.0, 1.0)
>>> share_shown("EXIT", [])
0.0
"""

import unicodedata
from collections.abc import Sequence

#: Characters that are read for each other.
_ALIKE = str.maketrans("01i|", "olll")


def share_shown(quotation: str, lines: Sequence[str]) -> float:
    """0 to 1: the share of the quotation's characters that stand in the lines as they do in it, or,
    as lines may be read in another order, that of its words, whichever is more."""
    text = "".join(map(_plain, lines))
    whole = _plain(quotation)
    words = [plain for word in quotation.split() if (plain := _plain(word))]
    if not whole or not text:
        return 0.0
    by_word = sum(len(word) * _best(word, text) for word in words) / len(whole)
    return max(_best(whole, text), by_word)


def _plain(text: str) -> str:
    """Letters and digits alone, without case and accents."""
    letters = unicodedata.normalize("NFKD", text).casefold().translate(_ALIKE)
    return "".join(letter for letter in letters if letter.isalnum())


def _best(pattern: str, text: str) -> float:
    """1 less the edits a character from `pattern` to that part of the text that is most like it."""
    if pattern in text:
        return 1.0
    edits = [0] * (len(text) + 1)  # it may begin anywhere
    for row, letter in enumerate(pattern, 1):
        diagonal, edits[0] = edits[0], row
        for column, other in enumerate(text, 1):
            least = min(diagonal + (letter != other), edits[column] + 1, edits[column - 1] + 1)
            diagonal, edits[column] = edits[column], least
    return max(0.0, 1 - min(edits) / len(pattern))
