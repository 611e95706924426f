"""Counts in sentences."""

from collections.abc import Iterable


def counts_in_words(counts: Iterable[tuple[int, str]]) -> str:
    """Those that are not 0, each with what it is of.

    >>> counts_in_words([(1200, "agree"), (0, "were skipped"), (3, "cannot be used")])
    '1,200 agree; 3 cannot be used'
    """
    return "; ".join(f"{count:,} {what}" for count, what in counts if count)


def count_of(number: int, noun: str = "pair") -> str:
    """
    >>> count_of(1), count_of(1200), count_of(0, "row")
    ('1 pair', '1,200 pairs', '0 rows')
    """
    return counted(number, noun, f"{noun}s")


def counted(number: int, one: str, several: str) -> str:
    """A count whose noun and verb agree with it.

    >>> counted(1, "row is new", "rows are new"), counted(1200, "row is new", "rows are new")
    ('1 row is new', '1,200 rows are new')
    """
    return f"{number:,} {one if number == 1 else several}"
