"""The facts that captions state: objects, their attributes, and their relations.

A phrase is not human-written just because its words are: "a brown dog and a bus" does not state "a
brown bus". If the rules cannot tell which object an attribute belongs to, it counts for both of its
neighbours, so that human-written facts are never mistaken for new ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from backend.engine.captions import Caption
from backend.engine.correction.anchoring import lemma
from backend.engine.english import FUNCTION_WORDS
from backend.engine.phrases.spans import Phrase, phrases_of

Pair = tuple[str, str]
#: Relations between a person and a garment.
_WEARING = ("in", "wearing")
#: Nouns without content: "on a rainy day" means "in the rain".
_EMPTY = ("day",)


@dataclass
class Said:
    """Stated facts, as lemmas. `words`: of any kind; `qualities`: (object, attribute);
    `relations`: (relation, the object after it)."""

    words: set[str] = field(default_factory=set)
    qualities: set[Pair] = field(default_factory=set)
    relations: set[Pair] = field(default_factory=set)

    def has(self, text: str, phrase: Phrase, phrases: Sequence[Phrase]) -> bool:
        """Whether the phrase is stated. `phrases`: all phrases of the text."""
        content = _content(text, phrase)
        if not content <= self.words:
            return False
        if phrase.kind == "object" or not content:
            return True
        if phrase.kind == "relation":
            thing = _thing(text, _after(phrase, phrases))
            pairs = {(_head(text, phrase), thing)}
            return thing is None or thing not in self.words or bool(pairs & self.relations)
        thing = _thing(text, _owner(text, phrase, phrases))
        if thing is None:
            return True
        return all((thing, word) in self.qualities for word in content)


def said_in(captions: Sequence[str]) -> Said:
    """The facts stated by any of the captions.

    >>> said = said_in(["A brown dog and a bus."])
    >>> text = "A brown bus."
    >>> [said.has(text, one, phrases_of(text)) for one in phrases_of(text)]
    [False, True]
    """
    said = Said()
    for text in captions:
        said.words.update(lemma(word) for word in Caption.parse(text).words)
        phrases = phrases_of(text)
        for phrase in phrases:
            if phrase.kind == "attribute":
                beside = {
                    _thing(text, _after(phrase, phrases)),
                    _thing(text, _before(phrase, phrases)),
                    _thing(text, _wearer(text, phrase, phrases)),
                }
                said.qualities.update(
                    (thing, word) for thing in beside if thing for word in _content(text, phrase)
                )
            elif phrase.kind == "relation":
                thing = _thing(text, _after(phrase, phrases))
                if thing is not None:
                    said.relations.add((_head(text, phrase), thing))
                doing = {
                    _thing(text, _before(phrase, phrases)),
                    _thing(text, _wearer(text, phrase, phrases)),
                }
                said.qualities.update((who, _head(text, phrase)) for who in doing if who)
    return said


def new_phrases(text: str, said: Said) -> list[Phrase]:
    """The phrases of a caption that are not in `said`."""
    phrases = phrases_of(text)
    return [phrase for phrase in phrases if not said.has(text, phrase, phrases)]


def left_out(caption: str, text: str) -> str:
    """The first phrase of the caption that the text does not state; "" if it states them all."""
    said = said_in([text])
    lost = (phrase.text(caption) for phrase in new_phrases(caption, said))
    return next((text for text in lost if text.lower() not in _EMPTY), "")


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
