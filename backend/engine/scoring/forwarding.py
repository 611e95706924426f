"""A session around another."""

from collections.abc import Sequence
from dataclasses import dataclass

from backend.engine.scoring.protocol import FloatArray, ImageState, Session, Tokens, Work


@dataclass
class ForwardingSession:
    """Passes everything on to `session`; a subclass says what it does otherwise."""

    session: Session

    @property
    def work(self) -> Work:
        return self.session.work

    @property
    def embedding_work(self) -> Work:
        return self.session.embedding_work

    @property
    def live(self) -> int:
        return self.session.live

    def score(self, requests: Sequence[tuple[ImageState, Sequence[Tokens]]]) -> list[FloatArray]:
        return self.session.score(requests)

    def embed(self, texts: Sequence[Tokens]) -> FloatArray:
        return self.session.embed(texts)

    def replacement_gains(self, requests: Sequence[tuple[ImageState, Tokens]]) -> list[FloatArray]:
        return self.session.replacement_gains(requests)
