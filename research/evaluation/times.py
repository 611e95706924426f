"""Time for 1,000 pairs, with and without trajectories (TRACED, Table 2)."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from backend.engine.scoring.protocol import Scorer
from backend.engine.trajectories.driver import run_trajectories
from backend.engine.trajectories.exploring import Exploring
from research.evaluation.labelled import LabelledPairs
from research.evaluation.scored import states_of


@dataclass(frozen=True)
class Times:
    """Wall-clock seconds for 1,000 pairs, including opening and encoding their images, extrapolated
    from `pairs` pairs."""

    scorer: str
    explorer: str
    device: str
    pairs: int
    single_score: float
    trajectories: float


def measure_times(
    scorer: Scorer, name: str, exploring: Exploring, pairs: LabelledPairs, count: int
) -> Times:
    """Time both ways over the first `count` pairs, after a short warm-up."""
    count = min(count, len(pairs))

    def single(limit: int) -> None:
        session = scorer.open_session()
        for row, (state, caption) in enumerate(states_of(scorer, pairs)):
            if row == limit:
                return
            session.score([(state, scorer.reader.tokenise([caption.text]))])

    def explored(limit: int) -> None:
        some = (pair for _, pair in zip(range(limit), states_of(scorer, pairs), strict=False))
        for _ in run_trajectories(scorer, some, exploring):
            pass

    single(2)
    explored(2)
    return Times(
        name,
        exploring.name,
        scorer.info.device,
        count,
        1000 * _seconds(lambda: single(count)) / count,
        1000 * _seconds(lambda: explored(count)) / count,
    )


def _seconds(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
