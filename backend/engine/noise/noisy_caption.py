"""A caption with an error in it, and how replacements are written into a user's text.

>>> caption = Caption.parse("An orange cat, sleeping.")
>>> rewrite(caption, (Replacement(1, 1, "black"),))
('A black cat, sleeping.', ((2, 7),))

The article before "orange" was repaired; it is not among the changed words, because it is not what
makes the caption wrong. All other bytes are unchanged.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from backend.engine.captions import Caption
from backend.engine.english.articles import article_for
from backend.engine.english.word_lists import ADJECTIVES, COLOURS, FUNCTION_WORDS
from backend.engine.languages.identification import language_in
from backend.engine.languages.language import ENGLISH

#: Not marked where a negation was removed: the words that it denied are marked instead.
_SILENT = frozenset({"a", "an", "is", "are"})


@dataclass(frozen=True)
class NoisyCaption:
    """A caption that should be wrong for its image.

    * `changed`: character spans in `text` of the words that were changed (for a swap: the whole
      text), without repaired articles.
    * `kind`: "random", "noun" or "fine_grained"; `kinds`: for fine-grained noise what was changed
      ("colour", "number", …), in text order; otherwise `(kind,)`.
    * `original`: the original caption.
    """

    text: str
    changed: tuple[tuple[int, int], ...]
    kind: str
    kinds: tuple[str, ...]
    original: str


@dataclass(frozen=True)
class Replacement:
    """Words `first` … `last` (inclusive) become `text`, which is lower case and not empty.

    `governs`: indices of the caption's words that become false because of it although they are
    unchanged: what an added or removed negation denies.
    """

    first: int
    last: int
    text: str
    governs: tuple[int, ...] = ()


def rewrite(
    caption: Caption, replacements: Iterable[Replacement]
) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The new text and the spans of the changed words in it.

    Replacements must not overlap. If a replacement has as many words as it replaces, only those
    that differ are marked; otherwise all but the words shared at the beginning and the end. Words
    that a replacement governs are marked as well; its articles and forms of "to be" are then not
    marked.
    """
    changes = sorted(replacements, key=lambda replacement: replacement.first)
    repairs = [
        repair
        for replacement in changes
        if (repair := _repaired_article(caption, replacement)) is not None
    ]
    places = {
        word for replacement in changes for word in range(replacement.first, replacement.last + 1)
    }
    silent = [repair for repair in repairs if repair.first not in places]
    scope = {word for replacement in changes for word in replacement.governs} - places
    pieces: list[str] = []
    spans: list[tuple[int, int]] = []
    shifts: list[tuple[int, int]] = []  # from this character of the old text on, by how much
    length = position = 0
    for change in sorted([*changes, *silent], key=lambda replacement: replacement.first):
        start, end = caption.spans[change.first][0], caption.spans[change.last][1]
        new = _with_case_of(change.text, caption.words[change.first : change.last + 1])
        pieces += [caption.text[position:start], new]
        length += start - position
        if change not in silent:
            old = [word.lower() for word in caption.words[change.first : change.last + 1]]
            spans += [
                (length + a, length + b)
                for a, b in _changed_words(old, new)
                if not (change.governs and new[a:b].lower() in _SILENT)
            ]
        length += len(new)
        position = end
        shifts.append((end, length - end))
    for word in scope:
        start, end = caption.spans[word]
        shift = next((by for after, by in reversed(shifts) if after <= start), 0)
        spans.append((start + shift, end + shift))
    return "".join([*pieces, caption.text[position:]]), tuple(sorted(set(spans)))


def negation_scope(words: Sequence[str], position: int) -> tuple[int, ...]:
    """Indices of the words that a negation at `position` denies: the next word with a meaning, and
    the noun if that is an adjective. `words` are in lower case.

    >>> negation_scope("a dog without a red collar on grass".split(), 2)
    (4, 5)
    """
    scope: list[int] = []
    for index in range(position + 1, len(words)):
        if words[index] in FUNCTION_WORDS:
            if scope:
                break
            continue
        scope.append(index)
        if words[index] not in ADJECTIVES and words[index] not in COLOURS:
            break
    return tuple(scope)


def _with_case_of(text: str, old: tuple[str, ...]) -> str:
    letters = "".join(old)
    if len(letters) > 1 and letters.isupper():
        return text.upper()
    return text[:1].upper() + text[1:] if old[0][:1].isupper() else text


def _changed_words(old: list[str], new: str) -> list[tuple[int, int]]:
    """Spans in `new` of the words that are not in `old` at the same position."""
    caption = Caption.parse(new)
    words = [word.lower() for word in caption.words]
    if len(old) == len(words):
        is_changed = [a != b for a, b in zip(old, words, strict=True)]
    else:
        front = 0
        while front < min(len(old), len(words)) and old[front] == words[front]:
            front += 1
        back = 0
        while back < min(len(old), len(words)) - front and old[-1 - back] == words[-1 - back]:
            back += 1
        is_changed = [front <= i < len(words) - back for i in range(len(words))]
    if not any(is_changed):  # words were only deleted: mark all that are left
        is_changed = [True] * len(words)
    return [span for span, changed in zip(caption.spans, is_changed, strict=True) if changed]


def _repaired_article(caption: Caption, replacement: Replacement) -> Replacement | None:
    """The corrected article before a replacement, if it was right before and is wrong now."""
    if replacement.first == 0 or language_in(caption.text) is not ENGLISH:
        return None
    article = caption.words[replacement.first - 1].lower()
    fits = article_for(replacement.text)
    if article not in ("a", "an") or article == fits:
        return None
    was_right = article == article_for(caption.words[replacement.first])
    return Replacement(replacement.first - 1, replacement.first - 1, fits) if was_right else None
