"""Negations in a caption, each with the words in its scope.

A negation means nothing by itself: "a dog with no collar" and "a collar, and no dog" have the same
words. So a negation is compared, kept and removed together with the things, actions or qualities
that it denies. The rules are for English.

>>> text = "A man without a hat or gloves, not riding a horse."
>>> [text[denial.start : denial.end] for denial in denials(Caption.parse(text))]
['without a hat or gloves', 'not riding']
"""

from collections.abc import Sequence
from dataclasses import dataclass

from backend.engine.captions import Caption
from backend.engine.english.phrases import Grammar, grammar_of, is_spaced
from backend.engine.english.word_kinds import kind_of

_MORE = frozenset(("neither", "nor", "cannot"))
#: Negations that are themselves what they deny: "nobody on the bench".
_PRONOUNS = frozenset(("nobody", "nothing"))
_ENDINGS = ("n't", "n’t")
#: Words between a negation and what it governs, at most.
_REACH = 5


@dataclass(frozen=True)
class Denial:
    """Characters `start:end` from the negation to the end of what it denies. `words`: the indices
    of the words in between, inclusive; `governed`: of those that are denied."""

    start: int
    end: int
    words: tuple[int, ...]
    governed: tuple[int, ...]


def is_negation(word: str) -> bool:
    lower = word.lower()
    return kind_of(lower) == "negation" or lower in _MORE or lower.endswith(_ENDINGS)


def denials(caption: Caption, grammar: Grammar | None = None) -> tuple[Denial, ...]:
    """The negations of a caption that govern something, in order; none in a script without spaces.

    `grammar`: of the caption, if already computed."""
    negations = [i for i, word in enumerate(caption.words) if is_negation(word)]
    if not negations or not is_spaced(caption.text):
        return ()
    grammar = grammar or grammar_of(caption)
    words = [word.lower() for word in caption.words]
    denials = []
    for i in negations:
        scope = _all_governed(grammar, words, i)
        if scope:
            numbers = tuple(range(i, scope[-1] + 1))
            start, end = caption.spans[i][0], caption.spans[scope[-1]][1]
            denials.append(Denial(start, end, numbers, scope))
    return tuple(denials)


def _all_governed(grammar: Grammar, words: Sequence[str], i: int) -> tuple[int, ...]:
    if words[i] in _PRONOUNS:
        return (i,)
    begins = words[i] == "no"  # it is part of the noun phrase
    scope = [_governed_word(grammar, words, i if begins else i + 1)]
    while (last := scope[-1]) is not None and words[last + 1 : last + 2] in (["or"], ["nor"]):
        scope.append(_governed_word(grammar, words, last + 2))
    return tuple(place for place in scope if place is not None)


def _governed_word(grammar: Grammar, words: Sequence[str], first: int) -> int | None:
    """The thing, the action or the quality that words from `first` on lead to."""
    for i in range(first, min(first + _REACH, len(words))):
        label, head = grammar.labels[i], grammar.heads[i]
        if label == "link" or words[i] in _PRONOUNS:
            return None
        if label == "adjective" and "determiner" in grammar.labels[i:head]:
            return i  # "not red and a cat"
        if label != "verb" and head is not None:
            return head
        if label in ("verb", "adjective"):
            return i
    return None
