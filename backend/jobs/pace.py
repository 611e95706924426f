"""Rate and remaining time of a job's stage, in words."""


class Pace:
    """Describes the progress of one job; each stage (message) has its own pace.

    >>> pace = Pace()
    >>> pace.describe(0, 100, "Scoring", 0.0), pace.describe(40, 100, "Scoring", 10.0)
    ('Scoring', 'Scoring · 4.0 a second, 15 s left')
    """

    def __init__(self) -> None:
        self._stage = ""
        self._began = 0.0
        self._first = 0

    def describe(self, done: int, total: int, message: str, now: float) -> str:
        """`message` followed by rate and time left; the bare message in a stage's first two
        seconds and as long as nothing is done. `now`: seconds of a monotonic clock."""
        if message != self._stage:
            self._stage, self._began, self._first = message, now, done
        seconds, completed = now - self._began, done - self._first
        if seconds < 2 or completed <= 0 or not 0 < done < total:
            return message
        per_second = completed / seconds
        return f"{message} · {rate(per_second)}, {duration((total - done) / per_second)} left"


def rate(per_second: float) -> str:
    """
    >>> rate(4), rate(0.5), rate(0.01)
    ('4.0 a second', '30 a minute', '36 an hour')
    """
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
