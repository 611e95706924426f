"""A scorer from one function of a picture and captions: the short way to a family of one's own.

    FAMILY = scorer_family("brightness", score)

Its tokens are words, and two captions are as similar as the sentence model says. It has no
gradient, so only explorers that delete words can use it.
"""

from collections.abc import Callable, Sequence

import numpy as np
from PIL import Image

from backend.engine.captions import Caption
from backend.engine.embeddings import embed
from backend.engine.scoring.checkpoints import Family, Request
from backend.engine.scoring.protocol import (
    BoolArray,
    FloatArray,
    ImageState,
    Independent,
    ScorerInfo,
    TokenReader,
    Tokens,
    Work,
)
from backend.errors import SettingsError

#: s of each caption for the picture, which is RGB; higher means a better match.
ScoreFunction = Callable[[Image.Image, Sequence[str]], Sequence[float]]


def scorer_family(kind: str, score: ScoreFunction, revision: str = "") -> Family:
    """A family whose models are named `kind`, or `kind:` and what you like. `revision`: stored with
    each score; another one for another function."""

    def load(request: Request) -> FunctionScorer:
        return FunctionScorer(ScorerInfo(kind, request.model, revision, request.device), score)

    return Family((kind,), load, named=lambda model: model.partition(":")[0] == kind)


class WordTokens:
    """Every word is a token."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def tokenise(self, captions: Sequence[str]) -> list[Tokens]:
        numbers = self._numbers
        return [
            tuple(numbers.setdefault(word, len(numbers)) for word in caption.split())
            for caption in captions
        ]

    def spans(self, caption: str) -> list[tuple[int, int]]:
        return list(Caption.parse(caption).spans)

    def decode(self, tokens: Tokens) -> str:
        words = list(self._numbers)
        return " ".join(words[token] for token in tokens)

    def words_read(self, caption: str) -> int:
        return len(Caption.parse(caption))

    def replaceable(self, whole_words: bool) -> BoolArray:
        return np.zeros(len(self._numbers), np.bool_)


class FunctionScorer(Independent):
    """See `scorer_family`."""

    def __init__(self, info: ScorerInfo, function: ScoreFunction) -> None:
        self.info = info
        self.reader = WordTokens()
        self.function = function

    def encode_images(self, images: Sequence[Image.Image]) -> list[ImageState]:
        return list(images)

    def image_embeddings(self, states: Sequence[ImageState]) -> None:
        return None

    def open_session(self) -> "FunctionSession":
        return FunctionSession(self.reader, self.function, self.info.kind)


class FunctionSession:
    live = 16

    def __init__(self, reader: TokenReader, function: ScoreFunction, kind: str) -> None:
        self._reader, self._function, self._kind = reader, function, kind
        self.work, self.embedding_work = Work(), Work()

    def score(self, requests: Sequence[tuple[ImageState, Sequence[Tokens]]]) -> list[FloatArray]:
        self.work.sequences += sum(len(set(texts)) for _, texts in requests)
        return [
            self._scores(image, [self._reader.decode(text) for text in texts])
            for image, texts in requests
        ]

    def _scores(self, image: Image.Image, captions: Sequence[str]) -> FloatArray:
        """Raises SettingsError unless the function gives each caption one finite number."""
        values = self._function(image, captions)
        try:
            scores = np.array(values, np.float32)
            fits = scores.shape == (len(captions),) and bool(np.isfinite(scores).all())
        except (TypeError, ValueError):
            fits = False
        if not fits:
            raise SettingsError(
                f"The scorer '{self._kind}' must give a finite number for each of "
                f"{len(captions)} captions, and gives {str(values)[:80]}. Repair its package."
            )
        return scores

    def embed(self, texts: Sequence[Tokens]) -> FloatArray:
        return embed([self._reader.decode(text) for text in texts])

    def replacement_gains(self, requests: Sequence[tuple[ImageState, Tokens]]) -> list[FloatArray]:
        """No word may replace another, so none gains."""
        most = len(self._reader.replaceable(False))
        return [np.zeros((len(text), most), np.float32) for _, text in requests]
