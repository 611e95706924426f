"""What scorers have in common that score through sessions, and each pair by itself."""

from abc import abstractmethod
from collections.abc import Sequence

from backend.engine.scoring.protocol import (
    FloatArray,
    ImageState,
    PairSource,
    Session,
    TokenReader,
)


class InSessions:
    """Captions are scored in a session of their own."""

    reader: TokenReader

    @abstractmethod
    def open_session(self) -> Session: ...

    def score(self, requests: Sequence[tuple[ImageState, Sequence[str]]]) -> list[FloatArray]:
        return self.open_session().score(
            [(state, self.reader.tokenise(captions)) for state, captions in requests]
        )

    def text_embeddings(self, captions: Sequence[str]) -> FloatArray:
        return self.open_session().embed(self.reader.tokenise(captions))


class Independent(InSessions):
    """Base class of scorers whose score of a pair does not depend on other pairs."""

    def prepare(self, pairs: PairSource) -> None:
        """Nothing to do."""

    @property
    def prepared(self) -> None:
        return None

    def take_over(self, prepared: None) -> None:
        """Nothing to do."""

    def of_pair(self, state: ImageState, key: int) -> ImageState:
        return state
