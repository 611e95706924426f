"""Fine-grained noise by rules: one or two details of a caption are changed.

A detector that reads only the text must learn nothing from this noise, or it would detect our
generator instead of errors. So replacements are sampled in proportion to their frequency in the
dataset itself. If word w is at a position and f is the frequency of each word, then

    weight(w → v) = f(v) / Σ f(all words that fit the position)

makes the flow from w to v, f(w)·f(v)/Σ, equal to the reverse flow, so that the noise leaves word
frequencies unchanged. Captions allow different numbers of edits, which causes a small bias; a few
rounds of correction on the dataset's own captions remove it.
"""

import random
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from backend.engine.captions import Caption
from backend.engine.languages.identification import language_in, usual_language
from backend.engine.languages.language import ENGLISH, Language
from backend.engine.noise.edits import Edit, edits_by, frames, rules_in
from backend.engine.noise.noisy_caption import NoisyCaption, rewrite
from backend.engine.noise.rules import RULES

#: Pseudo-count of words that the dataset does not use: chosen only if nothing else fits.
_UNSEEN = 1e-3
#: Maximum number of captions used for balancing; more make no difference.
_BALANCED_ON = 1500
_SECOND_EDIT = 0.3
#: Rounds of correction on the dataset's own captions.
_ROUNDS = 4


class FineGrainedNoise:
    """A source of fine-grained errors, balanced to the word frequencies of one dataset."""

    def __init__(self, captions: Iterable[str]) -> None:
        """`captions` are the dataset's own."""
        texts = list(captions)
        #: Of most captions, and of those that do not tell.
        self.language = usual_language(texts)
        without = [text for text in texts if not has_words(self._language_of(text))]
        self._frames = frames(without)
        self._frequency = Counter(word for text in texts for word in _terms(text))
        self._factor: dict[str, float] = {}
        # Most edits of a dataset exchange words of the same few groups.
        self._group_frequency = lru_cache(maxsize=10_000)(self._count_uses)
        self._balance(texts, random.Random(0))

    def make(self, text: str, generator: random.Random) -> NoisyCaption | None:
        """`text` with one or two details changed, or None if no rule applies."""
        caption = Caption.parse(text)
        edits = self._edits(caption)
        selection = self._choose(edits, generator)
        if not selection:
            return None
        replacements = [replacement for edit in selection for replacement in edit.replacements]
        new, spans = rewrite(caption, replacements)
        if new.split() == text.split():
            return None
        selection.sort(key=lambda edit: edit.replacements[0].first)
        kinds = tuple(edit.kind for edit in selection)
        return NoisyCaption(new, spans, "fine_grained", kinds, text)

    def _language_of(self, text: str) -> Language:
        return language_in(text, self.language)

    def _edits(self, caption: Caption) -> list[Edit]:
        language = self._language_of(caption.text)
        rules = RULES if language is ENGLISH else rules_in(language) or self._frames
        return edits_by(rules, caption)

    def _choose(self, edits: list[Edit], generator: random.Random) -> list[Edit]:
        if not edits:
            return []
        selection = [generator.choices(edits, [self._weight(edit) for edit in edits])[0]]
        if generator.random() < _SECOND_EDIT:
            free = [
                e for e in edits if not _touch(e, selection[0]) and e.gained != selection[0].gained
            ]
            if free:
                selection += generator.choices(free, [self._weight(edit) for edit in free])
        return selection

    def _weight(self, edit: Edit) -> float:
        total = self._group_frequency(edit.group) + _UNSEEN
        share = (self._frequency[edit.gained] + _UNSEEN) / total
        return share * self._factor.get(edit.gained, 1.0)

    def _count_uses(self, group: tuple[str, ...]) -> int:
        return sum(self._frequency.get(word, 0) for word in group)

    def _balance(self, texts: list[str], generator: random.Random) -> None:
        """Correct the weights of words that the noise makes rarer or more frequent.

        Counts are smoothed, so that words changed only a few times keep roughly their weight.
        """
        if len(texts) > _BALANCED_ON:
            texts = generator.sample(texts, _BALANCED_ON)
        candidates = [edits for text in texts if (edits := self._edits(Caption.parse(text)))]
        for _ in range(_ROUNDS):
            gains: Counter[str] = Counter()
            losses: Counter[str] = Counter()
            for edits in candidates:
                for edit in self._choose(edits, generator):
                    gains[edit.gained] += 1
                    losses[edit.lost] += 1
            for word in gains.keys() | losses.keys():
                ratio = (losses[word] + 3.0) / (gains[word] + 3.0)
                factor = self._factor.get(word, 1.0) * ratio**0.7
                self._factor[word] = min(30.0, max(0.02, factor))


def has_words(language: Language) -> bool:
    """Whether there are rules for the language; otherwise a dataset's own words are exchanged."""
    return language is ENGLISH or bool(language.groups)


def _terms(text: str) -> list[str]:
    """Lower-case words, bigrams and trigrams: relations may be phrases."""
    words = [word.lower() for word in Caption.parse(text).words]
    pairs = [" ".join(words[i : i + 2]) for i in range(len(words) - 1)]
    triples = [" ".join(words[i : i + 3]) for i in range(len(words) - 2)]
    return words + pairs + triples


def _touch(edit: Edit, other: Edit) -> bool:
    """Whether two edits change the same or adjacent words."""
    return any(abs(a - b) <= 1 for a in edit.positions for b in other.positions)
