"""The stages of scoring a dataset: the one list behind its progress, its estimate and its resuming.

A `Plan` holds how many units of work each stage has left and what a unit costs, so that progress
reports the remaining time of the whole job, not only of the present stage. Costs are measured while
the job runs, and kept for the next one on this machine.
"""

import contextlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from backend.engine.detection.cold_start import COPIES_WANTED, FEWEST_PAIRS
from backend.progress import Progress, StageMessage

#: Maximum number of pairs that a cold start trains on: more would cost time and gain little.
COLD_START_PAIRS = 2000
#: Costs measured on fewer units than this are not kept: they are mostly warm-up.
FEWEST_UNITS = 20
_FILE = "stage-costs.json"


@dataclass(frozen=True)
class Stage:
    """`name`: what it reports as progress; `part`: the field of an `Estimate` that covers it.
    `counts_units`: whether its progress counts its units of work, or only steps."""

    name: str
    part: str
    counts_units: bool = True


TRAJECTORIES = Stage("Caption trajectories", "trajectories_seconds")
#: First steps of an earlier job, where whole trajectories are requested now.
COMPLETION = Stage("Completing trajectories", "whole_seconds")
CONCRETENESS = Stage("Concreteness", "texts_seconds")
MEANINGS = Stage("Meanings of captions", "texts_seconds")
CAPTIONER = Stage("What the captioner expects", "captioner_seconds")
INJECTION = Stage("Training the detector on injected noise", "training_seconds")
COPIES = Stage("Scoring injected errors", "copies_seconds")
TRAINING = Stage("Choosing a detector", "training_seconds", counts_units=False)
#: Of the pairs that a detector ranks highest, or that get corrections.
WHOLE = Stage("Whole trajectories", "whole_seconds")
CORRECTIONS = Stage("Preparing corrections", "suggestions_seconds")

#: In the order in which they run. A unit of `COPIES` is a noisy copy, of the others a pair.
STAGES = (
    TRAJECTORIES, COMPLETION, CONCRETENESS, MEANINGS, CAPTIONER, INJECTION, COPIES, TRAINING, WHOLE,
    CORRECTIONS,
)  # fmt: skip
#: Those that several processes of one machine share (`workers.py`).
SHARED = frozenset({TRAJECTORIES, COMPLETION, CAPTIONER, COPIES, WHOLE, CORRECTIONS})
_BY_NAME = {stage.name: stage for stage in STAGES}

#: Seconds per unit; stages that have not been measured are missing.
Costs = Mapping[Stage, float]


def copies_of(pairs: int) -> int:
    """Number of noisy copies that a cold start scores for this many pairs; see `make_copies`.

    >>> copies_of(100), copies_of(785), copies_of(1_000_000), copies_of(3)
    (300, 785, 2000, 0)
    """
    used = min(pairs, COLD_START_PAIRS)
    if used < FEWEST_PAIRS:
        return 0
    return used * max(1, min(3, round(COPIES_WANTED / used)))


class Plan:
    """The remaining time of a scoring job.

    Stages run in order. The cost of the present one is measured, that of a later one is known from
    earlier jobs or unknown: then the time left is a lower bound.
    """

    def __init__(
        self,
        units: Mapping[Stage, int],
        costs: Costs,
        copies_alike: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`units`: of work left by stage; those without any may be missing. `copies_alike`: whether
        noisy copies are computed where the trajectories are, so that they cost the same."""
        self._units = dict(units)
        self._costs = dict(costs)
        self._copies_alike = copies_alike
        self._clock = clock
        self._position = 0
        self._began = self._last = clock()
        #: Measured by this job: (seconds, units) by stage.
        self._measured: dict[Stage, tuple[float, float]] = {}

    def reporting(self, progress: Progress) -> Progress:
        """`progress` whose messages carry the remaining time of the whole job."""

        def update(done: int, total: int, message: str) -> None:
            stage = _BY_NAME.get(message)
            if stage is None:
                progress(done, total, message)
                return
            seconds, is_least = self._advance(stage, done, total)
            progress(done, total, StageMessage(message, seconds, is_least))

        return update

    @property
    def measured(self) -> dict[Stage, float]:
        """Seconds per unit of the stages that this job has spent some time on."""
        return {
            stage: seconds / units
            for stage, (seconds, units) in self._measured.items()
            if units >= FEWEST_UNITS
        }

    def _advance(self, stage: Stage, done: int, total: int) -> tuple[float | None, bool]:
        """Record that the stage has reached `done` of `total`; returns the seconds left, None if
        unknown, and whether they are a lower bound."""
        now = self._clock()
        position = STAGES.index(stage)
        if position != self._position:
            self._position, self._began = position, self._last
        self._last = now
        left = self._left_in(stage, done, total)
        finished = self._units.get(stage, 0) - left
        if finished > 0 and now > self._began:
            self._measured[stage] = now - self._began, finished
            self._costs[stage] = (now - self._began) / finished
        waiting: dict[Stage, float] = {
            later: self._units.get(later, 0) for later in STAGES[position + 1 :]
        }
        waiting[stage] = left
        known = {each: self._cost(each) for each, units in waiting.items() if units}
        seconds = sum(waiting[each] * cost for each, (cost, _) in known.items())
        is_least = not all(is_whole for _, is_whole in known.values())
        return (None if is_least and not seconds else seconds), is_least

    def _left_in(self, stage: Stage, done: int, total: int) -> float:
        units = self._units.get(stage, 0)
        if not total:
            return units
        if not stage.counts_units:
            return units * (1 - done / total)
        if stage in (COPIES, WHOLE, CORRECTIONS):  # their number is an estimate until they begin
            units = self._units[stage] = total
        return min(units, total - done)

    def _cost(self, stage: Stage) -> tuple[float, bool]:
        """Seconds per unit, and whether that is the whole cost."""
        if stage in self._costs:
            return self._costs[stage], True
        if stage is not COPIES or not self._copies_alike:
            return 0.0, False
        parts = [TRAJECTORIES] + [CAPTIONER] * bool(self._units.get(CAPTIONER))
        return (
            sum(self._costs.get(part, 0.0) for part in parts),
            all(part in self._costs for part in parts),
        )


# ----------------------------------------------------------------------- kept for the next job


def kept_costs(folder: Path, models: str) -> dict[Stage, float]:
    """Costs measured earlier on this machine with these models. `folder`: the data folder."""
    stored = _stored(folder).get(models, {})
    return {_BY_NAME[name]: seconds for name, seconds in stored.items() if name in _BY_NAME}


def keep_costs(folder: Path, models: str, costs: Costs) -> None:
    """Keep these costs instead of earlier ones of the same stages. If they cannot be
    written, the next job lacks an estimate, but this one does not fail."""
    if not costs:
        return
    stored = _stored(folder)
    newer = {stage.name: seconds for stage, seconds in costs.items()}
    stored[models] = stored.get(models, {}) | newer
    part = folder / f"{_FILE}.part"
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps(stored, indent=2), encoding="utf-8")
        part.replace(folder / _FILE)


def _stored(folder: Path) -> dict[str, dict[str, float]]:
    try:
        stored = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        return {
            str(models): {str(name): float(cost) for name, cost in costs.items()}
            for models, costs in stored.items()
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return {}  # none yet, or damaged: measured again
