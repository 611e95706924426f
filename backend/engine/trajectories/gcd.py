"""Explorers that replace tokens along the gradient of s (TRACED §3.2, Algorithms 3 and 4).

To first order, replacing token w_j with v changes s by ∇_{e(w_j)} s · (e(v) - e(w_j)). GCD takes
the K best v for every position and tries N of these replacements, sampled at random; Fast GCD first
finds the position whose deletion raises s most, and tries all K there. Either way the best
candidate becomes the next caption, even if it is worse than the current one (Algorithm 1).

Special tokens are never sampled; with `whole_words`, only complete words are. The samples for a
pair depend only on the run's seed and the caption, not on which pairs are processed alongside it.
"""

import zlib
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from backend.engine.captions import Caption
from backend.engine.scoring.protocol import BoolArray, FloatArray, TokenReader, Tokens
from backend.engine.trajectories.exploring import (
    AskGains,
    AskScores,
    EditedText,
    Explorer,
    Exploring,
    SearchResult,
    best_by_word,
)


def greedy_coordinate_descent(
    caption: Caption,
    words_read: int,
    reader: TokenReader,
    is_allowed: BoolArray,
    exploring: Exploring,
) -> Explorer:
    """GCD (Algorithm 3): N candidates per step, sampled from the K best of every position."""
    rng = np.random.default_rng((exploring.seed, zlib.crc32(caption.text.encode())))
    text = EditedText(caption, reader)
    now = text.tokens
    scores = [float((yield AskScores([now]))[0])]
    first = np.full(words_read, scores[0], np.float32)
    result = SearchResult([now], [], scores, [], first)
    for step in range(steps_of(exploring, text)):
        top = best_replacements((yield AskGains(now)), now, is_allowed, exploring)
        exchanges = _draw(top, exploring.candidates, rng)
        candidates = [_exchange(now, j, v) for j, v in exchanges]
        candidate_scores = yield AskScores(candidates)
        if step == 0:
            where = [text.word_of[j] for j, _ in exchanges]
            first[:] = best_by_word(
                candidate_scores, where, words_read, scores[0], exploring.direction
            )
        best = exploring.best(candidates, candidate_scores)
        now = _take(result, text, reader, now, *exchanges[best], float(candidate_scores[best]))
    return replace(result, whole=exploring.whole or len(result.changed) in (0, exploring.steps))


def fast_greedy_coordinate_descent(
    caption: Caption,
    words_read: int,
    reader: TokenReader,
    is_allowed: BoolArray,
    exploring: Exploring,
) -> Explorer:
    """Fast GCD (Algorithm 4): all K replacements of the token whose deletion raises s most."""
    text = EditedText(caption, reader)
    now = text.tokens
    scores = [float((yield AskScores([now]))[0])]
    first = np.full(words_read, scores[0], np.float32)
    result = SearchResult([now], [], scores, [], first)
    for step in range(steps_of(exploring, text)):
        shorter = [now[:j] + now[j + 1 :] for j in range(len(now))]
        deletion_scores = yield AskScores(shorter)
        if step == 0:
            first[:] = text.by_word(deletion_scores, words_read, scores[0], exploring.direction)
        j = exploring.best(shorter, deletion_scores)
        gains = yield AskGains(now)
        top = best_replacements(gains[j : j + 1], now[j : j + 1], is_allowed, exploring)[0]
        candidates = [_exchange(now, j, int(v)) for v in top]
        candidate_scores = yield AskScores(candidates)
        best = exploring.best(candidates, candidate_scores)
        now = _take(result, text, reader, now, j, int(top[best]), float(candidate_scores[best]))
    return replace(result, whole=exploring.whole or len(result.changed) in (0, exploring.steps))


def steps_of(exploring: Exploring, text: EditedText) -> int:
    """The number of steps to take; 0 in a caption without words."""
    if not text.editable:
        return 0
    return exploring.steps if exploring.whole else 1


def best_replacements(
    gains: FloatArray, now: Tokens, is_allowed: BoolArray, exploring: Exploring
) -> NDArray[np.int64]:
    """The K tokens of highest gain at each position, shape [positions, K], best first.

    A token never replaces itself. Fewer than K if fewer tokens are allowed.
    """
    objective = gains.astype(np.float32) if exploring.direction == "maximise" else -gains
    usable = np.where(is_allowed[None, :], objective, -np.inf)
    usable[np.arange(len(now)), list(now)] = -np.inf
    # Excluding a current token leaves one fewer only if that token is itself allowed.
    most = min(exploring.top, int(is_allowed.sum()) - int(is_allowed[list(now)].any()))
    part = np.argpartition(-usable, most - 1, axis=1)[:, :most]
    # Sorted by gain, then by token id: `argpartition` returns no particular order.
    order = np.lexsort((part, -np.take_along_axis(usable, part, 1)), axis=1)
    tokens: NDArray[np.int64] = np.take_along_axis(part, order, 1)
    return tokens


def _draw(top: NDArray[np.int64], count: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """`count` replacements (position, token): a uniform position, then uniformly one of its K."""
    positions = rng.integers(0, len(top), count)
    places = rng.integers(0, top.shape[1], count)
    return [(int(j), int(top[j, k])) for j, k in zip(positions, places, strict=True)]


def _exchange(now: Tokens, j: int, v: int) -> Tokens:
    return (*now[:j], v, *now[j + 1 :])


def _take(
    result: SearchResult,
    text: EditedText,
    reader: TokenReader,
    now: Tokens,
    j: int,
    v: int,
    score: float,
) -> Tokens:
    """Apply one replacement: record the new caption and return its tokens."""
    following = _exchange(now, j, v)
    text.edit(j, reader.decode((v,)))
    result.texts.append(following)
    result.captions.append(str(text))
    result.scores.append(score)
    result.changed.append(text.word_of[j])
    return following
