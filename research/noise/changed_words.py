"""Which words of a caption that somebody else rewrote are new."""

from backend.engine.captions import Caption
from backend.engine.english.function_words import FUNCTION_WORDS
from backend.engine.noise.noisy_caption import NEGATIONS, governed_by
from backend.engine.word_differences import changes, jumped_over, new_words


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
