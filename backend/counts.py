"""Counts in sentences."""

from collections.abc import Iterable


def counts_in_words(counts: Iterable[tuple[int, str]]) -> str:
    """Those that are not 0, each with what it is of.

    >>> counts_in_words([(1200, "agree"), (0, "were skipped"), (3, "cannot be used")])
    '1,200 agree; 3 cannot be used'
    """
    return "; ".join(f"{count:,} {what}" for count, what in counts if count)


def count_of(number: int, noun: str) -> str:
    """
    >>> count_of(1, "pair"), count_of(1200, "pair")
    ('1 pair', '1,200 pairs')
    """
    return f"{number:,} {noun}" + ("s" if number != 1 else "")
