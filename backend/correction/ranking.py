"""Which correction goes first: what gains most for the words that it costs.

A caption described anew often matches best and says something else, so words that are lost count
against a gain; among corrections that are worth the same the smallest edit goes first. What does
not improve the caption goes last.
"""

import difflib
from collections.abc import Callable, Sequence
from typing import TypeVar

from backend.captions import Caption

T = TypeVar("T")

#: Gains in s below this share of the scale are noise, not an improvement worth a click.
SMALLEST_GAIN = 1e-3
#: Losing all words weighs as much as half of the largest gain on offer. On drawn scenes the first
#: suggestion then restores the caption in 23 of 100 (17 where only s counts) and loses 15 % of the
#: right words (26 %); what it says is true in 47 (55).
COST_OF_WORDS = 0.5
#: Worths that differ by less are equal.
_EQUAL = 2


def ranked(
    offers: Sequence[T],
    caption: Caption,
    s_before: float,
    text_of: Callable[[T], str],
    s_of: Callable[[T], float],
) -> list[T]:
    """The offers, best first. Stable: equal ones stay in their order."""
    most = max((s_of(one) for one in offers), default=s_before) - s_before

    def key(one: T) -> tuple[bool, float, int]:
        gain = s_of(one) - s_before
        if gain <= SMALLEST_GAIN:
            return True, -gain, 0
        worth = gain / most - COST_OF_WORDS * share_lost(caption, text_of(one))
        return False, -round(worth, _EQUAL), words_changed(caption, text_of(one))

    return sorted(offers, key=key)


def share_lost(caption: Caption, text: str) -> float:
    """Share of the caption's words that the text leaves out or exchanges.

    >>> round(share_lost(Caption.parse("a red dog on sand"), "a brown dog on sand"), 3)
    0.2
    """
    same = sum(block.size for block in _matcher(caption, text).get_matching_blocks())
    return 1 - same / max(1, len(caption.words))


def words_changed(caption: Caption, text: str) -> int:
    """Words left out, put in or exchanged; a word exchanged for another counts once.

    >>> words_changed(Caption.parse("a red dog on sand"), "a brown dog")
    3
    """
    return sum(
        max(end - start, other_end - other_start)
        for tag, start, end, other_start, other_end in _matcher(caption, text).get_opcodes()
        if tag != "equal"
    )


def _matcher(caption: Caption, text: str) -> difflib.SequenceMatcher[str]:
    old = [word.lower() for word in caption.words]
    new = [word.lower() for word in Caption.parse(text).words]
    return difflib.SequenceMatcher(None, old, new, autojunk=False)
