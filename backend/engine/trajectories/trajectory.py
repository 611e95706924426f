"""The caption trajectory: what Algorithm 1 (TRACED §3.2) leaves behind for one pair."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from backend.engine.captions import Caption
from backend.engine.expectation import Expectation

FloatArray = NDArray[np.float32]


@dataclass(frozen=True)
class AuxiliaryScores:
    """What the model's other score says of the same captions: BLIP's ITC cosine beside ITM.

    The captions were chosen by s; this score had no say in it, and costs their text encodings.

    * `scores`: of x_0 … x_T, shape [T + 1].
    * `first_step_scores`: of x_0 without word i alone, shape [L'], whatever the explorer.
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
    * `first_step_scores`: shape [L']; the best score that an edit of word i alone gave at step 1,
      for each of the L' words the model reads. With Elimination over words that is the score of x_0
      without word i, and `first_step_scores - scores[0]` are the words' deletion gains.
    * `truncated`: the model does not read the whole caption; words from L' on are not in it.
    * `captions`: x_1 … x_T; None for Elimination over words, where x_t is x_0 without the words
      removed[:t] and need not be stored.
    * `second`: the second opinion of a model that has one.
    * `expectation`: what a captioner expects of the words of x_0, where one was asked.
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

    @property
    def steps(self) -> int:
        """T, the number of edits."""
        return len(self.removed)

    def caption_at(self, step: int) -> str:
        """x_t. Step 0 is the caption as it is."""
        if step == 0:
            return self.caption.text
        if self.captions is not None:
            return self.captions[step - 1]
        return self.caption.without(self.removed[:step])

    @cached_property
    def deletion_gains(self) -> FloatArray:
        """Gain in s from deleting word i alone, shape [L']. Higher is more suspect."""
        return self.first_step_scores - self.scores[0]

    @cached_property
    def peak(self) -> int:
        """The first step at which s is highest (0: no edit improves the caption)."""
        return int(np.argmax(self.scores)) if len(self.scores) else 0
