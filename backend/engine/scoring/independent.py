"""No-op preparation for scorers that score each pair independently of the others."""

from backend.engine.scoring.protocol import ImageState, PairSource


class Independent:
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
