"""Word-level differences between two captions, used for highlighting, ranking and metrics.

Words are compared as given; for a case-insensitive comparison, pass them in lower case
(`lower_words`).
"""

import difflib
from collections.abc import Sequence
from typing import NamedTuple

from backend.engine.captions import Caption


class Run(NamedTuple):
    """A run of words that both captions share, or that one has in place of the other's."""

    kept: bool
    old: range  #: word indices in the old caption; empty for an insertion
    new: range  #: word indices in the new caption; empty for a deletion


def aligned(old: Sequence[str], new: Sequence[str]) -> list[Run]:
    """Both captions from left to right, as kept and changed runs.

    >>> [run.kept for run in aligned("a red dog".split(), "a brown dog".split())]
    [True, False, True]
    """
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return [
        Run(tag == "equal", range(i0, i1), range(j0, j1))
        for tag, i0, i1, j0, j1 in matcher.get_opcodes()
    ]


def changes(old: Sequence[str], new: Sequence[str]) -> list[Run]:
    """The runs of words that were deleted, inserted or replaced."""
    return [run for run in aligned(old, new) if not run.kept]


def kept_words(old: Sequence[str], new: Sequence[str]) -> frozenset[int]:
    """Indices of the words of `old` that are kept in `new`."""
    return frozenset(i for run in aligned(old, new) if run.kept for i in run.old)


def lower_words(text: str) -> list[str]:
    """The words of a caption in lower case."""
    return [word.lower() for word in Caption.parse(text).words]
