"""Find what a caption contradicts of people's captions of the same picture, without a model: their
attributes, numbers and negations of the same object. A number is compared together with what it
counts, a negation together with what it governs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from backend.engine.captions import Caption
from backend.engine.english.counting import CountedThing, counted_in, is_vague, number_of
from backend.engine.english.negations import denials, is_negation
from backend.engine.english.nouns import lemma
from backend.engine.english.phrases import grammar_of, is_spaced
from backend.engine.english.word_kinds import kind_of
from backend.engine.english.word_lists import FUNCTION_WORDS

#: Attribute kinds for which an object has a single value; numbers are compared separately.
_EXCLUSIVE = ("colour", "size")


@dataclass(frozen=True)
class UnanchoredWord:
    """Characters `start:end` of a proposal, the word, and why it is removed or rejected."""

    start: int
    end: int
    word: str
    why: str


def content_words(text: str) -> list[tuple[int, int, str]]:
    """(start, end, word) of each content word."""
    caption = Caption.parse(text)
    return [
        (start, end, word)
        for (start, end), word in zip(caption.spans, caption.words, strict=True)
        if word.lower() not in FUNCTION_WORDS
    ]


def conflicts(proposal: str, human: Sequence[str]) -> list[UnanchoredWord]:
    """Attributes and numbers in the proposal that contradict the human captions of the same object,
    and negations that contradict them. If people describe a single object, a number is returned
    with everything that it counts.

    >>> conflicts("A blue dog and a red ball", ["A brown dog."])[0].word
    'blue'
    >>> conflicts("Two cats and a dog", ["A cat and two dogs."])[0].word
    'Two cats'
    >>> conflicts("A dog with no ball", ["A dog and a ball."])[0].word
    'no ball'
    """
    qualities = list(_qualities(proposal))
    attributes: dict[tuple[str, str], set[str]] = {}
    for text in human if qualities else ():
        for noun, kind, _, _, word in _qualities(text):
            attributes.setdefault((noun, kind), set()).add(lemma(word))
    differing = [
        UnanchoredWord(start, end, word, f"people describe the {noun} differently")
        for noun, kind, start, end, word in qualities
        if (noun, kind) in attributes and lemma(word) not in attributes[noun, kind]
    ]
    return misplaced_negations(proposal, human) + _counted_otherwise(proposal, human) + differing


# ------------------------------------------------------------------------------- numbers


def _counted_otherwise(proposal: str, human: Sequence[str]) -> list[UnanchoredWord]:
    """Numbers that contradict those of the human captions; if these describe a single thing, with
    everything that is counted."""
    own_numbers = written_numbers(proposal)
    if not own_numbers:
        return []
    # A picture may have many captions: the grammar is read of those that name what is counted.
    things = {thing for thing, _ in own_numbers}
    numbers, _ = numbers_in(text for text in human if things.intersection(map(lemma, _words(text))))
    contradicting = []
    for thing, count in own_numbers:
        human_numbers = numbers.get(thing, set())
        exact = {number for number in human_numbers if number and not is_vague(number)}
        if "" in human_numbers:  # one of several may have been described
            exact.discard("one")
        is_one = exact == {"one"}
        if not exact or count.number in exact or (is_vague(count.number) and not is_one):
            continue
        end = count.end if is_one else count.number_end
        text = proposal[count.start : end]
        why = f"people describe the {thing} differently"
        contradicting.append(UnanchoredWord(count.start, end, text, why))
    return contradicting


def numbers_in(captions: Iterable[str]) -> tuple[dict[str, set[str]], set[str]]:
    """The numbers that captions state for each thing, "" for several without a number; and the
    numbers whose thing the rules cannot identify."""
    numbers: dict[str, set[str]] = {}
    loose_numbers: set[str] = set()
    for text in captions:
        counts = _counts_in(text)
        things = [thing for thing, _ in counts]
        for thing, count in counts:
            # "A dog and another dog": several.
            again = things.count(thing) > 1 and not count.is_written
            numbers.setdefault(thing, set()).add("" if again else count.number)
        places = {count.place for _, count in counts if count.is_written}
        loose_numbers.update(number_of(w) for i, w in enumerate(_words(text)) if i not in places)
    return numbers, loose_numbers - {""}


@lru_cache(maxsize=4096)  # the captions of a picture are compared with each of them
def _counts_in(text: str) -> tuple[tuple[str, CountedThing], ...]:
    """(thing, as counted) of each thing whose number a caption states."""
    caption = Caption.parse(text)
    return tuple((lemma(caption.words[count.head]), count) for count in counted_in(caption))


def written_numbers(text: str) -> list[tuple[str, CountedThing]]:
    """(thing, as counted) of each thing whose number stands in the text."""
    return [(thing, count) for thing, count in _counts_in(text) if count.is_written]


# ------------------------------------------------------------------------------- negations


def misplaced_negations(
    proposal: str, captions: Iterable[str], with_unmentioned: bool = False
) -> list[UnanchoredWord]:
    """What the proposal denies although the captions affirm it, and the reverse.
    `with_unmentioned`: also what it denies although they neither deny nor affirm it.

    A thing is compared wherever it is mentioned; if the captions both deny and affirm it, and for
    qualities and actions that the proposal affirms, what counts is the thing that they describe.
    """
    captions = list(captions)
    if not any(is_negation(word) for text in (proposal, *captions) for word in _words(text)):
        return []
    affirmations, negations = _Mentions(), _Mentions()
    for text in captions:
        for mention in _mentions(text):
            (negations if mention.denied else affirmations).add(mention)
    faults = []
    for mention in _mentions(proposal):
        same, other = (negations, affirmations) if mention.denied else (affirmations, negations)
        if any(
            same.contradicts(of, other, mention, with_unmentioned and mention.denied)
            for of in mention.lemmas
        ):
            text = proposal[mention.start : mention.end]
            why = (
                f"adds a negation that no person wrote: '{text}'"
                if mention.denied
                else f"affirms what people deny: '{text}'"
            )
            faults.append(UnanchoredWord(mention.start, mention.end, text, why))
    return faults


@dataclass(frozen=True)
class _Mention:
    """Characters `start:end`: something affirmed, or a negation with what it denies. `lemmas`: of
    what is affirmed or denied; `of`: of the thing that it describes, "" for none."""

    start: int
    end: int
    lemmas: tuple[str, ...]
    of: str
    is_thing: bool
    denied: bool


@dataclass
class _Mentions:
    """Lemmas that captions affirm (or deny), and each with the thing that it describes."""

    lemmas: set[str] = field(default_factory=set)
    pairs: set[tuple[str, str]] = field(default_factory=set)

    def add(self, mention: _Mention) -> None:
        self.lemmas.update(mention.lemmas)
        self.pairs.update((mention.of, word) for word in mention.lemmas)

    def contradicts(
        self, word: str, other: "_Mentions", mention: _Mention, with_unmentioned: bool
    ) -> bool:
        """Whether a mention of `word` in a proposal contradicts these captions, which mention it
        with the same polarity, and `other` ones, which mention it with the opposite one."""
        pair = (mention.of, word)
        if word in self.lemmas:
            return pair in other.pairs and pair not in self.pairs
        if word not in other.lemmas:
            return with_unmentioned
        return mention.denied or mention.is_thing or pair in other.pairs


def _mentions(text: str) -> list[_Mention]:
    caption = Caption.parse(text)
    if not caption.words or not is_spaced(text):
        return []
    grammar = grammar_of(caption)
    nouns = [i for i, label in enumerate(grammar.labels) if label in ("noun", "weather")]
    mentions = []
    negation_scope: set[int] = set()

    def thing_before(i: int) -> str:
        return next((lemma(caption.words[n]) for n in reversed(nouns) if n < i), "")

    for denial in denials(caption, grammar):
        negation_scope.update(denial.words)
        lemmas = tuple(lemma(caption.words[i]) for i in denial.governed)
        of = thing_before(denial.words[0])
        mentions.append(_Mention(denial.start, denial.end, lemmas, of, True, True))
    for i, (label, head) in enumerate(zip(grammar.labels, grammar.heads, strict=True)):
        if i in negation_scope or label not in ("noun", "weather", "adjective", "verb"):
            continue
        is_thing = label in ("noun", "weather")
        of = lemma(caption.words[head]) if head is not None and not is_thing else thing_before(i)
        mentions.append(
            _Mention(*caption.spans[i], (lemma(caption.words[i]),), of, is_thing, False)
        )
    return mentions


def _words(text: str) -> tuple[str, ...]:
    return Caption.parse(text).words


def _qualities(text: str) -> Iterable[tuple[str, str, int, int, str]]:
    """Yield (noun, kind, start, end, attribute) for the attributes directly before each noun."""
    caption = Caption.parse(text)
    words = caption.words
    for index, word in enumerate(words):
        if kind_of(word) not in ("object", "person"):
            continue
        before = index - 1
        while before >= 0 and kind_of(words[before]) in (*_EXCLUSIVE, "attribute"):
            kind = kind_of(words[before])
            if kind in _EXCLUSIVE:
                yield lemma(word), kind, *caption.spans[before], words[before]
            before -= 1
