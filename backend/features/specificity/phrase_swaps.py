"""Phrases moved between captions: examples of mostly true and mostly false additions.

A part of a caption ends with an object: "A dog", " on a red bench", " in the park". A caption is
extended by a part of another caption of the same picture or, instead, of another picture's. If a
picture has only one caption, its last part is used: it is kept, or exchanged for the other
picture's.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from backend.engine.english.phrases import Phrase, phrases_of
from backend.features.specificity.caption_facts import facts_in, new_phrases

_TRIES = 10


@dataclass(frozen=True)
class Addition:
    """A caption with an addition: `phrases` are what it adds."""

    text: str
    phrases: tuple[Phrase, ...]


def parts_of(caption: str) -> list[str]:
    """The parts of a caption, each ending with an object; what follows the last is left out.

    >>> parts_of("A dog on a red bench.")
    ['A dog', ' on a red bench']
    """
    parts, last = [], 0
    for phrase in phrases_of(caption):
        if phrase.kind == "object":
            parts.append(caption[last : phrase.end])
            last = phrase.end
    return parts


def swap_phrases(
    captions: Sequence[str], others: Sequence[str], rng: random.Random
) -> tuple[Addition | None, Addition | None]:
    """(with a part of the same picture's captions, with one of `others`), each None if none of a
    few random parts adds anything. `captions`: of one picture, starting with the one to extend;
    `others`: of other pictures."""
    facts, parts = facts_in(captions), parts_of(captions[0])
    if len(captions) > 1:
        before = captions[0].rstrip().rstrip(".")
        same = _first_added(before, captions[1:], captions[:1], rng)
    elif len(parts) > 1:
        before = "".join(parts[:-1])
        text = before + parts[-1] + "."
        same = _add(text, new_phrases(text, facts_in([before])))
    else:
        return None, None
    # Something that none of the picture's captions mentions.
    for _ in range(_TRIES):
        text = _join(before, rng.choice(parts_of(rng.choice(others)) or [""]))
        phrases = new_phrases(text, facts)
        if any(phrase.kind == "object" for phrase in phrases):
            return same, _add(text, phrases)
    return same, None


def _first_added(
    before: str, sources: Sequence[str], known_captions: Sequence[str], rng: random.Random
) -> Addition | None:
    for _ in range(_TRIES):
        text = _join(before, rng.choice(parts_of(rng.choice(sources)) or [""]))
        if addition := _add(text, new_phrases(text, facts_in(known_captions))):
            return addition
    return None


def _join(before: str, part: str) -> str:
    """The part after the text, with "and" if it is the beginning of a sentence.

    >>> _join("A dog", "A red cat"), _join("A dog", " on a bench")
    ('A dog and a red cat.', 'A dog on a bench.')
    """
    begins = bool(part) and not part[0].isspace()
    return f"{before} and {part[0].lower()}{part[1:]}." if begins else f"{before}{part}."


def _add(text: str, phrases: Sequence[Phrase]) -> Addition | None:
    return Addition(text, tuple(phrases)) if phrases else None
