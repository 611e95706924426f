"""Runs many trajectories at once, with one batched call of the scorer per round.

Every live pair is a generator waiting for a response. A round collects the requests of all live
pairs, sends them to the scorer's session in one call, and returns the responses; a finished pair is
replaced by the next. Small models thus get full batches; for large ones it makes no difference.
On a card two groups of pairs take turns, each with a session: while the card computes what one
asked, the processor prepares the call of the other.
"""

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import wait
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice

import numpy as np

from backend.datasets.safe_files.daemon_pool import DaemonPool, result_of
from backend.engine.captions import Caption
from backend.engine.scoring.protocol import (
    BoolArray,
    FloatArray,
    ImageState,
    Overlapping,
    Scorer,
    Session,
    TokenReader,
    Tokens,
)
from backend.engine.trajectories.deletions import Deletions
from backend.engine.trajectories.explorers import EXPLORERS
from backend.engine.trajectories.exploring import (
    AskGains,
    AskScores,
    Explorer,
    Exploring,
    SearchResult,
)
from backend.engine.trajectories.trajectory import AuxiliaryScores, Trajectory

#: Finished pairs wait until so many can be embedded in one call, if several times as many are in
#: flight.
_EMBEDDED_TOGETHER = 64


@dataclass
class _Pair:
    index: int
    state: ImageState
    caption: Caption
    words_read: int
    explorer: Explorer
    request: AskScores | AskGains
    answer: FloatArray | None = None


def run_trajectories(
    scorer: Scorer,
    pairs: Iterable[tuple[ImageState, Caption]],
    exploring: Exploring | None = None,
    live: int | None = None,
    session: Session | None = None,
) -> Iterator[tuple[int, Trajectory]]:
    """(index, trajectory) of each pair, in order of completion.

    `pairs` is consumed lazily, so it may encode images on the fly. `live` pairs are in flight at a
    time in each session, by default as many as fit into memory according to it. `session`: instead
    of the scorer's own, which are several if they may compute at the same time (`Overlapping`).
    """
    exploring = exploring or Exploring()
    allowed = (
        scorer.reader.replaceable(exploring.whole_words)
        if exploring.kind.replaces_tokens
        else np.zeros(0, np.bool_)
    )

    def start(index: int, state: ImageState, caption: Caption) -> _Pair:
        words_read = scorer.reader.words_read(caption.text)
        explorer = start_explorer(scorer, caption, words_read, exploring, allowed)
        return _Pair(index, state, caption, words_read, explorer, next(explorer))

    waiting = (start(index, *pair) for index, pair in enumerate(pairs))
    sessions = [session] if session is not None else _sessions_of(scorer)
    # A single session computes in this thread, which has its share of the cores.
    with DaemonPool(len(sessions)) if len(sessions) > 1 else nullcontext() as pool:
        groups = deque(
            _run_group(scorer, each, waiting, exploring, live or each.live, pool)
            for each in sessions
        )
        try:
            while groups:
                group = groups.popleft()
                if (finished := next(group, None)) is not None:
                    groups.append(group)
                    yield from finished
        finally:
            for group in groups:
                group.close()


def _sessions_of(scorer: Scorer) -> Sequence[Session]:
    return scorer.open_sessions() if isinstance(scorer, Overlapping) else [scorer.open_session()]


def _run_group(
    scorer: Scorer,
    session: Session,
    waiting: Iterator[_Pair],
    exploring: Exploring,
    live: int,
    pool: DaemonPool | None,
) -> Generator[list[tuple[int, Trajectory]]]:
    """The trajectories that a session finishes round by round; nothing, so that other groups get
    their turn, while a thread of the pool waits for its answers."""
    running: list[_Pair] = []
    results: list[tuple[_Pair, SearchResult]] = []
    while True:
        running += islice(waiting, live - len(running))
        if not running:
            break
        if pool is None:
            _answer(session, running)
        else:
            answers = pool.submit(_answer, session, running)
            try:
                yield []
            finally:  # also where another session failed: whoever is next may use the model
                wait([answers])
            result_of(answers)
        still: list[_Pair] = []
        for pair in running:
            try:
                assert pair.answer is not None
                pair.request = pair.explorer.send(pair.answer)
                still.append(pair)
            except StopIteration as finished:
                results.append((pair, finished.value))
        running = still
        if live < 2 * _EMBEDDED_TOGETHER or len(results) >= _EMBEDDED_TOGETHER:
            yield list(_finish(scorer, session, results, exploring))
            results = []
    yield list(_finish(scorer, session, results, exploring))


def start_explorer(
    scorer: Scorer, caption: Caption, words_read: int, exploring: Exploring, is_allowed: BoolArray
) -> Explorer:
    """The generator of one pair. `is_allowed`: which tokens may replace another."""
    start = EXPLORERS[exploring.name]
    return start(caption, words_read, scorer.reader, is_allowed, exploring)


def _answer(session: Session, running: list[_Pair]) -> None:
    score_requests = [
        (pair, pair.request) for pair in running if isinstance(pair.request, AskScores)
    ]
    answers = (
        session.score([(pair.state, request.texts) for pair, request in score_requests])
        if score_requests
        else []
    )
    for (pair, _), answer in zip(score_requests, answers, strict=True):
        pair.answer = answer
    gain_requests = [(pair, pair.request) for pair in running if isinstance(pair.request, AskGains)]
    if gain_requests:
        gains = session.replacement_gains(
            [(pair.state, request.text) for pair, request in gain_requests]
        )
        for (pair, _), answer in zip(gain_requests, gains, strict=True):
            pair.answer = answer


def _finish(
    scorer: Scorer, session: Session, done: list[tuple[_Pair, SearchResult]], exploring: Exploring
) -> Iterator[tuple[int, Trajectory]]:
    """Yield the trajectories: add c_t = cos(x_t, x_0), where c_0 is 1, and the model's auxiliary
    scores if it has any."""
    if not done:
        return
    auxiliary = bool(scorer.info.auxiliary) and exploring.auxiliary
    images = scorer.image_embeddings([pair.state for pair, _ in done]) if auxiliary else None
    alone = [
        _single_deletions(pair, scorer.reader) if images is not None else [] for pair, _ in done
    ]
    every = [
        *(text for _, result in done for text in result.texts),
        *(text for texts in alone for text in texts),
    ]
    place = {text: row for row, text in enumerate(dict.fromkeys(every))}
    vectors = session.embed(list(place))
    for number, (pair, result) in enumerate(done):
        rows = vectors[[place[text] for text in result.texts]]
        similarities = np.clip(rows @ rows[0], -1.0, 1.0).astype(np.float32)
        similarities[0] = 1.0
        yield (
            pair.index,
            Trajectory(
                caption=pair.caption,
                scores=np.array(result.scores, np.float32),
                similarities=similarities,
                removed=tuple(result.changed),
                first_step_scores=result.first,
                truncated=pair.words_read < len(pair.caption),
                captions=None if exploring.deletes_words else tuple(result.captions),
                auxiliary=(
                    None
                    if images is None
                    else AuxiliaryScores(
                        rows @ images[number],
                        vectors[[place[text] for text in alone[number]]] @ images[number],
                    )
                ),
                whole=result.whole,
            ),
        )


def _single_deletions(pair: _Pair, reader: TokenReader) -> list[Tokens]:
    """The tokens of x_0 without word i, for each word that the model reads."""
    words = range(pair.words_read)
    return Deletions(pair.caption, reader).of_each(words, words)
