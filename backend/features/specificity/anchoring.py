"""Find unsupported claims in a richer caption, without a model.

A proposal is *anchored* in its sources if its content words occur in them: the same word, another
form of it, or a synonym from the word list. Numbers and negations must match exactly, a number
together with what it counts and a negation together with what it governs. If the proposal and the
human captions disagree about an object, the human captions win
(`backend/engine/correction/anchoring.py`).
"""

from collections.abc import Iterable, Sequence

from backend.engine.correction.anchoring import (
    UnanchoredWord,
    content_words,
    misplaced_negations,
    numbers_in,
    written_numbers,
)
from backend.engine.english import word_lists
from backend.engine.english.counting import number_of
from backend.engine.english.nouns import lemma
from backend.engine.english.word_kinds import kind_of

_EXACT = ("count", "negation")


def find_unsupported(proposal: str, sources: Iterable[str]) -> list[UnanchoredWord]:
    """Content words of the proposal that occur in no source, and its counts, negations and
    affirmations that no source supports, in order.

    >>> [one.word for one in find_unsupported("A dog on a wooden bench", ["a dog", "the benches"])]
    ['wooden']
    >>> [one.word for one in find_unsupported("Two cats and a dog", ["two dogs", "a cat"])]
    ['Two cats']
    """
    sources = list(sources)
    words = [word for text in sources for _, _, word in content_words(text)]
    exact = {number_of(word) or word.lower() for word in words}
    lemmas = {lemma(word) for word in words}
    additions = []
    for start, end, word in content_words(proposal):
        is_anchored = (number_of(word) or word.lower()) in exact
        is_anchored = is_anchored or (kind_of(word) not in _EXACT and lemma(word) in lemmas)
        if not is_anchored:
            additions.append(
                UnanchoredWord(start, end, word, f"adds a word that no person wrote: '{word}'")
            )
    negations = misplaced_negations(proposal, sources, with_unmentioned=True)
    counts = [
        fault
        for fault in _find_miscounted(proposal, sources)
        if not any(fault.start <= word.start < fault.end for word in additions)
    ]
    return sorted([*negations, *counts, *additions], key=lambda fault: fault.start)


def _find_miscounted(proposal: str, sources: Sequence[str]) -> list[UnanchoredWord]:
    """Numbers that no source states for the same thing."""
    own_numbers = written_numbers(proposal)
    if not own_numbers:
        return []
    numbers, loose_numbers = numbers_in(sources)
    faults = []
    for thing, count in own_numbers:
        source_numbers = numbers.get(thing, set())
        # "Two people", whom another caption calls men.
        general = numbers.get(_general(thing), set()) if source_numbers <= {""} else set()
        if count.number not in source_numbers | general | loose_numbers:
            text = proposal[count.start : count.end]
            why = f"gives a count that no person gave: '{text}'"
            faults.append(UnanchoredWord(count.start, count.end, text, why))
    return faults


def _general(thing: str) -> str:
    """A word for things of this kind: "person" for "man", "animal" for "dog"; "" for none."""
    if kind_of(thing) == "person":
        return "person"
    return next((name for name, nouns in word_lists.NOUNS.items() if thing in nouns), "")


def anchored_share(proposal: str, sources: Iterable[str]) -> float:
    """The share of content words that occur in a source and are negated only where that source
    negates them; 1 if there are none."""
    words = content_words(proposal)
    faults = find_unsupported(proposal, sources)
    without_source = [
        (start, end)
        for start, end, _ in words
        if any(start < fault.end and end > fault.start for fault in faults)
    ]
    return 1 - len(without_source) / len(words) if words else 1.0
