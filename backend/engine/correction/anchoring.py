"""Find unsupported claims in a richer caption, without a model.

A proposal is *anchored* in its sources if its content words occur in them: the same word, another
form of it, or a synonym from the word list. Numbers and negations must match exactly, a number
together with what it counts and a negation together with what it governs. If the proposal and the
human captions disagree about an object, the human captions win.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from backend.engine.captions import Caption
from backend.engine.english import word_lists
from backend.engine.english.caption_facts import Counted, counted_in, is_vague, number_of
from backend.engine.english.negations import denials, is_negation
from backend.engine.english.nouns import lemma
from backend.engine.english.phrases import grammar_of, is_spaced
from backend.engine.english.word_kinds import kind_of
from backend.engine.english.word_lists import FUNCTION_WORDS

#: Attribute kinds for which an object has a single value; numbers are compared separately.
_EXCLUSIVE = ("colour", "size")
_EXACT = ("count", "negation")


@dataclass(frozen=True)
class Unanchored:
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


def find_unsupported(proposal: str, sources: Iterable[str]) -> list[Unanchored]:
    """Content words of the proposal that occur in no source, and its counts, negations and
    affirmations that no source supports, in order.

    >>> [one.word for one in find_unsupported("A dog on a wooden bench", ["a dog", "the benches"])]
    ['wooden']
    >>> [one.word for one in find_unsupported("Two cats and a dog", ["two dogs", "a cat"])]
    ['Two cats']
    """
    sources = list(sources)
    words = [word for text in sources for _, _, word in content_words(text)]
    exact = {number_of(word) or word.lower() for word in words}
    lemmas = {lemma(word) for word in words}
    unanchored = []
    for start, end, word in content_words(proposal):
        is_anchored = (number_of(word) or word.lower()) in exact
        is_anchored = is_anchored or (kind_of(word) not in _EXACT and lemma(word) in lemmas)
        if not is_anchored:
            unanchored.append(
                Unanchored(start, end, word, f"adds a word that no person wrote: '{word}'")
            )
    misplaced = misplaced_negations(proposal, sources, unmentioned=True)
    miscounted = [
        fault
        for fault in _find_miscounted(proposal, sources)
        if not any(fault.start <= word.start < fault.end for word in unanchored)
    ]
    return sorted([*misplaced, *miscounted, *unanchored], key=lambda fault: fault.start)


def anchored_share(proposal: str, sources: Iterable[str]) -> float:
    """The share of content words that occur in a source and are negated only where that source
    negates them; 1 if there are none."""
    words = content_words(proposal)
    unanchored = find_unsupported(proposal, sources)
    without_source = [
        (start, end)
        for start, end, _ in words
        if any(start < word.end and end > word.start for word in unanchored)
    ]
    return 1 - len(without_source) / len(words) if words else 1.0


def conflicts(proposal: str, human: Sequence[str]) -> list[Unanchored]:
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
        Unanchored(start, end, word, f"people describe the {noun} differently")
        for noun, kind, start, end, word in qualities
        if (noun, kind) in attributes and lemma(word) not in attributes[noun, kind]
    ]
    return misplaced_negations(proposal, human) + _counted_otherwise(proposal, human) + differing


# ------------------------------------------------------------------------------- numbers


def _find_miscounted(proposal: str, sources: Sequence[str]) -> list[Unanchored]:
    """Numbers that no source states for the same thing."""
    own_numbers = _written_numbers(proposal)
    if not own_numbers:
        return []
    numbers, untied = _numbers_in(sources)
    miscounted = []
    for thing, counted in own_numbers:
        source_numbers = numbers.get(thing, set())
        # "Two people", whom another caption calls men.
        general = numbers.get(_general(thing), set()) if source_numbers <= {""} else set()
        if counted.number not in source_numbers | general | untied:
            text = proposal[counted.start : counted.end]
            why = f"gives a count that no person gave: '{text}'"
            miscounted.append(Unanchored(counted.start, counted.end, text, why))
    return miscounted


def _counted_otherwise(proposal: str, human: Sequence[str]) -> list[Unanchored]:
    """Numbers that contradict those of the human captions; if these describe a single thing, with
    everything that is counted."""
    own_numbers = _written_numbers(proposal)
    if not own_numbers:
        return []
    # A picture may have many captions: the grammar is read of those that name what is counted.
    things = {thing for thing, _ in own_numbers}
    numbers, _ = _numbers_in(
        text for text in human if things.intersection(map(lemma, _words(text)))
    )
    contradicting = []
    for thing, counted in own_numbers:
        stated = numbers.get(thing, set())
        exact = {number for number in stated if number and not is_vague(number)}
        if "" in stated:  # one of several may have been described
            exact.discard("one")
        is_one = exact == {"one"}
        if not exact or counted.number in exact or (is_vague(counted.number) and not is_one):
            continue
        end = counted.end if is_one else counted.number_end
        text = proposal[counted.start : end]
        why = f"people describe the {thing} differently"
        contradicting.append(Unanchored(counted.start, end, text, why))
    return contradicting


def _numbers_in(captions: Iterable[str]) -> tuple[dict[str, set[str]], set[str]]:
    """The numbers that captions state for each thing, "" for several without a number; and the
    numbers whose thing the rules cannot identify."""
    numbers: dict[str, set[str]] = {}
    untied: set[str] = set()
    for text in captions:
        counts = _counts_in(text)
        things = [thing for thing, _ in counts]
        for thing, counted in counts:
            # "A dog and another dog": several.
            again = things.count(thing) > 1 and not counted.is_written
            numbers.setdefault(thing, set()).add("" if again else counted.number)
        tied = {counted.place for _, counted in counts if counted.is_written}
        untied.update(number_of(w) for i, w in enumerate(_words(text)) if i not in tied)
    return numbers, untied - {""}


@lru_cache(maxsize=4096)  # the captions of a picture are compared with each of them
def _counts_in(text: str) -> tuple[tuple[str, Counted], ...]:
    """(thing, as counted) of each thing whose number a caption states."""
    caption = Caption.parse(text)
    return tuple((lemma(caption.words[counted.head]), counted) for counted in counted_in(caption))


def _written_numbers(text: str) -> list[tuple[str, Counted]]:
    return [(thing, counted) for thing, counted in _counts_in(text) if counted.is_written]


def _general(thing: str) -> str:
    """A word for things of this kind: "person" for "man", "animal" for "dog"; "" for none."""
    if kind_of(thing) == "person":
        return "person"
    return next((name for name, nouns in word_lists.NOUNS.items() if thing in nouns), "")


# ------------------------------------------------------------------------------- negations


def misplaced_negations(
    proposal: str, captions: Iterable[str], unmentioned: bool = False
) -> list[Unanchored]:
    """What the proposal denies although the captions affirm it, and the reverse. `unmentioned`:
    also what it denies although they neither deny nor affirm it.

    A thing is compared wherever it is mentioned; if the captions both deny and affirm it, and for
    qualities and actions that the proposal affirms, what counts is the thing that they describe.
    """
    captions = list(captions)
    if not any(is_negation(word) for text in (proposal, *captions) for word in _words(text)):
        return []
    affirmed, denied = _Mentions(), _Mentions()
    for text in captions:
        for mention in _mentions(text):
            (denied if mention.denied else affirmed).add(mention)
    misplaced = []
    for mention in _mentions(proposal):
        same, other = (denied, affirmed) if mention.denied else (affirmed, denied)
        if any(
            same.contradicts(of, other, mention, unmentioned and mention.denied)
            for of in mention.lemmas
        ):
            text = proposal[mention.start : mention.end]
            why = (
                f"adds a negation that no person wrote: '{text}'"
                if mention.denied
                else f"affirms what people deny: '{text}'"
            )
            misplaced.append(Unanchored(mention.start, mention.end, text, why))
    return misplaced


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
        self, word: str, other: "_Mentions", mention: _Mention, unmentioned: bool
    ) -> bool:
        """Whether a mention of `word` in a proposal contradicts these captions, which mention it
        with the same polarity, and `other` ones, which mention it with the opposite one."""
        pair = (mention.of, word)
        if word in self.lemmas:
            return pair in other.pairs and pair not in self.pairs
        if word not in other.lemmas:
            return unmentioned
        return mention.denied or mention.is_thing or pair in other.pairs


def _mentions(text: str) -> list[_Mention]:
    caption = Caption.parse(text)
    if not caption.words or not is_spaced(text):
        return []
    grammar = grammar_of(caption)
    nouns = [i for i, label in enumerate(grammar.labels) if label in ("noun", "weather")]
    mentions = []
    negated: set[int] = set()

    def thing_before(i: int) -> str:
        return next((lemma(caption.words[n]) for n in reversed(nouns) if n < i), "")

    for denial in denials(caption, grammar):
        negated.update(denial.words)
        lemmas = tuple(lemma(caption.words[i]) for i in denial.governed)
        of = thing_before(denial.words[0])
        mentions.append(_Mention(denial.start, denial.end, lemmas, of, True, True))
    for i, (label, head) in enumerate(zip(grammar.labels, grammar.heads, strict=True)):
        if i in negated or label not in ("noun", "weather", "adjective", "verb"):
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
