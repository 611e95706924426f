"""Here the engine and the store meet: the long jobs, one a file (import, score, train, export, …),
and what is asked about one pair while somebody waits (`pair_view`, `asking`).

Every job takes a progress callback, commits in batches, and can be killed at any moment: the next
start goes on where the last commit was.
"""

from collections.abc import Callable

#: (done, total, message). A total of 0 means: not known yet.
Progress = Callable[[int, int, str], None]


def no_progress(done: int, total: int, message: str) -> None:
    """For callers that do not watch."""
