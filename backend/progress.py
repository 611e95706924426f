"""Progress reporting: one callback type for every job and command."""

from collections.abc import Callable

#: (done, total, message). A total of 0 means unknown.
Progress = Callable[[int, int, str], None]


def no_progress(done: int, total: int, message: str) -> None:
    """A callback that does nothing."""
