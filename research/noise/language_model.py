"""Fine-grained noise written by a language model (TRACED §3.3, Figure 2, Appendix A.2).

For each caption: up to 20 variants by our own prompt (`prompts/fine_grained.md`), of which the two
that an NLI model finds least consistent with the original are kept, and one of these is sampled at
random. Answers are not trusted: variants that keep less than half of the words, or repeat the
caption, are dropped, and a caption without a usable variant gets no error of this kind.
"""

import random
import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from backend.engine.captions import Caption, align, changes
from backend.engine.english.word_lists import FUNCTION_WORDS
from backend.engine.language_models.chat_model import (
    AnswerCache,
    Question,
    average_questions,
    harmless,
)
from backend.engine.language_models.spending import CHARACTERS_A_TOKEN, Questions
from backend.engine.noise.noisy_caption import NoisyCaption, negation_scope
from research.noise.consistency import ConsistencyModel

if TYPE_CHECKING:  # drawn datasets do without the feature
    from backend.features.vision_language.endpoint import ChatEndpoint

NEGATIONS = frozenset({"no", "not", "without", "never"})


def changed_spans(original: str, new: str) -> tuple[tuple[int, int], ...]:
    """Spans in `new` of the words that differ from `original`, without function words if other
    words differ too; both sides of an exchange; what an added or removed negation denies. If words
    were only deleted, the words next to the gaps.

    >>> changed_spans("A brown dog on grass", "An orange dog on sand")
    ((3, 9), (17, 21))
    """
    old_caption, new_caption = Caption.parse(original), Caption.parse(new)
    before = [word.lower() for word in old_caption.words]
    after = [word.lower() for word in new_caption.words]
    new_places = new_words(before, after, FUNCTION_WORDS)
    new_places |= jumped_over(before, after, FUNCTION_WORDS)
    denials: set[int] = set()
    for run in changes(before, after):
        for j in run.new:
            if after[j] in NEGATIONS:
                denials.update(negation_scope(after, j))
        if any(before[i] in NEGATIONS for i in run.old):
            denials.update(negation_scope(after, run.new.stop - 1))
    if denials:
        new_places = frozenset(j for j in new_places if after[j] not in FUNCTION_WORDS) | denials
    if not new_places:
        gaps = [run.new.start for run in changes(before, after)]
        new_places = frozenset(j for gap in gaps for j in (gap - 1, gap) if 0 <= j < len(after))
    return tuple(new_caption.spans[j] for j in sorted(new_places))


def new_words(
    old: Sequence[str], new: Sequence[str], function_words: Collection[str]
) -> frozenset[int]:
    """Indices of the words of `new` that are not in `old`; function words count only if nothing
    else differs.

    >>> sorted(new_words("a dog".split(), "an orange dog".split(), {"a", "an"}))
    [1]
    """
    indices = frozenset(j for run in changes(old, new) for j in run.new)
    return frozenset(j for j in indices if new[j] not in function_words) or indices


def jumped_over(
    old: Sequence[str], new: Sequence[str], function_words: Collection[str]
) -> frozenset[int]:
    """Indices of the words of `new` that changed places with moved ones: both sides of an exchange
    have changed, although an alignment moves only one of them. Empty if no word was moved.

    >>> before, after = "two dogs near a cat".split(), "a cat near two dogs".split()
    >>> sorted(jumped_over(before, after, {"a"}) | new_words(before, after, {"a"}))
    [1, 2, 3, 4]
    """
    runs = align(old, new)
    removals = {old[i]: n for n, run in enumerate(runs) if not run.kept for i in run.old}
    between: set[int] = set()
    for n, run in enumerate(runs):
        if run.kept:
            continue
        for word in {new[j] for j in run.new} - set(function_words):
            if word in removals and removals[word] != n:
                first, last = sorted((n, removals[word]))
                between.update(j for other in runs[first + 1 : last] for j in other.new)
    return frozenset(j for j in between if new[j] not in function_words)


PROMPT = Path(__file__).parent / "prompts" / "fine_grained.md"
#: Part of every noisy dataset's provenance: increment it when the prompt changes.
PROMPT_VERSION = 1
VARIANTS, KEPT = 20, 2
#: Of a line of the answer, besides its caption.
_TOKENS_A_NUMBER = 3
#: Minimum share of words that a variant keeps: with fewer it is a new caption, not a near miss.
_SHARED = 0.5
_LINE = re.compile(r"^\s*(?:\*\*)?(\d{1,2})[.):](?:\*\*)?\s+(.*\S)\s*$")


@cache
def prompt() -> str:
    return PROMPT.read_text("utf-8")


def question_about(text: str, attempt: int = 0) -> Question:
    """The question for variants of a caption."""
    return Question(prompt(), f"<caption>{harmless(text)}</caption>", seed=attempt)


class LanguageModelNoise:
    """A source of fine-grained errors; `refused` counts captions without a usable variant."""

    def __init__(self, endpoint: "ChatEndpoint", consistency: ConsistencyModel) -> None:
        self.endpoint, self.consistency = endpoint, consistency
        self.refused = 0

    def make(self, text: str, generator: random.Random) -> NoisyCaption | None:
        """`text` with a small error, or None if the model returned nothing usable.

        Raises ModelUnavailable if the server cannot be reached.
        """
        if len(Caption.parse(text)) < 2:
            return None
        variants = self._variants(text)
        if not variants:
            self.refused += 1
            return None
        scores = self.consistency.scores(text, variants)
        ranking = sorted(zip(scores, variants, strict=True))
        _, candidate = generator.choice(ranking[:KEPT])
        return NoisyCaption(
            candidate, changed_spans(text, candidate), "fine_grained", ("language model",), text
        )

    def _variants(self, text: str) -> list[str]:
        """Usable variants of the text; an answer without any is retried once."""
        for attempt in range(2):
            answer = self.endpoint.ask(question_about(text, attempt))
            variants = usable(text, parse_variants(answer.text))
            if variants:
                return variants
        return []


class AnticipatedNoise:
    """In the place of `LanguageModelNoise`, asks nothing and notes which questions would be asked,
    if the model returned something usable each time. `captions`: those asked about."""

    def __init__(self, cache: AnswerCache) -> None:
        self._cache = cache
        self.captions: list[str] = []

    def make(self, text: str, generator: random.Random) -> NoisyCaption | None:
        if len(Caption.parse(text)) < 2:
            return None
        if self._cache.read(question_about(text)) is None:
            self.captions.append(text)
        return NoisyCaption(text, (), "fine_grained", ("language model",), text)

    def questions(self, model: str) -> Questions:
        """One for each caption, or two where the first answer has nothing usable. An answer has
        VARIANTS captions as long as the original, each on a numbered line."""
        questions = average_questions(
            [question_about(text) for text in self.captions], model, len(self.captions),
            2 * len(self.captions),
        )  # fmt: skip
        characters = sum(map(len, self.captions)) / max(1, len(self.captions))
        line = round(characters / CHARACTERS_A_TOKEN) + _TOKENS_A_NUMBER
        return replace(questions, tokens_out=VARIANTS * line)


def parse_variants(answer: str) -> list[str]:
    """The captions of a numbered list; every other line is ignored.

    >>> parse_variants("Sure!\\n1. A red cat.\\n2) Two dogs\\nthe end")
    ['A red cat.', 'Two dogs']
    """
    variants = [match[2] for line in answer.splitlines() if (match := _LINE.match(line))]
    return [_unquote(text) for text in variants[:VARIANTS]]


def usable(original: str, variants: Sequence[str]) -> list[str]:
    """The variants that are near misses of the original, without duplicates, in order."""
    original_words = [word.lower() for word in Caption.parse(original).words]
    by_words: dict[tuple[str, ...], str] = {}
    for variant in variants:
        words = tuple(word.lower() for word in Caption.parse(variant).words)
        overlap = len(set(original_words) & set(words))
        if list(words) == original_words or overlap < _SHARED * min(
            len(set(original_words)), len(set(words))
        ):
            continue
        if not 0.5 * len(original_words) <= len(words) <= 1.6 * len(original_words) + 1:
            continue
        by_words.setdefault(words, variant)
    return list(by_words.values())


def _unquote(text: str) -> str:
    if len(text) > 1 and text[0] in "\"'“" and text[-1] in "\"'”":
        return text[1:-1].strip()
    return text
