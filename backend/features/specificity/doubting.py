"""When does a picture contradict a phrase? Evidence, and a rule that needs no labels.

How large the evidence on a *true* phrase is differs between models and datasets, so the rule is
fitted to both (`fit_rule`): phrases of the same picture's captions, most of which are true, against
phrases of other pictures' captions, most of which are false, both added to a caption in the same
way (`swap_phrases`). A logistic regression weighs the evidence, and its limit is set such that only
a small share of the former is doubted. The compromise: a few of the phrases are on the wrong side,
which makes the guard slightly more lenient than meant.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.engine.english.phrases import Phrase

#: Share of the same picture's phrases that may be doubted.
TRUE_DOUBTED = 0.08
#: A rule is fitted to at least this many phrases of each side.
LEAST_PHRASES = 50
#: Evidence is clipped to these bounds: support, suspect, drop.
_LOWEST, _HIGHEST = (-2.0, 0.0, -0.2), (2.0, 1.0, 1.0)


@dataclass(frozen=True)
class Doubt:
    """Evidence against a phrase (characters start:end). `support`: its attribution in the
    scorer's logits (s times its scale), None if it cannot be computed; `suspect`: the highest
    suspect score of its words; `drop`: the decrease in the caption's probability of error without
    it."""

    start: int
    end: int
    support: float | None
    suspect: float
    drop: float


#: Maps a caption and some of its phrases to the evidence against each.
Doubts = Callable[[str, Sequence[Phrase]], Sequence[Doubt]]


@dataclass(frozen=True)
class Thresholds:
    """The rule where nothing can be fitted: a phrase is doubtful with support up to `support`, or
    with a suspect score of at least `suspect`, or a drop of at least `drop`. Slightly negative
    support does not count: half of the correct phrases at the end of a caption have it."""

    support: float = -0.2
    suspect: float = 0.5
    drop: float = 0.1
    #: Number of phrases that the rule was fitted to.
    phrases: int = 0

    def doubts(self, doubt: Doubt) -> bool:
        """Whether a phrase is doubtful."""
        return (
            (doubt.support is not None and doubt.support <= self.support)
            or doubt.suspect >= self.suspect
            or doubt.drop >= self.drop
        )

    def strength(self, doubt: Doubt) -> tuple[float, ...]:
        """Sort key; larger is more doubtful."""
        return doubt.drop, doubt.suspect, -(doubt.support or 0.0)


@dataclass(frozen=True)
class FittedRule:
    """A fitted rule: a phrase is doubtful from `limit` on, with these weights of its support,
    suspect score and drop. `phrases`: number of phrases that it was fitted to."""

    weights: tuple[float, float, float]
    limit: float
    phrases: int

    def doubts(self, doubt: Doubt) -> bool:
        """Whether a phrase is doubtful."""
        return self.strength(doubt)[0] >= self.limit

    def strength(self, doubt: Doubt) -> tuple[float, ...]:
        """Sort key; larger is more doubtful."""
        return (float(_signals([doubt])[0] @ np.array(self.weights)),)

    def to_json(self) -> dict[str, Any]:
        """As JSON, read by `restore`."""
        return asdict(self)


DoubtRule = Thresholds | FittedRule
DEFAULT = Thresholds()


def restore(value: dict[str, Any]) -> FittedRule:
    """A rule from `FittedRule.to_json`, also after a round trip through JSON."""
    first, second, third = value["weights"]
    return FittedRule((first, second, third), value["limit"], value["phrases"])


def fit_rule(true: Sequence[Doubt], false: Sequence[Doubt]) -> DoubtRule:
    """A rule that doubts at most TRUE_DOUBTED of `true`, phrases that are mostly true, and as many
    as it can of `false`, phrases that are mostly false; DEFAULT with fewer than LEAST_PHRASES of
    either.

    >>> fit_rule([Doubt(0, 1, 0.5, 0.0, 0.0)] * 60, [Doubt(0, 1, -0.5, 0.8, 0.3)] * 40) == DEFAULT
    True
    """
    if min(len(true), len(false)) < LEAST_PHRASES:
        return DEFAULT
    from sklearn.linear_model import LogisticRegression  # takes a second to import

    signals = _signals([*true, *false])
    # A constant signal has no weight, and no scale to divide by.
    scale = signals.std(0) + 1e-9
    is_false = np.arange(len(signals)) >= len(true)
    model = LogisticRegression(class_weight="balanced").fit(signals / scale, is_false)
    first, second, third = (float(weight) for weight in model.coef_[0] / scale)
    strengths = np.sort(signals[: len(true)] @ np.array([first, second, third]))[::-1]
    limit = float(np.nextafter(strengths[int(TRUE_DOUBTED * len(true))], np.inf))
    return FittedRule((first, second, third), limit, len(true) + len(false))


def _signals(doubts: Sequence[Doubt]) -> NDArray[np.float64]:
    """(doubts, 3): support, suspect score and drop, within their bounds; no support counts as 0."""
    rows = [(doubt.support or 0.0, doubt.suspect, doubt.drop) for doubt in doubts]
    return np.clip(np.array(rows, dtype=np.float64).reshape(-1, 3), _LOWEST, _HIGHEST)
