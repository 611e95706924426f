"""What differs between two captions, word by word: the one comparison behind marks, ranks, figures.

Words are compared as they are given; whoever does not care about letter case gives them in lower
case (`lower_words`).
"""

import difflib
from collections.abc import Collection, Sequence
from typing import NamedTuple

from backend.engine.captions import Caption


class Run(NamedTuple):
    """A run of words that both captions have, or that stands in one place of another."""

    kept: bool
    old: range  #: numbers of the words before; empty where words were only put in
    new: range  #: numbers of the words after; empty where words were only left out


def aligned(old: Sequence[str], new: Sequence[str]) -> list[Run]:
    """Both captions from left to right, in runs that are kept and runs that are not.

    >>> [run.kept for run in aligned("a red dog".split(), "a brown dog".split())]
    [True, False, True]
    """
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return [
        Run(tag == "equal", range(i0, i1), range(j0, j1))
        for tag, i0, i1, j0, j1 in matcher.get_opcodes()
    ]


def changes(old: Sequence[str], new: Sequence[str]) -> list[Run]:
    """The runs of words that were left out, put in or exchanged."""
    return [run for run in aligned(old, new) if not run.kept]


def kept_words(old: Sequence[str], new: Sequence[str]) -> frozenset[int]:
    """Numbers of the words of `old` that `new` has as well, in the same order."""
    return frozenset(i for run in aligned(old, new) if run.kept for i in run.old)


def new_words(
    old: Sequence[str], new: Sequence[str], function_words: Collection[str]
) -> frozenset[int]:
    """Numbers of the words of `new` that `old` has not; function words only where nothing else
    differs.

    >>> sorted(new_words("a dog".split(), "an orange dog".split(), {"a", "an"}))
    [1]
    """
    changed = frozenset(j for run in changes(old, new) for j in run.new)
    return frozenset(j for j in changed if new[j] not in function_words) or changed


def lower_words(text: str) -> list[str]:
    """The words of a caption in lower case."""
    return [word.lower() for word in Caption.parse(text).words]
