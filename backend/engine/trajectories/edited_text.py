"""The readable text of a caption that is edited token by token.

The model reads tokens; a curator reads the caption. Each token covers some of the caption's
characters, and an edit replaces only those, so that the user's capitals and punctuation are kept.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from backend.engine.captions import Caption
from backend.engine.scoring.protocol import FloatArray, TokenReader

_SPACES = re.compile(r"\s+")


class EditedText:
    """x_t as readable text.

    * `tokens`: x_0's own tokens;
    * `word_of`: for each token, the index of the caption's word it belongs to.
    """

    def __init__(self, caption: Caption, reader: TokenReader) -> None:
        (self.tokens,) = reader.tokenise([caption.text])
        spans = reader.spans(caption.text)
        #: Number of editable tokens: 0 in a caption without words.
        self.editable = len(self.tokens) if len(caption) else 0
        #: Punctuation belongs to the word whose chunk it is in, as in `Caption`.
        self.word_of = [bisect_right(caption.starts, start) - 1 for start, _ in spans]
        # Several tokens may share a character, such as the bytes of an emoji: the first has it.
        ends = list(accumulate((end for _, end in spans), max))
        spans = [
            (max(start, last), max(end, last))
            for last, (start, end) in zip([0, *ends], spans, strict=False)
        ]
        words_read = reader.words_read(caption.text)
        limit = caption.starts[words_read] if 0 < words_read < len(caption) else len(caption.text)
        #: Each token's own characters, the text before each, and the text after the last.
        self._pieces = [caption.text[start:end] for start, end in spans]
        self._before = [
            caption.text[last:start] for last, (start, _) in zip([0, *ends], spans, strict=False)
        ]
        self._tail = caption.text[ends[-1] if ends else 0 : limit]
        self._deleted: set[int] = set()

    def edit(self, token: int, piece: str) -> None:
        """Replace a token's characters; an empty piece deletes them."""
        self._pieces[token] = piece
        (self._deleted.discard if piece else self._deleted.add)(token)

    def __str__(self) -> str:
        joined = "".join(
            _SPACES.sub(" ", before)[:1] if token in self._deleted else before + piece
            for token, (before, piece) in enumerate(zip(self._before, self._pieces, strict=True))
        )
        return _SPACES.sub(" ", joined + self._tail).strip()

    def by_word(
        self, scores: FloatArray, words: int, start: float, direction: str = "maximise"
    ) -> FloatArray:
        """The best of the tokens' scores for each word, shape [words]; `start` for words without
        a token."""
        return best_by_word(scores, self.word_of, words, start, direction)


def best_by_word(
    scores: FloatArray, word_of: Sequence[int], words: int, start: float, direction: str
) -> FloatArray:
    """The best score of the edits of each word, shape [words]; `start` for words never edited."""
    best: list[float] = [np.nan] * words
    choose = max if direction == "maximise" else min
    for score, word in zip(scores.tolist(), word_of, strict=True):
        if 0 <= word < words:
            best[word] = score if np.isnan(best[word]) else choose(score, best[word])
    return np.array([start if np.isnan(score) else score for score in best], np.float32)
