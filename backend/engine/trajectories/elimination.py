"""Elimination: at each step the deletion that leaves the highest s (TRACED §3.2, Algorithm 2).

Deletes words (or the model's tokens) one by one, down to the empty caption: T = L. Words beyond the
model's context are not deleted and are omitted from every candidate; otherwise they would move into
the context as earlier words are deleted.

A trajectory of L words requests L (L + 1) / 2 scores. *Lazy* elimination (`Exploring.lazy` = m)
requests at most L + m (L - 1): all deletions at step 1, and then only those of the m words whose
deletion gained most when it was last queried. Step 1 is exact, later steps are an approximation.

>>> from backend.engine.captions import Caption
>>> caption = Caption.parse("a red dog")
>>> [caption.without([i]) for i in range(3)]  # the candidates of step 1
['red dog', 'a dog', 'a red']
"""

from collections.abc import Sequence

import numpy as np

from backend.engine.captions import Caption
from backend.engine.scoring.protocol import BoolArray, FloatArray, TokenReader
from backend.engine.trajectories.deletions import Deletions
from backend.engine.trajectories.exploring import (
    AskScores,
    EditedText,
    Explorer,
    Exploring,
    SearchResult,
)


class LastGains:
    """Gain in s of the deletion of each word, or token, when it was last queried."""

    def __init__(self, exploring: Exploring) -> None:
        self._most = exploring.lazy
        self._sign = 1.0 if exploring.direction == "maximise" else -1.0
        self._gains: dict[int, float] = {}

    def most_promising(self, words: Sequence[int]) -> list[int]:
        """Those of `words` to query at the next step, in the order of the caption: all of them at
        the first step and without `lazy`. Ties go to the first."""
        if self._most is None or not self._gains:
            return list(words)
        ranking = sorted(words, key=lambda word: -self._sign * self._gains[word])
        return sorted(ranking[: self._most])

    def update(self, queries: Sequence[int], gains: FloatArray) -> None:
        """`gains`: in s over the caption of the step before, shape [len(queries)]."""
        if self._most is not None:
            self._gains |= zip(queries, gains.tolist(), strict=True)


def eliminate_words(
    caption: Caption, words_read: int, reader: TokenReader, exploring: Exploring
) -> Explorer:
    """Elimination over words. `words_read`: how many words, from the first, the model reads.

    Ties go to the first word. Candidates with equal tokens share one score, so that rounding does
    not decide between equal adjacent words.
    """
    deletions = Deletions(caption, reader)
    (start,) = reader.tokenise([caption.text])
    scores = [float((yield AskScores([start]))[0])]
    texts, removals = [start], list[int]()
    remaining = list(range(words_read))
    first = np.zeros(0, np.float32)
    gains = LastGains(exploring)
    while remaining and (exploring.whole or not removals):
        queries = gains.most_promising(remaining)
        tokens = deletions.of_each(remaining, queries)
        step_scores = yield AskScores(tokens)
        if not removals:
            first = step_scores
        gains.update(queries, step_scores - scores[-1])
        best = exploring.best(tokens, step_scores)
        removals.append(queries[best])
        remaining.remove(queries[best])
        scores.append(float(step_scores[best]))
        texts.append(tokens[best])
    return SearchResult(texts, [], scores, removals, first, not remaining)


def eliminate_tokens(text: EditedText, words_read: int, exploring: Exploring) -> Explorer:
    """Elimination over the model's tokens, as in the paper."""
    start = text.tokens
    scores = [float((yield AskScores([start]))[0])]
    texts, captions, removals = [start], list[str](), list[int]()
    first = np.zeros(0, np.float32)
    remaining = list(range(text.editable))
    gains = LastGains(exploring)
    while remaining and (exploring.whole or not removals):
        queries = gains.most_promising(remaining)
        candidates = [tuple(start[i] for i in remaining if i != deletion) for deletion in queries]
        step_scores = yield AskScores(candidates)
        if not removals:
            first = text.by_word(step_scores, words_read, scores[0], exploring.direction)
        gains.update(queries, step_scores - scores[-1])
        best = exploring.best(candidates, step_scores)
        removals.append(text.word_of[queries[best]])
        text.edit(queries[best], "")
        remaining.remove(queries[best])
        scores.append(float(step_scores[best]))
        texts.append(candidates[best])
        captions.append(str(text))
    return SearchResult(texts, captions, scores, removals, first, not remaining)


def eliminate(
    caption: Caption,
    words_read: int,
    reader: TokenReader,
    is_allowed: BoolArray,
    exploring: Exploring,
) -> Explorer:
    """Elimination over words or tokens, by `exploring.unit`. `is_allowed` is ignored: nothing is
    replaced."""
    if exploring.unit == "token":
        return eliminate_tokens(EditedText(caption, reader), words_read, exploring)
    return eliminate_words(caption, words_read, reader, exploring)
