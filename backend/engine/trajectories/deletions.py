"""The tokens of a caption without some of its words."""

from collections.abc import Sequence

from backend.engine.captions import Caption
from backend.engine.scoring.protocol import TokenReader, Tokens, WordReader


class Deletions:
    def __init__(self, caption: Caption, reader: TokenReader) -> None:
        self._caption = caption
        self._reader = reader
        self._words = reader.tokens_of_words(caption) if isinstance(reader, WordReader) else None

    def of_each(self, words: Sequence[int], queries: Sequence[int]) -> list[Tokens]:
        """The tokens of `words` without each of `queries`, which are among them."""
        if self._words is None:
            deleted_words = set(range(len(self._caption))).difference(words)
            return self._reader.tokenise(
                [self._caption.without({*deleted_words, word}) for word in queries]
            )
        tokens, start_of = list[int](), dict[int, int]()
        for word in words:
            start_of[word] = len(tokens)
            tokens += self._words[word]
        whole = tuple(tokens)
        return [
            whole[: start_of[word]] + whole[start_of[word] + len(self._words[word]) :]
            for word in queries
        ]
