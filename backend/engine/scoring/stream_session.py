"""Sessions that compute on one card at the same time, each on a CUDA stream of its own.

What a call copies to the card or back waits for all that was asked of its stream before. On the
stream that everything uses by default, it would wait for the calls of other sessions as well.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import torch

from backend.engine.scoring.batch_memory import CUDA, Pace, pace_of
from backend.engine.scoring.dual_encoder import DualEncoder
from backend.engine.scoring.forwarding import ForwardingSession
from backend.engine.scoring.protocol import FloatArray, ImageState, Session, Tokens


class InStreams(DualEncoder):
    """A dual encoder of which the sessions change nothing that they share (`Overlapping`): no hooks
    on the model's modules."""

    @cached_property
    def pace(self) -> Pace:
        return CUDA if self.info.device.startswith("cuda") else pace_of(self.info.device)

    def open_sessions(self) -> list[Session]:
        sessions = [self.open_session() for _ in range(self.pace.sessions)]
        if not self.info.device.startswith("cuda"):
            return sessions
        both = zip(sessions, self._streams, strict=True)
        return [StreamSession(session, stream) for session, stream in both]

    @cached_property
    def _streams(self) -> list[torch.cuda.Stream]:
        """The same ones for each batch: memory that a stream has freed serves that stream only."""
        device = torch.device(self.info.device)
        return [torch.cuda.Stream(device) for _ in range(self.pace.sessions)]


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
