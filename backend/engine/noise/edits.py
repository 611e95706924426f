"""Fine-grained edits of a caption, whatever its language: what an edit is, the exchange of words
for others of their group, and which rules there are for a language.

English has rules of its own (`rules`), since numbers, articles and verbs have to agree. Other
languages exchange the words of the groups in their file; where a language has none, the words of a
dataset that stand between the same neighbours (`frames`) take their place.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from backend.engine.captions import Caption
from backend.engine.languages.identification import language_in
from backend.engine.languages.language import Group, Language
from backend.engine.noise.noisy_caption import Replacement


@dataclass(frozen=True)
class Edit:
    """A change of one detail.

    `lost` and `gained` are the words (or phrases) that are removed from and added to the text;
    `group` contains all that fit at this position, including `lost`. The sampler needs them to
    preserve word frequencies (see `fine_grained`).
    """

    kind: str
    replacements: tuple[Replacement, ...]
    lost: str
    gained: str
    group: tuple[str, ...]

    @property
    def positions(self) -> frozenset[int]:
        return frozenset(
            i
            for replacement in self.replacements
            for i in range(replacement.first, replacement.last + 1)
        )


@dataclass(frozen=True)
class Text:
    """A caption's words in lower case, with access to their context."""

    caption: Caption
    words: tuple[str, ...]

    def before(self, position: int) -> str:
        return self.words[position - 1] if position > 0 else ""

    def after(self, position: int) -> str:
        return self.words[position + 1] if position + 1 < len(self.words) else ""

    def is_joined(self, first: int, last: int) -> bool:
        """Whether only white space separates the words first … last."""
        spans = self.caption.spans
        return all(
            self.caption.text[spans[i][1] : spans[i + 1][0]].isspace() for i in range(first, last)
        )


Rule = Callable[[Text], Iterable[Edit]]
#: A kind of change, and a rule that makes it.
Rules = Sequence[tuple[str, Rule]]
#: The change of a kind of word, where it has another name.
_CHANGES = {
    "count": "number", "object": "noun", "place": "setting", "weather": "setting",
    "time": "setting", "action": "verb",
}  # fmt: skip
#: The change of a word of which no kind is known.
OTHER = "word"


def exchanges(
    text: Text,
    kind: str,
    position: int,
    group: Sequence[str],
    forbidden: frozenset[str],
    governs: tuple[int, ...] = (),
) -> Iterator[Edit]:
    """One edit for each word of `group` that is neither forbidden nor in the text. `governs`: see
    `Replacement`."""
    word, present = text.words[position], set(text.words)
    for other in group:
        if other not in forbidden and other not in present:
            replacement = Replacement(position, position, other, governs)
            yield Edit(kind, (replacement,), word, other, tuple(group))


@cache
def rules_in(language: Language) -> Rules:
    """The rules by a language's groups of words; none without groups."""
    return [(_CHANGES.get(g.kind, g.kind), _rule(language, g)) for g in language.groups]


def _rule(language: Language, group: Group) -> Rule:
    kind = _CHANGES.get(group.kind, group.kind)
    same = {form: tuple(group.instead_of(form)) for form in group.forms}

    def rule(text: Text) -> Iterator[Edit]:
        for position, word in enumerate(text.words):
            if word not in same:
                continue
            alike = language.may_both_be_true.get(group.words[word], frozenset())
            forbidden = {form for form in same[word] if group.words[form] in alike} | {word}
            governs = _denied_words(text, position, language) if kind == "negation" else ()
            yield from exchanges(text, kind, position, same[word], frozenset(forbidden), governs)

    return rule


def _denied_words(text: Text, position: int, language: Language) -> tuple[int, ...]:
    """The next word behind a negation that says something."""
    places = range(position + 1, len(text.words))
    return tuple(p for p in places if text.words[p] not in language.function_words)[:1]


def frames(captions: Iterable[str]) -> Rules:
    """A rule by the captions' own words: a word is exchanged for one that stands between the same
    two words in another caption. Words that identify a language are not."""
    between: dict[tuple[str, str], dict[str, None]] = {}
    for text in captions:
        markers = language_in(text).identifies
        for before, word, after in _frames(_lower(Caption.parse(text))):
            if word not in markers:
                between.setdefault((before, after), {})[word] = None
    groups: Mapping[tuple[str, str], tuple[str, ...]] = {
        frame: tuple(words) for frame, words in between.items() if len(words) > 1
    }

    def rule(text: Text) -> Iterator[Edit]:
        for position, (before, word, after) in enumerate(_frames(text.words)):
            group = groups.get((before, after), ())
            if word in group:
                yield from exchanges(text, OTHER, position, group, frozenset({word}))

    return [(OTHER, rule)]


def _lower(caption: Caption) -> tuple[str, ...]:
    return tuple(word.lower() for word in caption.words)


def _frames(words: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Each word between its neighbours, "" at the ends."""
    return zip(["", *words], words, [*words[1:], ""], strict=False)


def edits_by(rules: Rules, caption: Caption) -> list[Edit]:
    """Every edit that the rules allow, in a fixed order."""
    text = Text(caption, _lower(caption))
    return [edit for _, rule in rules for edit in rule(text)]
