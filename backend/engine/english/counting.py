"""Numbers in captions, each with the thing that it counts; "a cat" counts one."""

from dataclasses import dataclass

from backend.engine.captions import Caption
from backend.engine.english.negations import denials
from backend.engine.english.nouns import is_plural, known_nouns, plural_of
from backend.engine.english.phrases import grammar_of, is_spaced
from backend.engine.english.word_kinds import kind_of

_DIGITS = dict(
    zip(
        map(str, range(1, 11)),
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
        strict=True,
    )
)
_VAGUE = frozenset(("several", "many", "few", "multiple", "numerous", "dozen"))
#: Before "of", these count nothing themselves: "a couple of dogs".
_GROUPS = frozenset(
    ("group", "pair", "couple", "number", "bunch", "lot", "lots", "kind", "type", "sort", "variety")
)
_ARTICLES = frozenset(("a", "an"))


@dataclass(frozen=True)
class CountedThing:
    """Characters `start:end` from the number to the end of the thing counted, which is word number
    `head`. `number`: in words, "" for a plural without one. `place`, `number_end`: its word number
    and last character; if it is not written (the singular implies one), those of the first word."""

    start: int
    end: int
    head: int
    number: str
    place: int
    number_end: int
    is_written: bool


def number_of(word: str) -> str:
    """The number that a word or digit names, in words; "" for none.

    >>> number_of("Two"), number_of("2"), number_of("747"), number_of("several"), number_of("a")
    ('two', 'two', '747', 'several', '')
    """
    lower = word.lower()
    is_number = kind_of(lower) == "count" or lower in _VAGUE or lower.isdigit()
    return _DIGITS.get(lower, lower) if is_number else ""


def is_vague(number: str) -> bool:
    return number in _VAGUE


def counted_in(caption: Caption) -> tuple[CountedThing, ...]:
    """Every thing whose number a caption states, in order; none in a script without spaces. What it
    denies counts nothing."""
    if not caption.words or not is_spaced(caption.text):
        return ()
    grammar = grammar_of(caption)
    negation_scope = {place for denial in denials(caption, grammar) for place in denial.words}
    words = [word.lower() for word in caption.words]
    counts: dict[int, CountedThing] = {}
    for first, head in enumerate(grammar.heads):
        if head is None or head in counts or grammar.labels[head] != "noun":
            continue
        group = words[head] in _GROUPS and words[head + 1 : head + 2] == ["of"]
        if group or negation_scope.intersection(range(first, head + 1)):
            continue
        number, place = _number(words, first, head)
        if number is None:
            continue
        at = first if place is None else place
        (start, number_end), end = caption.spans[at], caption.spans[head][1]
        counts[head] = CountedThing(start, end, head, number, at, number_end, place is not None)
    return tuple(counts.values())


def _number(words: list[str], first: int, head: int) -> tuple[str | None, int | None]:
    """The number of the noun phrase `first` to `head`, and its place; None if it is not clear."""
    thing = words[head]
    is_singular = thing in known_nouns() and plural_of(thing) != thing
    place = next((i for i in range(first, head) if number_of(words[i])), None)
    number = number_of(words[place]) if place is not None else ""
    if number and not (is_singular and number != "one"):  # "a two story house" counts one house
        between = place is not None and place > 0 and words[place - 1] in ("or", "to")
        return ("", None) if between else (number, place)
    if words[first] in _ARTICLES or is_singular:
        return "one", None
    return ("", None) if is_plural(thing) else (None, None)
