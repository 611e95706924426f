"""A session on a CUDA stream of its own, beside others on the same card.

What a call copies to the card or back waits for all that was asked of its stream before. On the
stream that everything uses by default, it would wait for the calls of other sessions as well.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from backend.engine.scoring.forwarding import ForwardingSession
from backend.engine.scoring.protocol import FloatArray, ImageState, Tokens


@dataclass
class StreamSession(ForwardingSession):
    """Every call returns arrays on the processor, so that its stream has nothing left to do."""

    stream: torch.cuda.Stream

    def score(self, requests: Sequence[tuple[ImageState, Sequence[Tokens]]]) -> list[FloatArray]:
        with self._on_stream():
            return super().score(requests)

    def embed(self, texts: Sequence[Tokens]) -> FloatArray:
        with self._on_stream():
            return super().embed(texts)

    def replacement_gains(self, requests: Sequence[tuple[ImageState, Tokens]]) -> list[FloatArray]:
        with self._on_stream():
            return super().replacement_gains(requests)

    @contextmanager
    def _on_stream(self) -> Iterator[None]:
        """After what the default stream was asked: it encodes the images and casts the weights."""
        self.stream.wait_stream(torch.cuda.default_stream(self.stream.device))
        with torch.cuda.stream(self.stream):
            yield
