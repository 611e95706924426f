"""Progress of jobs and commands, as data: the words are made where it is shown.

A job calls its `Progress` with (done, total, stage). `Pace` turns the calls into `Step`s, with the
rate and the time left. A job of several stages that says beforehand what each will take (`plan`)
has one bar over all of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

#: (done, total, stage). A total of 0 means unknown.
Progress = Callable[[int, int, str], None]


class PlannedStage(str):
    """The name of a stage whose place in its job is known: what the stages `earlier`, the stage
    itself (`cost`) and those `later` take, in seconds if `is_measured`, else in proportion;
    `is_usable`: the pairs of its dataset have their order already."""

    __slots__ = ("cost", "earlier", "is_measured", "is_usable", "later")

    earlier: float
    cost: float
    later: float
    is_measured: bool
    is_usable: bool


def plan(
    progress: Progress, costs: Mapping[str, float], is_measured: bool = False, ranks: str = ""
) -> Progress:
    """`progress` that knows the places of these stages. `costs`: what each takes, by name, in the
    order in which they run; in seconds if `is_measured`, else in proportion; `ranks`: the one that
    gives the pairs their order."""
    stages: dict[str, PlannedStage] = {}
    for name, cost in costs.items():
        stage = stages[name] = PlannedStage(name)
        stage.earlier, stage.cost = sum(s.cost for s in stages.values() if s is not stage), cost
        stage.later = sum(costs.values()) - stage.earlier - cost
        stage.is_measured, stage.is_usable = is_measured, ranks in stages and name != ranks
    return lambda done, total, stage: progress(done, total, stages.get(stage, stage))


def no_progress(done: int, total: int, message: str) -> None:
    """A callback that does nothing."""


class LastReport:
    """Passes progress on, and can repeat the last report: a job that waits learns that way that it
    was cancelled, because the callback of a cancelled job raises."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._last: tuple[int, int, str] = (0, 0, "")

    def __call__(self, done: int, total: int, message: str) -> None:
        self._last = done, total, message
        self._progress(done, total, message)

    def repeat(self) -> None:
        self._progress(*self._last)


@dataclass(frozen=True)
class Step:
    """How far a job is.

    * `stage`: what it does now, as people read it; `is_usable`: the pairs of its dataset have their
      order, though the job goes on;
    * `share`: how much of the whole job is done, 0 to 1, never less than before; None: unknown;
    * `per_second`: units of the stage a second, 0 while that is not known;
    * `seconds_left`: of the whole job where it was measured before, else of the stage; None:
      unknown.
    """

    stage: str = ""
    is_usable: bool = False
    share: float | None = None
    per_second: float = 0.0
    seconds_left: float | None = None

    @property
    def time_left(self) -> str:
        """
        >>> Step("Scoring", seconds_left=240).time_left
        '4 min left'
        """
        seconds = self.seconds_left
        return f"{duration(seconds)} left" if seconds is not None and round(seconds) > 0 else ""

    @property
    def facts(self) -> str:
        """Rate and time left in words, as far as they are known.

        >>> Step("Scoring", per_second=4, seconds_left=15).facts
        '4.0 a second, 15 s left'
        """
        pace = rate(self.per_second) if self.per_second else ""
        return ", ".join(filter(None, (pace, self.time_left)))


class Pace:
    """Follows one job: each stage has its own pace.

    >>> pace = Pace()
    >>> pace.step(0, 100, "Scoring", 0.0).facts, pace.step(40, 100, "Scoring", 10.0).facts
    ('', '4.0 a second, 15 s left')
    """

    def __init__(self) -> None:
        self._stage = ""
        self._began = 0.0
        self._first = 0
        self._share = 0.0
        self._stages = 0

    def step(self, done: int, total: int, stage: str, now: float) -> Step:
        """In a stage's first two seconds and while nothing is done it has no rate of its own.
        `now`: seconds of a monotonic clock."""
        if stage != self._stage:
            self._stage, self._began, self._first = str(stage), now, done
            self._stages += 1
        seconds, units = now - self._began, done - self._first
        per_second, remaining = 0.0, None
        if seconds >= 2 and units > 0 and 0 < done < total:
            per_second = units / seconds
            remaining = (total - done) / per_second
        plan = stage if isinstance(stage, PlannedStage) else None
        if plan is not None and plan.is_measured:
            remaining = plan.cost * (done < total or not total) if remaining is None else remaining
            remaining += plan.later
        return Step(
            str(stage),
            plan is not None and plan.is_usable,
            self._share_at(done, total, plan),
            per_second,
            remaining,
        )

    def _share_at(self, done: int, total: int, plan: PlannedStage | None) -> float | None:
        """A stage that nobody planned is the whole job, if it is the first."""
        if plan is None:
            if self._stages > 1 or not total:
                return self._share or None
            share = done / total
        else:
            ahead = total - self._first
            part = (done - self._first) / ahead if ahead > 0 else float(done >= total > 0)
            whole = plan.earlier + plan.cost + plan.later
            share = (plan.earlier + part * plan.cost) / whole if whole else 0.0
        self._share = max(self._share, min(1.0, share))
        return self._share


def rate(per_second: float) -> str:
    """
    >>> rate(4), rate(0.5), rate(0.01), rate(5_300_000)
    ('4.0 a second', '30 a minute', '36 an hour', '5.3 million a second')
    """
    if per_second >= 1e6:
        return f"{per_second / 1e6:.1f} million a second"
    if per_second >= 1:
        return f"{per_second:.1f} a second"
    if per_second * 60 >= 1:
        return f"{per_second * 60:.0f} a minute"
    return f"{max(per_second * 3600, 1):.0f} an hour"


def duration(seconds: float) -> str:
    """
    >>> duration(15), duration(240), duration(7200)
    ('15 s', '4 min', '2 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds <= 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f}".removesuffix(".0") + " h"
