"""Exceptions raised by the store.

    StoreProblem          the database cannot be opened, read or written
    ├── NewerDatabase     it was made by a newer version of the program
    └── UnstorableText    a text that no database can hold faithfully
    AlreadyExists         a name that must be unique is taken, also that of a file
    MissingRow            there is no such dataset, pair, run, classifier or job
    VersionConflict       someone else decided the pair in the meantime; carries the current state

Messages say what is wrong, where, and what to do; they are shown to users unchanged.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import cast

from db.decisions import ACTS, Decision


class StoreProblem(Exception):
    """The database cannot be opened, read or written. `terminal`: what to do on the command line,
    where the message does not say it."""

    def __init__(self, *args: object, terminal: str = "") -> None:
        super().__init__(*args)
        self.terminal = terminal


class NewerDatabase(StoreProblem):
    """The database has a schema revision that this program does not know."""


class UnstorableText(StoreProblem):
    """A text contains a NUL or a lone surrogate, which PostgreSQL or SQLite would refuse."""


class AlreadyExists(Exception):
    """A name that must be unique is taken."""


class MissingRow(Exception):
    """There is no such row."""


@dataclass(frozen=True)
class PairState:
    """The current state of a pair. `decision` None: undecided, also after an undo, or hidden."""

    pair_id: int
    version: int
    decision: str | None
    corrected_caption: str | None
    decided_by: str | None
    decided_at: datetime | None


class VersionConflict(Exception):
    """A verdict was given on an outdated state of the pair. Nothing was written."""

    def __init__(self, expected_version: int, current: PairState) -> None:
        self.expected_version = expected_version
        self.current = current
        super().__init__(f"{_what_changed(current)}. Look at it again, then decide.")


def _what_changed(current: PairState) -> str:
    if current.decision is None:
        # An edit of many captions gives an undecided pair another text.
        is_edited = current.corrected_caption is not None
        return "Its caption was edited" if is_edited else "It is undecided now"
    act = ACTS.get(cast("Decision", current.decision), f"decided: {current.decision}")
    return f"{current.decided_by or 'Somebody'} {act}"
