"""The facts that captions state: objects, their attributes, and their relations.

A phrase is not human-written just because its words are: "a brown dog and a bus" does not state "a
brown bus". If the rules cannot tell which object an attribute belongs to, it counts for both of its
neighbours, so that human-written facts are never mistaken for new ones.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from backend.engine.captions import Caption
from backend.engine.english.counting import number_of
from backend.engine.english.nouns import lemma
from backend.engine.english.phrases import Phrase, phrases_of
from backend.engine.english.word_kinds import kind_of
from backend.engine.english.word_lists import FUNCTION_WORDS

Pair = tuple[str, str]
#: Relations between a person and a garment.
_WEARING = ("in", "wearing")
#: Nouns without content: "on a rainy day" means "in the rain".
_EMPTY = ("day",)
_PRONOUN = re.compile(r"\s*(?:it|them)\b", re.IGNORECASE)


@dataclass
class CaptionFacts:
    """Stated facts, as lemmas. `words`: of any kind; `qualities`: (object, attribute);
    `relations`: (relation, the object after it), for "sleeping on a table" the preposition as well;
    `tied`: objects that a relation leads to."""

    words: set[str] = field(default_factory=set)
    qualities: set[Pair] = field(default_factory=set)
    relations: set[Pair] = field(default_factory=set)
    tied: set[str] = field(default_factory=set)

    def has(self, text: str, phrase: Phrase, phrases: Sequence[Phrase]) -> bool:
        """Whether the phrase is stated. `phrases`: all phrases of the text."""
        content = _content(text, phrase)
        if not content <= self.words:
            return False
        if phrase.kind == "object" or not content:
            return True
        if phrase.kind == "relation":
            after = _after(phrase, phrases)
            thing = _thing(text, after)
            if after is None or thing not in self.words:
                return True
            # A place is the same whatever the preposition: "at", "by", "next to a lake".
            if kind_of(after.text(text)) == "place":
                return True
            return (_head(text, phrase), thing) in self.relations
        thing = _thing(text, _owner(text, phrase, phrases))
        if thing is None:
            return True
        return all((thing, word) in self.qualities for word in content)


def facts_in(captions: Sequence[str], strict: bool = False) -> CaptionFacts:
    """The facts stated by any of the captions. `strict`: an attribute belongs to the object that it
    most likely describes, not of both of its neighbours.

    >>> facts = facts_in(["A brown dog and a bus."])
    >>> text = "A brown bus."
    >>> [facts.has(text, one, phrases_of(text)) for one in phrases_of(text)]
    [False, True]
    """
    facts = CaptionFacts()
    for text in captions:
        facts.words.update(lemma(word) for word in Caption.parse(text).words)
        phrases = phrases_of(text)
        for phrase in phrases:
            if phrase.kind == "attribute":
                owner = _thing(text, _owner(text, phrase, phrases))
                things = {owner} if strict and owner else _objects_of(text, phrase, phrases)
                facts.qualities.update(
                    (thing, word) for thing in things for word in _content(text, phrase)
                )
            elif phrase.kind == "relation":
                ties = {_head(text, phrase), _preposition(text, phrase)}
                things = _objects_of(text, phrase, phrases)
                facts.relations.update((tie, thing) for thing in things for tie in ties if tie)
                facts.tied.update(things)
                doing = {
                    _thing(text, _before(phrase, phrases)),
                    _thing(text, _wearer(text, phrase, phrases)),
                }
                facts.qualities.update((who, _head(text, phrase)) for who in doing if who)
    return facts


def new_phrases(text: str, facts: CaptionFacts) -> list[Phrase]:
    """The phrases of a caption that are not in `facts`; of a relation whose preposition is, such as
    "sleeping on a table" where "on a table" is stated, only the verb, and only if it is new."""
    return _new_among(text, phrases_of(text), facts)


def _new_among(text: str, phrases: Sequence[Phrase], facts: CaptionFacts) -> list[Phrase]:
    new = []
    for phrase in phrases:
        if facts.has(text, phrase, phrases):
            continue
        if not _has_preposition(text, phrase, phrases, facts):
            new.append(phrase)
        elif (_subject(text, phrase, phrases), _head(text, phrase)) not in facts.qualities:
            new.append(replace(phrase, end=phrase.head_end))
    return new


def left_out(caption: str, text: str) -> str:
    """The first phrase of the caption that the text does not state; "" if it states them all.

    >>> left_out("A cat on a table.", "A cat and a table."), left_out("A cat.", "A black cat.")
    ('on', '')
    """
    facts = facts_in([text], strict=True)
    phrases = phrases_of(caption)
    omissions = [phrase.text(caption) for phrase in _new_among(caption, phrases, facts)]
    relations = [
        phrase.text(caption)
        for phrase in phrases
        if phrase.kind == "relation" and not _is_tied(caption, phrase, phrases, facts)
    ]
    return next((text for text in (*omissions, *relations) if text.lower() not in _EMPTY), "")


def _is_tied(text: str, phrase: Phrase, phrases: Sequence[Phrase], facts: CaptionFacts) -> bool:
    """Whether `facts` relates one end of this relation to something: which end is named last, and
    by which word, differs between descriptions of the same scene."""
    objects = _objects_of(text, phrase, phrases)
    subject = _thing(text, _before(phrase, phrases))
    return not objects or bool({*objects, subject} & facts.tied)


def _objects_of(text: str, phrase: Phrase, phrases: Sequence[Phrase]) -> set[str]:
    """The object of a relation: the one after it; with "it" or "them", any before it."""
    if _PRONOUN.match(text[phrase.end :]):
        earlier = [other for other in phrases if other.end <= phrase.start]
        return {_head(text, other) for other in earlier if other.kind == "object"}
    after = _thing(text, _after(phrase, phrases))
    return {after} if after is not None else set()


def _preposition(text: str, phrase: Phrase) -> str | None:
    """The word that ends a relation that begins with its head: "on" of "sleeping on"."""
    last = text[phrase.head_end : phrase.end].split()
    return last[-1].lower() if last and phrase.head_start == phrase.start else None


def _has_preposition(
    text: str, phrase: Phrase, phrases: Sequence[Phrase], facts: CaptionFacts
) -> bool:
    if phrase.kind != "relation" or (word := _preposition(text, phrase)) is None:
        return False
    return any((word, thing) in facts.relations for thing in _objects_of(text, phrase, phrases))


def _subject(text: str, phrase: Phrase, phrases: Sequence[Phrase]) -> str | None:
    return _thing(text, _wearer(text, phrase, phrases))


def _content(text: str, phrase: Phrase) -> set[str]:
    words = Caption.parse(text[phrase.start : phrase.end]).words
    return {lemma(word) for word in words if word.lower() not in FUNCTION_WORDS}


def _head(text: str, phrase: Phrase) -> str:
    return lemma(text[phrase.head_start : phrase.head_end])


def _thing(text: str, phrase: Phrase | None) -> str | None:
    return None if phrase is None else _head(text, phrase)


def _after(phrase: Phrase, phrases: Sequence[Phrase]) -> Phrase | None:
    return next(
        (other for other in phrases if other.kind == "object" and other.start >= phrase.end), None
    )


def _before(phrase: Phrase, phrases: Sequence[Phrase]) -> Phrase | None:
    things = [other for other in phrases if other.kind == "object" and other.end <= phrase.start]
    return things[-1] if things else None


def _objects_of(text: str, phrase: Phrase, phrases: Sequence[Phrase]) -> set[str]:
    """The objects that an attribute may describe. A number counts what it precedes, if anything."""
    owner = _owner(text, phrase, phrases)
    if number_of(phrase.text(text)) and owner is not None and owner.start >= phrase.end:
        return {_head(text, owner)}
    beside = (_after(phrase, phrases), _before(phrase, phrases), _wearer(text, phrase, phrases))
    return {_head(text, thing) for thing in beside if thing is not None}


def _owner(text: str, phrase: Phrase, phrases: Sequence[Phrase]) -> Phrase | None:
    """The object that an attribute describes: the one right after it, else the one before it."""
    after = _after(phrase, phrases)
    if after is not None:
        between = text[phrase.end : after.start]
        inside = [other for other in phrases if phrase.end <= other.start < after.start]
        words = set(between.lower().split())
        if all(other.kind == "attribute" for other in inside) and not words & FUNCTION_WORDS:
            return after
    return _wearer(text, phrase, phrases) or after


def _wearer(text: str, phrase: Phrase, phrases: Sequence[Phrase]) -> Phrase | None:
    """The object before a phrase, or its wearer if it is a garment: "a woman in a red dress
    sleeping"."""
    thing = _before(phrase, phrases)
    while thing is not None:
        tie = next(
            (other for other in phrases if other.kind == "relation" and other.end <= thing.start
             and not any(o.kind == "object" and other.end <= o.start < thing.start for o in phrases)
             and other.text(text).lower() in _WEARING),
            None,
        )  # fmt: skip
        wearer = _before(tie, phrases) if tie is not None else None
        if wearer is None:
            return thing
        thing = wearer
    return None
