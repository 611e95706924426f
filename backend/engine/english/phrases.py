# ruff: noqa: SIM905  (a list of words reads better as a line of text)
"""The phrases of an English caption, by rules: objects, attributes and relations as spans.

* *object*: a noun with the nouns before it ("fire hydrant"), people, places, weathers, times.
  Its head, the last noun, is replaced.
* *attribute*: a colour, size, count or quality of a single object, and intransitive actions
  ("parked", "running in the park").
* *relation*: between two objects: a transitive verb ("holding"), a verb with a preposition
  and an object ("sitting on a bench"), or a preposition of place, including multi-word ones
  ("to the left of", whose head is "left"). Before a place, *in*, *on*, *at* and *by* add
  nothing to the place itself and are not phrases.

Articles, copulas, openers ("a picture of") and words without content are not phrases. Tags come
from TextBlob's lexicon, which needs no download; the word lists of the noise rules take precedence.
The phrases of a caption are the same on every machine.

>>> [(p.kind, p.text("A red bus parked next to two men.")) for p in phrases_of(
...     "A red bus parked next to two men.")]
[('attribute', 'red'), ('object', 'bus'), ('attribute', 'parked'), ('relation', 'next to'), \
('attribute', 'two'), ('object', 'men')]
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

from backend.engine.captions import Caption
from backend.engine.english import word_lists
from backend.engine.english.nouns import form_table, is_plural, singular_of
from backend.engine.english.tagger import tag_words
from backend.engine.english.word_kinds import kind_of

Kind = Literal["object", "attribute", "relation"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Phrase:
    """`start`, `end`: its characters; `head_start`, `head_end`: those of its head, which is
    replaced and is word number `word` of the caption."""

    kind: Kind
    start: int
    end: int
    head_start: int
    head_end: int
    word: int

    def text(self, caption: str) -> str:
        return caption[self.start : self.end]


#: Word classes used by the rules.
_Label = Literal["noun", "adjective", "weather", "verb", "determiner", "preposition", "pronoun",
                 "link", "copula", "other"]  # fmt: skip

_DETERMINERS = frozenset(
    (
        "a an the this that these those his her its their our my your some any each every no "
        "another both all either"
    ).split()
)
_PRONOUNS = frozenset(
    (
        "it them him he she they we us you me himself herself itself themselves someone "
        "something somebody everyone everybody everything anyone anybody anything nothing "
        "nobody other others one who which what whom"
    ).split()
)
_COPULAS = frozenset(
    (
        "is are was were be been being am has have had having do does did will can could "
        "would should may might must 's 're"
    ).split()
)
_LINKS = frozenset(("and or but while as when where that than then").split())
#: Not replaced, although taggers call them adjectives or adverbs.
_EMPTY = frozenset(
    (
        "very same different such too also just only other another each own own there here "
        "not n't never more most less least together apart away back forth"
    ).split()
)
_COUNTS = frozenset(["several", "many", "few", "multiple", "numerous", "dozen"])

#: Prepositions that introduce an object and add little before a place.
_WEAK = frozenset(["in", "on", "at", "by"])
#: Those that belong to the verb before them: "looking at", "covered with".
_AFTER_PROGRESSIVE = _WEAK | frozenset(["from", "for", "like", "of", "to"])
_AFTER_PARTICIPLE = _AFTER_PROGRESSIVE | {"with"}
_STRONG = frozenset(
    (
        "under underneath beneath below above over behind beside beneath near through across "
        "along past around between toward towards into onto off inside outside down up "
        "against among amid upon beyond within opposite alongside"
    ).split()
)
_OTHER_PREPOSITIONS = frozenset(
    ("of with without to from for during before after about like").split()
)
#: Multi-word relations, and which of their words is replaced.
_COMPOUND = sorted(
    [
        *((f"{before} {side} of".split(), before.count(" ") + bool(before))
          for side in ("left", "right") for before in ("", "to the", "on the", "at the")),
        *((f"{before} {side} side of".split(), 2)
          for side in ("left", "right", "other") for before in ("to the", "on the")),
        *((phrase.split(), 1) for phrase in ("in front of", "on top of")),
        *((phrase.split(), 0) for phrase in ("next to", "close to", "out of", "away from",
                                             "inside of", "outside of", "in between", "near to")),
    ],
    key=lambda entry: -len(entry[0]),
)  # fmt: skip
#: Nothing is replaced in these.
_IDIOMS = tuple(
    phrase.split()
    for phrase in (
        "in sight", "in the background", "in the foreground", "in the distance", "each other",
        "one another", "in a row", "at once", "at home", "so that", "a lot of", "lots of",
    )
)  # fmt: skip
_OPENERS = frozenset(
    (
        "picture photo photograph image drawing painting view shot close-up closeup portrait "
        "sketch illustration snapshot scene"
    ).split()
)
_LIGHT = frozenset(("group pair couple number kind type sort variety bunch").split())
#: -ing words that form a compound with the following noun.
NAMES_IN_ING = frozenset(
    (
        "living dining parking swimming frying washing sewing rocking rolling cutting dressing"
    ).split()
)
#: Nouns ending in -ing.
_THINGS_IN_ING = frozenset(
    (
        "building ceiling clothing icing painting drawing wedding railing ring king feature "
        "string thing morning evening spring crossing landing opening frosting stuffing "
        "topping"
    ).split()
)
#: Adjectives and verbs that are part of a compound noun.
_NAMES = frozenset([("hot", "dog"), ("stop", "sign"), ("french", "fries"), ("double", "decker")])
_PLACES = frozenset(word_lists.ON_PLACES + word_lists.IN_PLACES) | frozenset(
    (
        "sea shore seaside coast harbor harbour bay pond stream riverbank meadow pasture "
        "orchard jungle valley canyon cliff countryside backyard courtyard playground alley "
        "avenue highway driveway crosswalk intersection plaza square market mall station "
        "airport stadium arena rink church corridor lobby attic basement apartment house home "
        "hotel school hospital shop town country sky air distance lawn terrace balcony patio "
        "campground campsite campfire tarmac plain savanna tundra wilderness area ground "
        "floor world background foreground"
    ).split()
)
#: Times and weather; a preposition before them introduces no object.
_CIRCUMSTANCES = frozenset(
    (
        "rain sunshine sun dark darkness shade fog storm wind daylight day night morning "
        "evening afternoon sunset sunrise dusk dawn noon spring summer autumn fall winter "
        "weather time"
    ).split()
)
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_POSSESSIVE = re.compile(r"['’]s?$")
_A_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*['’]?")


def phrases_of(caption: str | Caption, words_read: int | None = None) -> tuple[Phrase, ...]:
    """The phrases in the order of their heads; none for a caption in a script without spaces.

    `words_read`: how many of the words the model reads; phrases beyond them are left out.
    """
    parsed = Caption.parse(caption) if isinstance(caption, str) else caption
    if not parsed.words or not is_spaced(parsed.text):
        return ()
    phrases = _Reading(parsed).phrases()
    count_read = len(parsed) if words_read is None else words_read
    return tuple(
        sorted((p for p in phrases if p.word < count_read), key=lambda p: (p.word, p.start))
    )


def whole_phrases(caption: str) -> list[tuple[int, int]]:
    """Character ranges of the phrases, an object together with the attributes right before it.

    >>> text = "Two small dogs next to a red fire hydrant."
    >>> [text[start:end] for start, end in whole_phrases(text)]
    ['Two small dogs', 'next to', 'red fire hydrant']
    """
    ranges: list[tuple[int, int]] = []
    is_open = False  # whether the last range ends with an attribute
    for phrase in phrases_of(caption):
        between = caption[ranges[-1][1] : phrase.start] if is_open else ""
        if is_open and phrase.kind != "relation" and not between.strip(" ,"):
            ranges[-1] = ranges[-1][0], phrase.end
        else:
            ranges.append((phrase.start, phrase.end))
        is_open = phrase.kind == "attribute"
    return ranges


def is_spaced(text: str) -> bool:
    """Whether the text has spaces between its words: phrases are supported in English only."""
    return _UNSPACED.search(text) is None


def grammar_of(caption: Caption) -> "Grammar":
    """The class of each word of an English caption, its noun phrases and its compound relations."""
    reading = _Reading(caption)
    heads = tuple(reading.thing(i) for i in range(reading.count))
    leading: dict[int, int] = {}
    for i, first in enumerate(reading.words):
        for words, _ in _COMPOUND:
            if words[0] == first and i not in leading and reading.matches(i, words):
                leading |= dict.fromkeys(range(i, i + len(words)), i + len(words))
    return Grammar(tuple(reading.labels), heads, leading)


@dataclass(frozen=True)
class Grammar:
    """A caption's words as analysed by the rules.

    `labels`: the class of each word. `heads[i]`: the head of the noun phrase beginning at word i,
    None if none begins there. `compounds`: maps each word of a relation such as "in front of" to
    the index of the word after the relation.
    """

    labels: tuple["_Label", ...]
    heads: tuple[int | None, ...]
    compounds: dict[int, int]


class _Reading:
    """One caption with a label per word; rules consume words from left to right."""

    def __init__(self, caption: Caption) -> None:
        self.caption = caption
        self.words = [_POSSESSIVE.sub("", word.lower()) for word in caption.words]
        self.owns = [bool(_POSSESSIVE.search(word)) for word in caption.words]
        self.tags = _tags(tuple(self.words))
        self.count = len(self.words)
        self.labels: list[_Label] = []
        for i in range(self.count):
            self.labels.append(self._label(i))
        self._settle()

    # ---------------------------------------------------------------- word classes

    def _label(self, i: int) -> _Label:
        word, tag = self.words[i], self.tags[i]
        if _A_WORD.fullmatch(word) is None:
            return "other"
        for label, words in _CLOSED:
            if word in words:
                return label
        if word in _EMPTY:
            return "other"
        kind = kind_of(word)
        if word in _COUNTS or kind in ("colour", "count", "size", "attribute"):
            return "adjective"
        if kind == "weather":
            return "weather"
        if kind == "negation":
            return "other"
        if kind in ("person", "object", "place", "time"):
            return "noun"
        if word in ("left", "right", "top", "front"):
            return "noun"
        if kind == "action":
            return "verb"
        if word in word_lists.ADJECTIVES or tag.startswith("JJ") or tag == "CD":
            return "adjective"
        if tag.startswith("VB"):
            return "verb"
        return "noun" if tag.startswith(("NN", "FW")) else "other"

    def _settle(self) -> None:
        """Correct labels that depend on the neighbouring words."""
        for i in range(self.count):
            before = self.labels[i - 1] if i else "other"
            behind = self.labels[i + 1] if self._is_joined(i) else "other"
            word, label = self.words[i], self.labels[i]
            if (word, self.words[i + 1] if behind != "other" else "") in _NAMES:
                self.labels[i] = "noun"
                continue
            leads = before in ("determiner", "adjective", "weather") or (i and self.owns[i - 1])
            if label == "verb":
                if word in NAMES_IN_ING and behind == "noun":
                    self.labels[i] = "noun"
                elif leads and behind in ("noun", "adjective"):
                    self.labels[i] = "adjective"  # a parked car, two smiling women
                elif i == 0 and behind == "noun" and self._verb_follows(i + 1):
                    self.labels[i] = "adjective"  # Smiling nurse holding …
                elif self._is_participle(i) and before == "verb" and behind == "noun":
                    self.labels[i] = "adjective"  # wearing torn jeans
                elif leads or (self._is_bare(i) and before == "noun" and not self._is_many(i - 1)):
                    self.labels[i] = "noun"  # a walk, a fruit stand
            elif label == "noun" and self._is_misread(i, before):
                self.labels[i] = "verb"  # birds drinking from, a girl teaching
            elif label == "adjective" and behind != "noun":
                thing = kind_of(word) == "colour" and word in ("orange",)
                last = before == "determiner" and behind not in ("adjective", "weather", "link",
                                                                 "verb")  # fmt: skip
                dark = word == "dark" and before == "determiner" and behind != "adjective"
                if (thing and before in ("determiner", "adjective")) or last or dark:
                    self.labels[i] = "noun"  # in the dark, an orange

    def _is_misread(self, i: int, before: _Label) -> bool:
        """Whether word i is an -ing verb mistagged as a noun, following its subject."""
        word = self.words[i]
        is_thing = kind_of(word) in ("person", "object", "place", "time")
        is_verb = before == "noun" and self._is_joined(i - 1) and not self.owns[i - 1]
        return word.endswith("ing") and is_verb and not is_thing and word not in _THINGS_IN_ING

    def _verb_follows(self, i: int) -> bool:
        return any(label == "verb" for label in self.labels[i + 1 : i + 3])

    def _is_participle(self, i: int) -> bool:
        return self.tags[i] in ("VBN", "VBD") or self.words[i].endswith(("ed", "en"))

    def _is_bare(self, i: int) -> bool:
        form = form_table().get(self.words[i])
        return form[1] == "base" if form else self.tags[i] in ("VB", "VBP")

    def _is_many(self, i: int) -> bool:
        return self.tags[i] in ("NNS", "NNPS") or is_plural(self.words[i])

    def _is_joined(self, i: int) -> bool:
        """Whether there is a word i + 1 that only white space separates from word i."""
        return i + 1 < self.count and self.caption.is_joined(i)

    # ---------------------------------------------------------------- phrases

    def phrases(self) -> list[Phrase]:
        phrases: list[Phrase] = []
        i = 0
        while i < self.count:
            step, phrase = self._at(i)
            if phrase is not None:
                phrases.append(phrase)
            i += step
        return phrases

    def _at(self, i: int) -> tuple[int, Phrase | None]:
        """The number of words consumed from i on, and the phrase that they form, or None."""
        for idiom in _IDIOMS:
            if self.matches(i, idiom):
                return len(idiom), None
        for words, head in _COMPOUND:
            if self.matches(i, words) and self.thing(i + len(words)) is not None:
                return len(words), self._phrase("relation", i, i + len(words), i + head)
        label = self.labels[i]
        if label == "noun":
            return self._noun(i)
        if label == "weather":
            return 1, self._phrase("object", i, i + 1, i)
        if label == "adjective":
            return 1, self._phrase("attribute", i, i + 1, i)
        if label == "verb":
            return self._verb(i)
        if label == "preposition":
            return 1, self._preposition(i)
        return 1, None

    def _noun(self, i: int) -> tuple[int, Phrase | None]:
        if self.words[i] in ("top", "front", "left", "right") and not (
            i and self.labels[i - 1] == "determiner"
        ):
            return 1, None
        end = i + 1
        while self._forms_compound(end - 1):
            end += 1
        of = end < self.count and self.words[end] == "of"
        opens = not any(label in ("noun", "verb") for label in self.labels[:i])
        if of and (self.words[end - 1] in _LIGHT or (opens and self.words[end - 1] in _OPENERS)):
            return end - i + 1, None
        return end - i, self._phrase("object", i, end, end - 1)

    def _verb(self, i: int) -> tuple[int, Phrase | None]:
        compound = any(self.matches(i + 1, words) for words, _ in _COMPOUND)
        if self.thing(i + 1) is not None and self._is_joined(i) and not compound:
            return 1, self._phrase("relation", i, i + 1, i)
        follows = self.words[i + 1] if self._is_joined(i) else ""
        leading = _AFTER_PARTICIPLE if self._is_participle(i) else _AFTER_PROGRESSIVE
        if follows in leading and not compound and self._leads_to_a_thing(i + 1):
            return 2, self._phrase("relation", i, i + 2, i)
        return 1, self._phrase("attribute", i, i + 1, i)

    def _preposition(self, i: int) -> Phrase | None:
        word = self.words[i]
        if word in _STRONG:
            is_relation = self.thing(i + 1) is not None
        else:
            is_relation = word in _WEAK and self._leads_to_a_thing(i)
        return self._phrase("relation", i, i + 1, i) if is_relation else None

    def _leads_to_a_thing(self, i: int) -> bool:
        """Whether the object of preposition i is a thing, neither a place nor a time."""
        head = self.thing(i + 1)
        if head is None or any(self.matches(i, idiom) for idiom in _IDIOMS):
            return False
        word = self.words[head]
        place = {word, singular_of(word)} & (_PLACES | _CIRCUMSTANCES)
        return not place and kind_of(word) not in ("place", "time", "weather")

    def thing(self, i: int) -> int | None:
        """The head of the noun phrase (or pronoun) that begins at word i; None if none does."""
        start = i
        while i < self.count and (
            self.labels[i] in ("determiner", "adjective", "weather")
            or self.words[i].isdigit()
            or (self.words[i] == "and" and i > start and self.labels[i - 1] == "adjective")
        ):
            if i > start and not self._is_joined(i - 1) and self.labels[i - 1] == "determiner":
                return None
            i += 1
        if i < self.count and self.labels[i] == "pronoun":
            return i
        if i >= self.count or self.labels[i] != "noun":
            weather = i > start and self.labels[i - 1] == "weather"
            other = self.matches(start, ["each", "other"])
            return i - 1 if weather else start + 1 if other else None
        while self._forms_compound(i):
            i += 1
        while self.owns[i] and self._is_joined(i) and (possession := self.thing(i + 1)) is not None:
            i = possession
        return i

    def _forms_compound(self, i: int) -> bool:
        """Whether noun i and the word after it form a compound."""
        if not self._is_joined(i) or self.labels[i + 1] != "noun" or self.owns[i]:
            return False
        return self.words[i + 1] not in ("left", "right", "top", "front")

    def matches(self, i: int, words: Sequence[str]) -> bool:
        return self.words[i : i + len(words)] == words

    def _phrase(self, kind: Kind, first: int, end: int, head: int) -> Phrase | None:
        spans = self.caption.spans
        return Phrase(kind, spans[first][0], spans[end - 1][1], *spans[head], head)


_CLOSED: tuple[tuple[_Label, frozenset[str]], ...] = (
    ("determiner", _DETERMINERS),
    ("pronoun", _PRONOUNS),
    ("copula", _COPULAS),
    ("link", _LINKS),
    ("preposition", _WEAK | _STRONG | _OTHER_PREPOSITIONS),
)


@lru_cache(maxsize=4096)
def _tags(words: tuple[str, ...]) -> tuple[str, ...]:
    """TextBlob's tag of each word; all nouns if its tokens do not match the words."""
    tags = tag_words(" ".join(words), tokenize=False)
    if len(tags) != len(words):
        return ("NN",) * len(words)
    return tuple(name for _, name in tags)
