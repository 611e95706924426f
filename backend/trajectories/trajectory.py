"""The caption trajectory: what Algorithm 1 (TRACED §3.2) leaves behind for one pair."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from backend.captions import Caption

FloatArray = NDArray[np.float32]


@dataclass(frozen=True)
class Trajectory:
    """Captions x_0 … x_T with their scores s_t and similarities c_t to x_0.

    For Elimination over words, step t removes word `removed[t - 1]` (an index into the words of
    x_0), so the captions need not be stored: x_t is x_0 without removed[:t].

    * `scores`: s_0 … s_T, shape [T + 1].
    * `similarities`: c_0 … c_T, shape [T + 1]; c_0 is 1 by definition.
    * `removed`: word indices in the order of their removal, length T.
    * `first_step_scores`: shape [L']; score of x_0 without word i, for each of the L' words the
      model reads. `first_step_scores - scores[0]` are the words' deletion gains.
    * `truncated`: the model does not read the whole caption; words from L' on are not in it.
    """

    caption: Caption
    scores: FloatArray
    similarities: FloatArray
    removed: tuple[int, ...]
    first_step_scores: FloatArray
    truncated: bool = False
    explorer: str = field(default="elimination")

    @property
    def steps(self) -> int:
        """T, the number of edits."""
        return len(self.removed)

    def caption_at(self, step: int) -> str:
        """x_t. Step 0 is the caption as it is."""
        if step == 0:
            return self.caption.text
        return self.caption.without(self.removed[:step])

    @cached_property
    def deletion_gains(self) -> FloatArray:
        """Gain in s from deleting word i alone, shape [L']. Higher is more suspect."""
        return self.first_step_scores - self.scores[0]

    @cached_property
    def peak(self) -> int:
        """The first step at which s is highest (0: no edit improves the caption)."""
        return int(np.argmax(self.scores)) if len(self.scores) else 0
