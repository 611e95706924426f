"""Elimination: at each step the deletion that leaves the highest s (TRACED §3.2, Algorithm 2).

Deletes words (or the model's tokens), all of them, down to the empty caption: T = L. Words that the
model does not read (behind its context) are not deleted and stay out of every candidate: the model
does not see them, so they must not come into view when words before them go.

>>> from backend.engine.captions import Caption
>>> caption = Caption.parse("a red dog")
>>> [caption.without([i]) for i in range(3)]  # the candidates of step 1
['red dog', 'a dog', 'a red']
"""

from collections.abc import Callable, Sequence

import numpy as np

from backend.engine.captions import Caption
from backend.engine.scoring.protocol import BoolArray, TokenReader, Tokens
from backend.engine.trajectories.edited_text import EditedText
from backend.engine.trajectories.exploring import (
    AskScores,
    Explorer,
    ExplorerKind,
    Exploring,
    SearchResult,
)

Tokenise = Callable[[Sequence[str]], list[Tokens]]


def eliminate_words(
    caption: Caption, words_read: int, tokenise: Tokenise, exploring: Exploring
) -> Explorer:
    """`words_read`: the first so many words are what the model reads.

    Ties go to the lowest word; candidates that read the same to the model score the same, so that
    equal words next to each other do not part by rounding.
    """
    behind = tuple(range(words_read, len(caption)))
    (start,) = tokenise([caption.text])
    scores = [float((yield AskScores([start]))[0])]
    texts, captions, removed = [start], [], list[int]()
    left = list(range(words_read))
    first = np.zeros(0, np.float32)
    while left:
        candidates = [caption.without((*removed, word, *behind)) for word in left]
        read = tokenise(candidates)
        step_scores = yield AskScores(read)
        if not removed:
            first = step_scores
        best = exploring.best(read, step_scores)
        removed.append(left.pop(best))
        scores.append(float(step_scores[best]))
        texts.append(read[best])
        captions.append(candidates[best])
    return SearchResult(texts, captions, scores, removed, first)


def eliminate_tokens(text: EditedText, words_read: int, exploring: Exploring) -> Explorer:
    """The same over the model's tokens, as the paper does it."""
    start = text.tokens
    scores = [float((yield AskScores([start]))[0])]
    texts, captions, changed = [start], list[str](), list[int]()
    first = np.zeros(0, np.float32)
    left = list(range(text.editable))
    while left:
        read = [tuple(start[i] for i in left if i != gone) for gone in left]
        step_scores = yield AskScores(read)
        if not changed:
            first = text.by_word(step_scores, words_read, scores[0], exploring.direction)
        best = exploring.best(read, step_scores)
        changed.append(text.word_of[left[best]])
        text.edit(left.pop(best), "")
        scores.append(float(step_scores[best]))
        texts.append(read[best])
        captions.append(str(text))
    return SearchResult(texts, captions, scores, changed, first)


def eliminate(
    caption: Caption,
    words_read: int,
    reader: TokenReader,
    allowed: BoolArray,
    exploring: Exploring,
) -> Explorer:
    """Elimination by the unit that `exploring` names; nothing is replaced, so `allowed` is not
    asked for."""
    if exploring.unit == "token":
        return eliminate_tokens(EditedText(caption, reader), words_read, exploring)
    return eliminate_words(caption, words_read, reader.tokenise, exploring)


ELIMINATION = ExplorerKind(eliminate, ("unit",), replaces_tokens=False)
