"""Progress reporting: one callback type for every job and command."""

from collections.abc import Callable

#: (done, total, message). A total of 0 means unknown.
Progress = Callable[[int, int, str], None]


class StageMessage(str):
    """The message of one stage of a job, with the remaining time of the whole job.

    `seconds_left`: of this stage and all later ones, None if unknown; `is_least`: this is a lower
    bound, because the cost of some stage is unknown.
    """

    __slots__ = ("is_least", "seconds_left")

    seconds_left: float | None
    is_least: bool

    def __new__(
        cls, text: str, seconds_left: float | None = None, is_least: bool = False
    ) -> "StageMessage":
        message = super().__new__(cls, text)
        message.seconds_left, message.is_least = seconds_left, is_least
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
