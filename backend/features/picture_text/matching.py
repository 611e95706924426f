"""How far lines of text show a quotation, whatever the case, the punctuation and the line breaks.

>>> share_shown("Main Street", ["MAIN", "STREET"]), share_shown("EXIT", ["EXlT ->"])
(1.0, 1.0)
>>> share_shown("STOP", ["SHOP"]), share_shown("EXIT", [])
(0.0, 0.0)
"""

import unicodedata
from collections.abc import Sequence
from itertools import accumulate

#: Characters that are read for each other.
_ALIKE = str.maketrans("01i|", "olll")
#: A letter of a word up to this length makes another word: STOP, SHOP, TOP.
_SHORT = 4
#: A short word inside a longer one is read as two without a blank if so many letters are left.
_REMAINDER = 3


def share_shown(quotation: str, lines: Sequence[str]) -> float:
    """0 to 1: the share of the quotation's characters that stand in the lines as they do in it, or,
    as lines may be read in another order, that of its words, whichever is more."""
    read_words = [plain for line in lines for word in line.split() if (plain := _plain(word))]
    words = [plain for word in quotation.split() if (plain := _plain(word))]
    if not words or not read_words:
        return 0.0
    whole = "".join(words)
    by_word = sum(len(word) * _share_of(word, read_words) for word in words) / len(whole)
    return max(_share_of(whole, read_words), by_word)


def _share_of(pattern: str, words: Sequence[str]) -> float:
    text = "".join(words)
    if len(pattern) > _SHORT or not pattern.isascii():
        return _best(pattern, text)
    edges = set(accumulate(map(len, words), initial=0))
    starts = [n for n in range(len(text)) if text.startswith(pattern, n)]
    are_words = any({start, start + len(pattern)} <= edges for start in starts)
    is_glued = any(pattern in word and len(word) - len(pattern) >= _REMAINDER for word in words)
    return float(are_words or is_glued)


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
