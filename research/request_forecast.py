"""What a command of `research` would ask a model, which a dry run shows."""

from dataclasses import dataclass

from backend.counts import count_of
from backend.engine.language_models.spending import Forecast


@dataclass(frozen=True)
class RequestForecast:
    """Requests about `pairs` to a model that was not asked; nothing was written."""

    model: str
    pairs: int
    forecast: Forecast

    def in_words(self) -> str:
        pairs = count_of(self.pairs, "pair")
        return f"{self.model}: {pairs}; {self.forecast.in_words()}. Nothing was sent."
