"""Suspicion of a word from one gradient, the cheapest baseline for the suspect words.

It is the first-order rise of s if the word were replaced by an average one.
"""

from collections.abc import Iterable

import numpy as np

from backend.engine.captions import Caption
from backend.engine.scoring.protocol import ImageState, Scorer
from research.evaluation.suspect_hits import WordScores

_BATCH = 16


def word_gradients(scorer: Scorer, pairs: Iterable[tuple[ImageState, Caption]]) -> list[WordScores]:
    """For each pair one score per word, shape [words]; higher is more suspect, -inf if unread.

    A word of several tokens gets the maximum of their scores.
    """
    session = scorer.open_session()
    allowed = scorer.reader.replaceable(True)
    word_scores: list[WordScores] = []
    batch: list[tuple[ImageState, Caption]] = []

    def answer() -> None:
        texts = scorer.reader.tokenise([caption.text for _, caption in batch])
        queries = [(state, text) for (state, _), text in zip(batch, texts, strict=True)]
        for (_, caption), (_, text), gains in zip(
            batch, queries, session.replacement_gains(queries), strict=True
        ):
            usual = gains[:, allowed].mean(1)
            own_gains = gains[np.arange(len(text)), list(text)]
            word_scores.append(
                _by_word(caption, scorer.reader.spans(caption.text), usual - own_gains)
            )
        batch.clear()

    for pair in pairs:
        batch.append(pair)
        if len(batch) == _BATCH:
            answer()
    if batch:
        answer()
    return word_scores


def _by_word(caption: Caption, tokens: list[tuple[int, int]], gains: np.ndarray) -> WordScores:
    by_word = np.full(len(caption), -np.inf)
    for (start, end), gain in zip(tokens, gains, strict=False):
        for word, (first, last) in enumerate(caption.spans):
            if start < last and first < end:
                by_word[word] = max(by_word[word], float(gain))
    return by_word
