"""Progress of jobs and commands: one callback type, and rate and time left in words."""

from collections.abc import Callable

#: (done, total, message). A total of 0 means unknown.
Progress = Callable[[int, int, str], None]


class StageMessage(str):
    """The message of one stage of a job. `own_seconds`: what the stage is expected to take,
    until it has a rate of its own; `later`: those of the stages after it."""

    __slots__ = ("later", "own_seconds")

    own_seconds: float
    later: float

    def __new__(cls, text: str, own_seconds: float, later: float) -> "StageMessage":
        message = super().__new__(cls, text)
        message.own_seconds, message.later = own_seconds, later
        return message


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


class Pace:
    """Describes the progress of one job; each stage (message) has its own pace. The time left is
    that of the whole job if the message has it, else that of the stage.

    >>> pace = Pace()
    >>> pace.describe(0, 100, "Scoring", 0.0), pace.describe(40, 100, "Scoring", 10.0)
    ('Scoring', 'Scoring · 4.0 a second, 15 s left')
    """

    def __init__(self) -> None:
        self._stage = ""
        self._began = 0.0
        self._first = 0

    def describe(self, done: int, total: int, message: str, now: float) -> str:
        """`message` followed by rate and time left. In a stage's first two seconds and while
        nothing is done it has no rate of its own. `now`: seconds of a monotonic clock."""
        if message != self._stage:
            self._stage, self._began, self._first = str(message), now, done
        seconds, completed = now - self._began, done - self._first
        facts, left, later = [], 0.0, 0.0
        if isinstance(message, StageMessage):
            left, later = message.own_seconds * (done < total or not total), message.later
        if seconds >= 2 and completed > 0 and 0 < done < total:
            facts.append(rate(completed / seconds))
            left = (total - done) * seconds / completed
        if round(left + later) > 0:
            facts.append(f"{duration(left + later)} left")
        return f"{message} · {', '.join(facts)}" if facts else str(message)


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
    ('15 s', '4 min', '2.0 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds <= 5400 else f"{seconds / 3600:.1f} h"
