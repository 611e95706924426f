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
#: Losing all words weighs as much as the largest gain on offer. Chosen on 300 fine-grained errors,
#: three trainings (seeds 40 to 42): with 0.5, 1 and 2 the first suggestion restores 12, 16 and 17
#: of 100 captions (ITM; CLIP 10, 14, 18) and loses 13, 10 and 7 % of the right words. With 2 a
#: wholly wrong caption, which no edit saves, would get an edit first.
COST_OF_WORDS = 1.0
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
