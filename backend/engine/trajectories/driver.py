"""Runs many trajectories at once, with one batched call of the scorer per round.

Every live pair is a generator waiting for a response. A round collects the requests of all live
pairs, sends them to the scorer's session in one call, and returns the responses; a finished pair is
replaced by the next. Small models thus get full batches; for large ones it makes no difference.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from backend.engine.captions import Caption
from backend.engine.scoring.protocol import (
    BoolArray,
    FloatArray,
    ImageState,
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
    time, by default as many as fit into memory according to the session.
    """
    exploring = exploring or Exploring()
    session = session or scorer.open_session()
    live = live or session.live
    allowed = (
        scorer.reader.replaceable(exploring.whole_words)
        if exploring.kind.replaces_tokens
        else np.zeros(0, np.bool_)
    )
    waiting = enumerate(pairs)
    running: list[_Pair] = []
    results: list[tuple[_Pair, SearchResult]] = []
    while True:
        while len(running) < live and (following := next(waiting, None)) is not None:
            index, (state, caption) = following
            words_read = scorer.reader.words_read(caption.text)
            explorer = start_explorer(scorer, caption, words_read, exploring, allowed)
            running.append(_Pair(index, state, caption, words_read, explorer, next(explorer)))
        if not running:
            break
        _answer(session, running)
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
            yield from _finish(scorer, session, results, exploring)
            results = []
    yield from _finish(scorer, session, results, exploring)


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
