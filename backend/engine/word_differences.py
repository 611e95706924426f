"""Word-level differences between two captions, used for highlighting, ranking and metrics.

Words are compared as given; for a case-insensitive comparison, pass them in lower case
(`lower_words`).
"""

import difflib
from collections.abc import Collection, Sequence
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


def new_words(
    old: Sequence[str], new: Sequence[str], function_words: Collection[str]
) -> frozenset[int]:
    """Indices of the words of `new` that are not in `old`; function words count only if nothing
    else differs.

    >>> sorted(new_words("a dog".split(), "an orange dog".split(), {"a", "an"}))
    [1]
    """
    changed = frozenset(j for run in changes(old, new) for j in run.new)
    return frozenset(j for j in changed if new[j] not in function_words) or changed


def jumped_over(
    old: Sequence[str], new: Sequence[str], function_words: Collection[str]
) -> frozenset[int]:
    """Indices of the words of `new` that changed places with moved ones: both sides of an exchange
    have changed, although an alignment moves only one of them. Empty if no word was moved.

    >>> before, after = "two dogs near a cat".split(), "a cat near two dogs".split()
    >>> sorted(jumped_over(before, after, {"a"}) | new_words(before, after, {"a"}))
    [1, 2, 3, 4]
    """
    runs = aligned(old, new)
    removed = {old[i]: n for n, run in enumerate(runs) if not run.kept for i in run.old}
    between: set[int] = set()
    for n, run in enumerate(runs):
        if run.kept:
            continue
        for word in {new[j] for j in run.new} - set(function_words):
            if word in removed and removed[word] != n:
                first, last = sorted((n, removed[word]))
                between.update(j for other in runs[first + 1 : last] for j in other.new)
    return frozenset(j for j in between if new[j] not in function_words)


def lower_words(text: str) -> list[str]:
    """The words of a caption in lower case."""
    return [word.lower() for word in Caption.parse(text).words]
