"""Which words of a caption that somebody else rewrote are new."""

from collections.abc import Collection, Sequence

from backend.engine.captions import Caption
from backend.engine.english.function_words import FUNCTION_WORDS
from backend.engine.noise.noisy_caption import governed_by
from backend.engine.word_differences import aligned, changes

NEGATIONS = frozenset({"no", "not", "without", "never"})


def changed_spans(original: str, new: str) -> tuple[tuple[int, int], ...]:
    """Spans in `new` of the words that differ from `original`, without function words if other
    words differ too; both sides of an exchange; what an added or removed negation denies. If words
    were only deleted, the words next to the gaps.

    >>> changed_spans("A brown dog on grass", "An orange dog on sand")
    ((3, 9), (17, 21))
    """
    old, parsed = Caption.parse(original), Caption.parse(new)
    before = [word.lower() for word in old.words]
    after = [word.lower() for word in parsed.words]
    new_places = new_words(before, after, FUNCTION_WORDS)
    new_places |= jumped_over(before, after, FUNCTION_WORDS)
    denied: set[int] = set()
    for run in changes(before, after):
        for j in run.new:
            if after[j] in NEGATIONS:
                denied.update(governed_by(after, j))
        if any(before[i] in NEGATIONS for i in run.old):
            denied.update(governed_by(after, run.new.stop - 1))
    if denied:
        new_places = frozenset(j for j in new_places if after[j] not in FUNCTION_WORDS) | denied
    if not new_places:
        gaps = [run.new.start for run in changes(before, after)]
        new_places = frozenset(j for gap in gaps for j in (gap - 1, gap) if 0 <= j < len(after))
    return tuple(parsed.spans[j] for j in sorted(new_places))


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
