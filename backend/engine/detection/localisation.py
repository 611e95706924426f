"""Which words make the caption wrong: a score per word in [0, 1], higher is more suspect.

A weighted mean of signs (`WordWeights`), each in [0, 1]:

* *gain*: the gain from deleting the word alone, relative to the largest such gain in the caption; 0
  if the deletion lowers the score. Taken from the trajectory's first step, so later deletions do
  not affect it.
* *order*: 1 for the word removed first, falling to 0 at the peak. Greedy removal takes the worst
  word first, and does not take words that only look bad next to it.
* *peak*: 1 for words removed before the score reaches its maximum.
* *auxiliary gain*: as gain, by the model's auxiliary score, if it has one.
* *surprise*: how little a captioner expected the word, relative to the word it expected least,
  if one has read the caption (`engine/expectation.py`).

Signs that are not available are left out and their weight is redistributed. Where only the first
step is known (`Trajectory.whole`), *gain* takes the place of *order* and *peak*.

If the probability of error is known, scores are scaled by it, so that right captions stay unmarked.
Words the model does not read have no score.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.engine.detection.types import SuspectWord
from backend.engine.english.word_kinds import kind_of
from backend.engine.languages.identification import language_in
from backend.engine.languages.language import ENGLISH, Language
from backend.engine.trajectories.trajectory import Trajectory

#: Minimum score of a word that is shown as suspect.
VISIBLE = 0.15
#: A word that scores less is more often right than wrong.
LIKELY = 0.5
#: Most words that are pointed out.
NAMED = 3
#: Surprise is relative to the caption's largest -log p, but to at least this value (nats).
_FULL_SURPRISE = 2.0


def has_content(words: Sequence[str], language: Language = ENGLISH) -> bool:
    """Whether any of the words is more than a function word or a count.

    >>> has_content(["two", "dogs"]), has_content(["Two", "at", "the"])
    (True, False)
    """
    return any(
        word.lower() not in language.function_words and kind_of(word, language) != "count"
        for word in words
    )


def most_suspect(caption: str, words: Sequence[SuspectWord]) -> list[SuspectWord]:
    """The words to point out, the most suspect first, at most `NAMED`: those that are more likely
    wrong than right, or else the most suspect one. Function words and counts stand back behind
    words that say more.

    >>> two, dogs = SuspectWord(0, 3, 0.9), SuspectWord(4, 8, 0.6)
    >>> [word.score for word in most_suspect("Two dogs", (two, dogs))]
    [0.6]
    >>> [word.score for word in most_suspect("Two dogs", (two, SuspectWord(4, 8, 0.2)))]
    [0.9]
    """
    language = language_in(caption)
    visible = sorted((w for w in words if w.score >= VISIBLE), key=lambda word: -word.score)
    content = [w for w in visible if has_content([caption[w.start : w.end]], language)]
    likely = [w for w in content if w.score >= LIKELY] or [w for w in visible if w.score >= LIKELY]
    return likely[:NAMED] or (content or visible)[:1]


@dataclass(frozen=True)
class WordWeights:
    """Weights of the signs; only their ratios matter.

    The default for `surprise` equals the sum of the weights of all deletion signs. It was not
    tuned: it was added with equal weight, on other seeds than those reported. `function_words` is a
    factor for "a", "in", "of", which are wrong only together with another word. `word_weights` fits
    all of them to a dataset's injected errors.
    """

    gain: float = 0.55
    order: float = 0.3
    peak: float = 0.15
    auxiliary_gain: float = 1.0
    surprise: float = 2.0
    function_words: float = 0.2

    def of_signs(self) -> NDArray[np.float64]:
        """The signs' weights in the order of `word_signs`, shape [5]."""
        return np.array([getattr(self, name) for name in SIGNS])

    def to_json(self) -> dict[str, float]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_json(cls, value: dict[str, Any] | None) -> "WordWeights":
        """Stored weights; None, from classifiers stored before weights were fitted, gives the
        default."""
        names = {field.name for field in fields(cls)}
        return cls(**{name: float(w) for name, w in (value or {}).items() if name in names})


SIGNS = ("gain", "order", "peak", "auxiliary_gain", "surprise")
DEFAULT = WordWeights()


def word_signs(trajectory: Trajectory) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Each word's signs in [0, 1], shape [words read, 5], and which signs are available, [5]."""
    words = len(trajectory.first_step_scores)
    signs = np.zeros((words, len(SIGNS)))
    gain, order, peak = _along_the_trajectory(trajectory)
    if not trajectory.whole:
        order = peak = gain
    signs[:, 0], signs[:, 1], signs[:, 2] = gain, order, peak
    auxiliary, expectation = trajectory.auxiliary, trajectory.expectation
    if auxiliary is not None:
        signs[:, 3] = _relative(auxiliary.deletion_gains)
    if expectation is not None:
        surprise = -expectation.log_p.astype(np.float64)[:words]
        signs[: len(surprise), 4] = surprise / max(surprise.max(initial=0.0), _FULL_SURPRISE)
    return signs, np.array([True, True, True, auxiliary is not None, expectation is not None])


def is_function_word(trajectory: Trajectory) -> NDArray[np.bool_]:
    """Whether each word that the model reads is a function word, shape [words read]."""
    words = trajectory.caption.words[: len(trajectory.first_step_scores)]
    function_words = language_in(trajectory.caption.text).function_words
    return np.array([word.lower() in function_words for word in words], np.bool_)


def word_scores(trajectory: Trajectory, weights: WordWeights = DEFAULT) -> NDArray[np.float64]:
    """Score of each word the model reads, in [0, 1], shape [len(first_step_scores)]."""
    signs, is_measured = word_signs(trajectory)
    weight = weights.of_signs() * is_measured
    means = signs @ weight / max(float(weight.sum()), 1e-9)
    factor = np.where(is_function_word(trajectory), weights.function_words, 1.0)
    scores: NDArray[np.float64] = np.clip(means * factor, 0.0, 1.0)
    return scores


def _relative(gains: np.ndarray) -> np.ndarray:
    """Gains relative to the largest; negative gains become 0."""
    rising = np.maximum(gains.astype(np.float64), 0.0)
    largest = rising.max(initial=0.0)
    return rising / largest if largest > 1e-9 else rising * 0


def _along_the_trajectory(trajectory: Trajectory) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gain, order and peak of each word; all 0 if no removal improves the caption."""
    gains = trajectory.deletion_gains
    order = np.zeros(len(gains))
    if not len(gains) or trajectory.peak == 0:
        return order, order, order
    until_peak = trajectory.removed[: trajectory.peak]
    for index, word in enumerate(until_peak):
        if word < len(order):  # a token may belong to a word that is only partly read
            order[word] = max(order[word], 1 - index / trajectory.peak)
    in_peak = np.isin(np.arange(len(gains)), until_peak).astype(np.float64)
    return _relative(gains), order, in_peak


def suspect_words(
    trajectory: Trajectory, p_error: float | None = None, weights: WordWeights = DEFAULT
) -> tuple[SuspectWord, ...]:
    """Every word the model reads with its score, in the order of the caption.

    `p_error` scales the scores: by 1 from 0.7 up, falling linearly to 0 at 0.
    """
    trust = 1.0 if p_error is None else float(np.clip(p_error / 0.7, 0.0, 1.0))
    return tuple(
        SuspectWord(start, end, round(float(score) * trust, 4))
        for (start, end), score in zip(
            trajectory.caption.spans, word_scores(trajectory, weights), strict=False
        )
    )
