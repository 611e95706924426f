"""Many trajectories at once: one call of the scorer a round, whoever asks.

Every live pair is a generator that waits for scores. A round collects the questions of all of them,
puts them to the scorer together, and hands the answers back; a finished pair makes room for the
next. Small models are busy with full batches this way, and large ones see no difference.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from backend.captions import Caption
from backend.scoring.protocol import FloatArray, ImageState, Scorer
from backend.trajectories.elimination import Exploration, Explorer, eliminate, finish
from backend.trajectories.trajectory import Trajectory

#: Pairs in flight: enough for full batches, few enough to keep their image states in memory.
LIVE = 48


@dataclass
class _Pair:
    index: int
    state: ImageState
    caption: Caption
    words_read: int
    explorer: Explorer
    asked: Sequence[str]


def run_trajectories(
    scorer: Scorer, pairs: Iterable[tuple[ImageState, Caption]], live: int = LIVE
) -> Iterator[tuple[int, Trajectory]]:
    """(index, trajectory) of each pair, as they finish, not in order.

    `pairs` is read only as pairs finish, so it may encode images as it goes.
    """
    waiting = enumerate(pairs)
    running: list[_Pair] = []
    while True:
        while len(running) < live and (following := next(waiting, None)) is not None:
            index, (state, caption) = following
            words_read = scorer.words_read(caption.text)
            explorer = eliminate(caption, words_read)
            running.append(_Pair(index, state, caption, words_read, explorer, next(explorer)))
        if not running:
            return
        answers = scorer.score([(pair.state, pair.asked) for pair in running])
        still: list[_Pair] = []
        done: list[tuple[_Pair, Exploration]] = []
        for pair, scores in zip(running, answers, strict=True):
            try:
                pair.asked = pair.explorer.send(scores)
                still.append(pair)
            except StopIteration as finished:
                done.append((pair, finished.value))
        running = still
        if done:
            similarities = _similarities(scorer, [found.captions for _, found in done])
            for (pair, found), c in zip(done, similarities, strict=True):
                yield pair.index, finish(pair.caption, found, c, pair.words_read)


def _similarities(scorer: Scorer, captions: Sequence[Sequence[str]]) -> list[FloatArray]:
    """c_t = cos(x_t, x_0) for each list of captions; c_0 is 1."""
    distinct = list(dict.fromkeys(text for texts in captions for text in texts))
    place = {text: row for row, text in enumerate(distinct)}
    vectors = scorer.text_embeddings(distinct)
    found = []
    for texts in captions:
        rows = vectors[[place[text] for text in texts]]
        c = np.clip(rows @ rows[0], -1.0, 1.0).astype(np.float32)
        c[0] = 1.0
        found.append(c)
    return found
