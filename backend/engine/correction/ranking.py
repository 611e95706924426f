"""Rank corrections by their gain in score against the words they lose.

A newly generated caption often scores best but says something else, so lost words count against the
gain; ties are broken by the smallest edit. Corrections that do not improve the caption come last.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from backend.engine.captions import Caption
from backend.engine.word_differences import changes, kept_words, lower_words

T = TypeVar("T")

#: Gains in s up to this are noise, not an improvement worth a click.
SMALLEST_GAIN = 1e-3
#: At 1, losing all words weighs as much as the largest gain. Chosen on 300 fine-grained errors,
#: three training runs (seeds 40 to 42): with 0.5, 1 and 2 the first suggestion restores 12, 16 and
#: 17 of 100 captions (ITM; CLIP 10, 14, 18) and loses 13, 10 and 7 % of the correct words. With 2,
#: an entirely wrong caption, which no edit can fix, would get an edit first.
COST_OF_WORDS = 1.0
#: Decimals to which a correction's worth is rounded, so that near ties count as ties.
_EQUAL = 2


def ranked(
    suggestions: Sequence[T],
    caption: Caption,
    s_before: float,
    text_of: Callable[[T], str],
    s_of: Callable[[T], float],
) -> list[T]:
    """The suggestions, best first. The sort is stable."""
    most = max((s_of(suggestion) for suggestion in suggestions), default=s_before) - s_before

    def key(suggestion: T) -> tuple[bool, float, int]:
        gain = s_of(suggestion) - s_before
        if gain <= SMALLEST_GAIN:
            return True, -gain, 0
        worth = gain / most - COST_OF_WORDS * share_lost(caption, text_of(suggestion))
        return False, -round(worth, _EQUAL), words_changed(caption, text_of(suggestion))

    return sorted(suggestions, key=key)


def share_lost(caption: Caption, text: str) -> float:
    """Share of the caption's words that the text omits or replaces.

    >>> round(share_lost(Caption.parse("a red dog on sand"), "a brown dog on sand"), 3)
    0.2
    """
    old = lower_words(caption.text)
    return 1 - len(kept_words(old, lower_words(text))) / max(1, len(old))


def words_changed(caption: Caption, text: str) -> int:
    """Number of words deleted, inserted or replaced; a replacement counts once.

    >>> words_changed(Caption.parse("a red dog on sand"), "a brown dog")
    3
    """
    return sum(
        max(len(run.old), len(run.new))
        for run in changes(lower_words(caption.text), lower_words(text))
    )
