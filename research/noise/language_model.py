"""Fine-grained noise written by a language model (TRACED §3.3, Figure 2, Appendix A.2).

For each caption: up to 20 variants by our own prompt (`prompts/fine_grained.md`), of which the two
that an NLI model finds least consistent with the original are kept, and one of these is sampled at
random. Answers are not trusted: variants that keep less than half of the words, or repeat the
caption, are dropped, and a caption without a usable variant gets no error of this kind.
"""

import random
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from backend.engine.captions import Caption
from backend.engine.language_models.endpoint import ChatEndpoint
from backend.engine.language_models.question import Question, harmless
from backend.engine.noise.noisy_caption import NoisyCaption
from research.noise.changed_words import changed_spans
from research.noise.consistency import ConsistencyModel

PROMPT = Path(__file__).parent / "prompts" / "fine_grained.md"
#: Part of every noisy dataset's provenance: increment it when the prompt changes.
PROMPT_VERSION = 1
VARIANTS, KEPT = 20, 2
#: Minimum share of words that a variant keeps: with fewer it is a new caption, not a near miss.
_SHARED = 0.5
_LINE = re.compile(r"^\s*(?:\*\*)?(\d{1,2})[.):](?:\*\*)?\s+(.*\S)\s*$")


@cache
def prompt() -> str:
    return PROMPT.read_text("utf-8")


class LanguageModelNoise:
    """A source of fine-grained errors; `refused` counts captions without a usable variant."""

    def __init__(self, endpoint: ChatEndpoint, consistency: ConsistencyModel) -> None:
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
        ranked = sorted(zip(scores, variants, strict=True))
        _, candidate = generator.choice(ranked[:KEPT])
        return NoisyCaption(
            candidate, changed_spans(text, candidate), "fine_grained", ("language model",), text
        )

    def _variants(self, text: str) -> list[str]:
        """Usable variants of the text; an answer without any is retried once."""
        for attempt in range(2):
            question = Question(prompt(), f"<caption>{harmless(text)}</caption>", seed=attempt)
            variants = usable(text, parse_variants(self.endpoint.ask(question).text))
            if variants:
                return variants
        return []


def parse_variants(answer: str) -> list[str]:
    """The captions of a numbered list; every other line is ignored.

    >>> parse_variants("Sure!\\n1. A red cat.\\n2) Two dogs\\nthe end")
    ['A red cat.', 'Two dogs']
    """
    variants = [match[2] for line in answer.splitlines() if (match := _LINE.match(line))]
    return [_unquoted(text) for text in variants[:VARIANTS]]


def usable(original: str, variants: Sequence[str]) -> list[str]:
    """The variants that are near misses of the original, without duplicates, in order."""
    original_words = [word.lower() for word in Caption.parse(original).words]
    by_words: dict[tuple[str, ...], str] = {}
    for variant in variants:
        words = tuple(word.lower() for word in Caption.parse(variant).words)
        shared = len(set(original_words) & set(words))
        if list(words) == original_words or shared < _SHARED * min(
            len(set(original_words)), len(set(words))
        ):
            continue
        if not 0.5 * len(original_words) <= len(words) <= 1.6 * len(original_words) + 1:
            continue
        by_words.setdefault(words, variant)
    return list(by_words.values())


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] in "\"'“" and text[-1] in "\"'”":
        return text[1:-1].strip()
    return text
