"""Remove a phrase from a caption and leave a grammatical caption.

Only what depends on a phrase is removed with it: an object takes along its article, its attributes,
what it does and wears, and the words that link it to what precedes it; a relation between two
objects that are kept becomes "and"; an attribute is removed alone. A negation is removed with what
it governs: "no red collar" without "red" would deny more.
"""

import re
from collections.abc import Sequence

from backend.engine.captions import Caption
from backend.engine.english.negations import Denial, denials
from backend.engine.english.phrases import Phrase, phrases_of
from backend.engine.english.shortening import tidy
from backend.engine.english.word_kinds import kind_of

_ARTICLES = frozenset(("a", "an", "the"))
_COPULAS = frozenset(("is", "are", "was", "were"))
#: Words that cannot stay without what follows them.
_AUXILIARIES = frozenset(("has", "have", "had", "does", "do", "did", "can"))
_RELATIVE = frozenset(("that", "which", "who"))
#: Words that link an object to what precedes it; all that directly precede it are removed with it.
_TIES = frozenset(
    (
        *("with", "on", "in", "at", "by", "near", "next", "to", "beside", "of", "under", "over"),
        *("above", "beneath", "underneath", "top", "left", "right", "front", "behind", "from"),
        *("no", "not", "without", "for", "into", "onto", "during"),
    )
)
_PRONOUNS = (("it",), ("them",))
_WEARING = frozenset(("in", "wearing"))
_LEADING = re.compile(
    r"^(?:(?:and|with|on|in|at|by|of|to|under|over|above|beneath|underneath|left|right|front|near|"
    r"next|beside|behind|top|is|are|holding|carrying|riding|wearing)\b[ ,]*"
    r"(?:the (?=left|right|front|top))?)+",
    re.IGNORECASE,
)


def without_phrase(text: str, start: int, end: int) -> str:
    """The text without the phrase in characters start:end.

    >>> without_phrase("A dog on a red bench in the park.", 11, 14)  # "red": red alone
    'A dog on a bench in the park.'
    >>> without_phrase("A dog on a red bench in the park.", 15, 20)  # the bench
    'A dog in the park.'
    >>> without_phrase("A dog standing to the left of a cat.", 15, 29)  # the relation
    'A dog standing and a cat.'
    >>> without_phrase("A dog sleeping on a bench.", 6, 14)  # the verb of a relation
    'A dog on a bench.'
    """
    caption = Caption.parse(text)
    removal = {place for place, (a, b) in enumerate(caption.spans) if a < end and b > start}
    if not removal:
        return text
    negations = denials(caption)
    removal = _with_denials(negations, removal)
    start, end = (
        min(start, caption.spans[min(removal)][0]),
        max(end, caption.spans[max(removal)][1]),
    )
    phrases = phrases_of(text)
    struck = [phrase for phrase in phrases if phrase.start < end and phrase.end > start]
    kinds = {phrase.kind for phrase in struck}
    replacements: dict[int, str] = {}
    if any(phrase.kind == "relation" and phrase.end > end for phrase in struck):
        kinds.discard("relation")  # only its verb: the preposition stays
    if "relation" in kinds and (place := _place_after(text, phrases, end)) is not None:
        removal.update(_words_of(caption, place))
        kinds.add("object")
    if "object" in kinds or (not struck and not _is_quality(caption, removal)):
        removal = _thing(caption, phrases, removal)
    elif "relation" in kinds and caption.words[max(removal) + 1 : max(removal) + 2] in _PRONOUNS:
        removal.add(max(removal) + 1)
    elif "relation" in kinds and min(removal) and max(removal) + 1 < len(caption):
        replacements = {min(removal): "and"}
        if min(removal) > 1 and caption.words[min(removal) - 1].lower() in _COPULAS:
            removal.add(min(removal) - 1)
    removal = _with_carriers(caption, _with_denials(negations, removal))
    rest = _text_without(caption, removal, replacements)
    if 0 in removal and not replacements:
        rest = _LEADING.sub("", rest)
    rest = tidy(rest, text)
    rest = re.sub(r",?\s+and(?=\.?$)", "", rest)
    full_stop = text.rstrip().endswith(".")
    return rest + "." if full_stop and rest and not rest.endswith(".") else rest


def _place_after(text: str, phrases: Sequence[Phrase], end: int) -> Phrase | None:
    """The place that a relation ending there leads to, which cannot stay without it: "a dog and
    mountains" means something else."""
    after = next((p for p in phrases if p.kind == "object" and p.start >= end), None)
    return after if after is not None and kind_of(after.text(text)) == "place" else None


def _with_denials(denials: Sequence[Denial], removal: set[int]) -> set[int]:
    """Add all words of each denial of which any word is removed."""
    return removal.union(
        *(denial.words for denial in denials if removal.intersection(denial.words))
    )


def _with_carriers(caption: Caption, removal: set[int]) -> set[int]:
    """Add the words directly before that cannot stand alone: "that has", a final "is", "there
    is"."""
    words = [word.lower() for word in caption.words]
    removal = set(removal)
    behind = next((word for n, word in enumerate(words) if n > max(removal)), "and")
    while min(removal) > 0:
        before = words[min(removal) - 1]
        existential = before in _COPULAS and words[max(0, min(removal) - 2)] == "there"
        ends = before in _COPULAS and behind in ("and", "or", "but")
        if existential and min(removal) > 1:
            removal.update((min(removal) - 1, min(removal) - 2))
        elif before in _AUXILIARIES | _RELATIVE or ends:
            removal.add(min(removal) - 1)
        else:
            break
    return removal


def leading_phrases(text: str, words: int) -> str:
    """The leading whole phrases of a caption that fit into `words` words; "" if none do.

    >>> leading_phrases("A dog on a bench in the park.", 7)
    'A dog on a bench.'
    >>> leading_phrases("A dog on a big bench.", 5), leading_phrases("A dog on a sunny day.", 5)
    ('A dog.', 'A dog.')
    """
    caption = Caption.parse(text)
    if words >= len(caption):
        return text
    phrases = phrases_of(text)
    last = 0
    for number, phrase in enumerate(phrases):
        places = _words_of(caption, phrase)
        ends = max(places, default=0) + 1
        following = phrases[number + 1] if number + 1 < len(phrases) else None
        start = min(_words_of(caption, following), default=0) if following is not None else 0
        # "red" of "a red bench", and "sunny" of "a sunny day".
        before_its_thing = following is not None and (
            following.kind == "object" and start == ends
            if phrase.kind == "object"
            else _touch(caption, ends, start)
        )
        if ends <= words and phrase.kind != "relation" and not before_its_thing:
            last = max(last, ends)
    if not last:
        return ""
    prefix = text[: caption.spans[last - 1][1]]
    return prefix + ("." if text.rstrip().endswith(".") else "")


def _thing(caption: Caption, phrases: Sequence[Phrase], removal: set[int]) -> set[int]:
    """All words removed with an object: those before it, and those after it that describe it."""
    removal = set(removal)
    words = [word.lower() for word in caption.words]
    if words[max(removal) + 1 : max(removal) + 2] == ["day"]:  # "sunny" of "on a sunny day"
        removal.add(max(removal) + 1)
    if min(removal) and kind_of(words[min(removal) - 1]) == "weather":
        removal.add(min(removal) - 1)
    of_phrase = {place: phrase for phrase in phrases for place in _words_of(caption, phrase)}
    while _is_quality_of_next(words, of_phrase, min(removal) - 1):
        removal.add(min(removal) - 1)
    place = min(removal) - 1
    worn = place >= 0 and words[place] in _WEARING
    if place >= 0 and (before := of_phrase.get(place)) is not None and before.kind == "relation":
        removal.update(_words_of(caption, before))
        if min(removal) > 1 and words[min(removal) - 1] in _COPULAS:
            removal.add(min(removal) - 1)
    else:
        while min(removal) > 0 and words[min(removal) - 1] in _TIES | _ARTICLES:
            removal.add(min(removal) - 1)
    if min(removal) > 0 and words[min(removal) - 1] == "and":
        removal.add(min(removal) - 1)
    behind = words[max(removal) + 1 : max(removal) + 3]
    if behind == ["in", "sight"] or (
        words[min(removal)] == "with" and behind[1:] in (["it"], ["them"])
    ):
        removal.update((max(removal) + 1, max(removal) + 2))
    # What follows a garment describes its wearer.
    return removal if worn else _behind(caption, of_phrase, removal)


def _behind(caption: Caption, of_phrase: dict[int, Phrase], removal: set[int]) -> set[int]:
    """`removal`, and what the object wears and does."""
    words = [word.lower() for word in caption.words]
    place = max(removal) + 1
    tie = of_phrase.get(place)
    is_worn = tie is not None and _words_of(caption, tie) == [place] and words[place] in _WEARING
    if tie is not None and tie.kind == "relation" and is_worn:
        end = place + 1
        while end < len(words) and (words[end] in _ARTICLES or _quality(words[end])):
            end += 1
        removal.update(range(place, min(end + 1, len(words))))
        place = max(removal) + 1
    phrase = of_phrase.get(place)
    if phrase is not None and phrase.kind == "attribute" and not _quality(words[place]):
        after = max(_words_of(caption, phrase)) + 1
        if of_phrase.get(after) is None or of_phrase[after].kind != "object":
            removal.update(_words_of(caption, phrase))
    return removal


def _is_quality_of_next(words: Sequence[str], of_phrase: dict[int, Phrase], place: int) -> bool:
    if place < 0:
        return False
    if words[place] in _ARTICLES:
        return True
    phrase = of_phrase.get(place)
    return _quality(words[place]) or (
        phrase is not None and phrase.kind == "attribute" and kind_of(words[place]) != "action"
    )


def _is_quality(caption: Caption, places: set[int]) -> bool:
    return all(_quality(caption.words[place].lower()) for place in places)


def _quality(word: str) -> bool:
    return kind_of(word) in ("colour", "count", "size", "attribute")


def _words_of(caption: Caption, phrase: Phrase) -> list[int]:
    return [n for n, (a, b) in enumerate(caption.spans) if a < phrase.end and b > phrase.start]


def _touch(caption: Caption, end: int, start: int) -> bool:
    """Whether only articles are between two word positions."""
    return start >= end and all(w.lower() in _ARTICLES for w in caption.words[end:start])


def _text_without(caption: Caption, removal: set[int], replacements: dict[int, str]) -> str:
    replaced_text = caption.replace(
        {place: replacements.get(place, "") for place in removal if place in replacements}
    )
    if not replacements:
        return " ".join(caption.without(removal).split())
    again = Caption.parse(replaced_text)
    return " ".join(again.without(removal - set(replacements)).split())
