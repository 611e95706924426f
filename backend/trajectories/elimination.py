"""Elimination: at each step the deletion that leaves the highest s (TRACED §3.2, Algorithm 2).

Deletes whole words, T = L of them, down to the empty caption. Words that the model does not read
(behind its context) are not deleted and stay out of every candidate: the model does not see them,
so they must not come into view when words before them go.
"""

from collections.abc import Generator, Sequence

import numpy as np

from backend.captions import Caption
from backend.trajectories.trajectory import FloatArray, Trajectory

#: Yields captions to be scored, receives their scores; returns the finished trajectory without
#: similarities, which the driver adds.
Explorer = Generator[Sequence[str], FloatArray, "Exploration"]


class Exploration:
    """What an explorer found: scores s_0 … s_T, the words removed, the scores of step 1."""

    def __init__(
        self, captions: list[str], scores: list[float], removed: list[int], first: FloatArray
    ) -> None:
        self.captions = captions
        self.scores = scores
        self.removed = removed
        self.first = first


def eliminate(caption: Caption, words_read: int) -> Explorer:
    """The generator of one pair. `words_read`: the first so many words are what the model reads.

    Ties go to the lowest word; candidates that are equal as strings are scored once, so that equal
    words next to each other do not part by rounding.
    """
    behind = tuple(range(words_read, len(caption)))
    start = yield [caption.text]
    scores, captions = [float(start[0])], [caption.text]
    removed: list[int] = []
    left = list(range(words_read))
    first = np.zeros(0, np.float32)
    while left:
        candidates = [caption.without((*removed, word, *behind)) for word in left]
        distinct = list(dict.fromkeys(candidates))
        answers = dict(zip(distinct, (yield distinct), strict=True))
        gained = np.array([answers[text] for text in candidates], np.float32)
        if not removed:
            first = gained
        best = int(np.argmax(gained))
        removed.append(left.pop(best))
        scores.append(float(gained[best]))
        captions.append(candidates[best])
    return Exploration(captions, scores, removed, first)


def finish(
    caption: Caption, exploration: Exploration, similarities: FloatArray, words_read: int
) -> Trajectory:
    """The trajectory of one exploration with c_0 … c_T, shape [T + 1]."""
    return Trajectory(
        caption=caption,
        scores=np.array(exploration.scores, np.float32),
        similarities=similarities,
        removed=tuple(exploration.removed),
        first_step_scores=exploration.first,
        truncated=words_read < len(caption),
    )
