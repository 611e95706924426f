"""Parser for captions of drawn scenes: from text to claims, the inverse of `grammar`.

With it, captions that were not generated from claims (corrections by a model or a person) can be
checked against the scene. Ambiguities are tried in order ("sitting on" a bench is a relation, on
the beach an action and a setting), and the first parse of the whole caption counts. Articles may be
missing, so that the shortened captions of a trajectory can be parsed.
"""

from collections.abc import Iterator, Mapping

from backend.engine.captions import Caption
from research.scenes import phrasing
from research.scenes.truth import TELLING
from research.scenes.world import COLOURS

Words = tuple[str, ...]
Claims = frozenset[str]
#: A partial parse: (position where it ends, claims).
Reading = tuple[int, Claims]

_NOTHING: Claims = frozenset()
_SEATS = ("bench", "chair")
_ARTICLES = ("a", "an", "the")
_SIZES = {word: size for size, words in phrasing.SIZES.items() for word in words}
_ACTIONS = {word: action for action, words in phrasing.ACTIONS.items() for word in words}
_PLACES = {phrase: s for s, phrases in phrasing.SETTINGS.items() for phrase in phrases} | {
    "on the grass": "park"  # like "on a lawn"; what is left of the longer wording
}
_WEATHERS = {phrase: w for w, phrases in phrasing.WEATHERS.items() for phrase in phrases}
_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3}


def claims_of(text: str) -> Claims | None:
    """The atoms (see `truth`) that a caption claims; None if it cannot be parsed.

    >>> sorted(claims_of("Two brown dogs running in the park."))
    ['dog', 'dog*2', 'dog/brown', 'dog/running', 'in park']
    """
    words = tuple(word.lower().strip(".,") for word in Caption.parse(text).words)
    words = tuple(word for word in words if word)
    return next((atoms for end, atoms in _caption(words) if end == len(words)), None)


def _caption(words: Words) -> Iterator[Reading]:
    for start, first in _optional(words, 0, _PLACES, "in "):
        for at in _after_opener(words, start):
            for end, nouns, atoms in _noun_phrase(words, at, leading=True):
                for last, more in _links(words, end, nouns):
                    for stop, rest in _tail(words, last):
                        yield stop, first | atoms | more | rest


def _after_opener(words: Words, at: int) -> Iterator[int]:
    for opener, copula in phrasing.OPENERS:
        end = _match(words, at, opener)
        if end is None:
            continue
        if not copula:
            yield end
        elif end < len(words) and words[end] in ("is", "are"):
            yield end + 1


def _noun_phrase(words: Words, at: int, leading: bool = False) -> Iterator[tuple[int, str, Claims]]:
    """(end, noun, claims) of one thing with its colour, size, count and action."""
    count = _COUNTS.get(words[at]) if at < len(words) else None
    position = at + (count is not None)
    qualities: set[str] = set()
    if position < len(words) and words[position] in _SIZES:
        qualities.add(_SIZES[words[position]])
        position += 1
    if position < len(words) and words[position] in COLOURS:
        qualities.add(words[position])
        position += 1
    noun = phrasing.NOUN_OF.get(words[position]) if position < len(words) else None
    if noun is None:
        return
    atoms = {noun, *(f"{noun}/{quality}" for quality in qualities)}
    atoms |= {f"{noun}*{count}"} if count else set()
    for end, garment in _garment(words, position + 1, noun):
        for last in _after_copula(words, end, leading):
            # First without an action: "sitting on a bench" is a relation, not an action.
            yield last, noun, frozenset(atoms | garment)
            if last < len(words) and words[last] in _ACTIONS:
                action = _ACTIONS[words[last]]
                yield last + 1, noun, frozenset(atoms | garment | {f"{noun}/{action}"})


def _garment(words: Words, at: int, noun: str) -> Iterator[tuple[int, set[str]]]:
    if at < len(words) and words[at] in ("in", "wearing") and noun in phrasing.GARMENTS:
        end = at + 1 + (at + 1 < len(words) and words[at + 1] in ("a", "an"))
        colour, garment = [*words[end : end + 2], "", ""][:2]
        if colour in COLOURS and garment in phrasing.GARMENTS[noun]:
            yield end + 2, {f"{noun}/{colour}"}
        if colour in phrasing.GARMENTS[noun]:  # a garment without a colour claims nothing
            yield end + 1, set()
    yield at, set()


def _after_copula(words: Words, at: int, leading: bool) -> Iterator[int]:
    if leading and at < len(words) and words[at] in ("is", "are"):
        yield at + 1
    yield at


def _links(words: Words, at: int, first: str) -> Iterator[Reading]:
    for kind, options in phrasing.LINKS.items():
        for before, behind, inverse in dict.fromkeys(options):
            start = _match(words, at, before)
            if start is None:
                continue
            for end, noun, atoms in _noun_phrase(words, start):
                last = _match(words, end, behind)
                if last is None or (kind == "sits" and noun not in _SEATS):
                    continue
                tie = f"{noun} {kind} {first}" if inverse else f"{first} {kind} {noun}"
                claims = atoms | ({tie} if kind in TELLING else _NOTHING)
                for stop, more in _links(words, last, first):
                    yield stop, claims | more
    yield at, _NOTHING


def _tail(words: Words, at: int) -> Iterator[Reading]:
    for after_setting, where in _optional(words, at, _PLACES, "in "):
        for two, when in _optional(words, after_setting, _WEATHERS, "at "):
            for end, absent in _absent(words, two):
                yield end, where | when | absent


def _absent(words: Words, at: int) -> Iterator[Reading]:
    for before, behind in phrasing.ABSENT:
        start = _match(words, at, before)
        if start is None or start >= len(words) or words[start] not in phrasing.NOUN_OF:
            continue
        end = _match(words, start + 1, behind)
        if end is not None:
            yield end, frozenset({f"no {phrasing.NOUN_OF[words[start]]}"})
    yield at, _NOTHING


def _optional(words: Words, at: int, phrases: Mapping[str, str], prefix: str) -> Iterator[Reading]:
    for phrase, value in phrases.items():
        end = _match(words, at, phrase)
        if end is not None:
            yield end, frozenset({prefix + value})
    yield at, _NOTHING


def _match(words: Words, at: int, phrase: str) -> int | None:
    """End of the phrase if it occurs at `at`, else None; articles may be missing or different."""
    for word in phrase.split():
        if word in _ARTICLES:
            at += at < len(words) and words[at] in _ARTICLES
        elif at < len(words) and words[at] == word:
            at += 1
        else:
            return None
    return at
