"""A session that records the requests of a run, for benchmarks and tests."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from backend.engine.scoring.protocol import FloatArray, ImageState, Session, Tokens
from backend.engine.scoring.work import Work

#: The requests of one call: (index of the image, its texts).
Round = list[tuple[int, tuple[Tokens, ...]]]


@dataclass
class Recorder:
    """Wraps a session and records the (image, texts) of each call to `score`."""

    session: Session
    rounds: list[Round] = field(default_factory=list)
    _numbers: dict[int, int] = field(default_factory=dict)
    _states: list[ImageState] = field(default_factory=list)

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
        self.rounds.append([(self._number(state), tuple(texts)) for state, texts in requests])
        return self.session.score(requests)

    def embed(self, texts: Sequence[Tokens]) -> FloatArray:
        return self.session.embed(texts)

    def replacement_gains(self, requests: Sequence[tuple[ImageState, Tokens]]) -> list[FloatArray]:
        return self.session.replacement_gains(requests)

    def _number(self, state: ImageState) -> int:
        if id(state) not in self._numbers:
            self._numbers[id(state)] = len(self._states)
            self._states.append(state)  # keeps it alive, so that its id is not reused
        return self._numbers[id(state)]
