"""The caption trajectory: the result of Algorithm 1 (TRACED §3.2) for one pair."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from backend.engine.captions import Caption
from backend.engine.expectation import Expectation

FloatArray = NDArray[np.float32]


@dataclass(frozen=True)
class AuxiliaryScores:
    """The model's second score for the same captions, e.g. BLIP's ITC cosine when s is ITM.

    The captions were chosen by s alone. Computing this score costs encoding their texts.

    * `scores`: of x_0 … x_T, shape [T + 1].
    * `first_step_scores`: of x_0 without word i alone, shape [L'], for every explorer.
    """

    scores: FloatArray
    first_step_scores: FloatArray

    @cached_property
    def deletion_gains(self) -> FloatArray:
        """Gain from deleting word i alone, shape [L']."""
        return self.first_step_scores - self.scores[0]


@dataclass(frozen=True)
class Trajectory:
    """Captions x_0 … x_T with their scores s_t and similarities c_t to x_0.

    * `scores`: s_0 … s_T, shape [T + 1].
    * `similarities`: c_0 … c_T, shape [T + 1]; c_0 is 1 by definition.
    * `removed`: the word (an index into the words of x_0) that step t removed or edited, length T.
    * `first_step_scores`: shape [L']; the best score at step 1 of an edit of word i alone, for each
      of the L' words the model reads. With Elimination over words that is the score of x_0 without
      word i, and `first_step_scores - scores[0]` are the words' deletion gains.
    * `truncated`: whether the model does not read the whole caption but only its first L' words.
    * `captions`: x_1 … x_T; None for Elimination over words, where x_t is x_0 without the words
      removed[:t] and need not be stored.
    * `auxiliary`: the model's second score, if it has one.
    * `expectation`: a captioner's probabilities of the words of x_0, if one was run.
    * `whole`: False if only the first step is known: T is 1, and there are more steps.
    * `second_opinion`: how far a second model agrees with x_0 (`opinion_signs`), 0 if it
      was not asked.
    """

    caption: Caption
    scores: FloatArray
    similarities: FloatArray
    removed: tuple[int, ...]
    first_step_scores: FloatArray
    truncated: bool = False
    captions: tuple[str, ...] | None = None
    auxiliary: AuxiliaryScores | None = None
    expectation: Expectation | None = None
    whole: bool = True
    second_opinion: float = 0.0

    def first_step(self) -> "Trajectory":
        """The trajectory up to step 1: the single edits, and the best of them as x_1."""
        if self.steps <= 1:
            return self
        second = self.auxiliary
        return replace(
            self,
            scores=self.scores[:2],
            similarities=self.similarities[:2],
            removed=self.removed[:1],
            captions=None if self.captions is None else self.captions[:1],
            auxiliary=second and AuxiliaryScores(second.scores[:2], second.first_step_scores),
            whole=False,
        )

    @property
    def steps(self) -> int:
        """T, the number of edits."""
        return len(self.removed)

    def caption_at(self, step: int) -> str:
        """x_t. Step 0 is the original caption."""
        if step == 0:
            return self.caption.text
        if self.captions is not None:
            return self.captions[step - 1]
        return self.caption.without(self.removed[:step])

    @cached_property
    def deletion_gains(self) -> FloatArray:
        """Gain in s from editing word i alone, shape [L']. Higher is more suspect."""
        return self.first_step_scores - self.scores[0]

    @cached_property
    def peak(self) -> int:
        """The first step at which s is highest (0: no edit improves the caption)."""
        return int(np.argmax(self.scores)) if len(self.scores) else 0
