"""Filters of queues that features and packages add (`filters` in docs/extending.md)."""

import logging
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from sqlalchemy import ColumnElement, MetaData, create_engine, select
from sqlalchemy.orm import Session

from backend import plugins
from backend.errors import SettingsError, TracedError
from db.models import Base, Pair

log = logging.getLogger(f"traced.{__name__}")

#: Where filters stand in the filter panel.
TOPICS = ("Verdicts and notes", "Picture and words", "Where it comes from")
#: Or nowhere there: what all pairs of the queue have in common, and is named above it by the title.
ALIKE = "Alike"


@dataclass(frozen=True)
class AddedFilter:
    """A filter that a feature or a package adds.

    `name`: its word in addresses, saved views, groups of conditions, the API and commands; `title`:
    what the page calls it, before its value. `condition(value)`: which pairs meet it, an expression
    of `db.models.Pair` that depends on the value alone; it may raise SettingsError for a value that
    it cannot read. `choices`: the values that there are; (): any text, which can be typed.
    `words(value)`: what the page calls a value. `counts(session, ids of pairs)`: how many of these
    pairs have each value, which can then be clicked in the filter panel. `template`: its form
    there, if it is another than a field or these values; it is given the `filter`, its `value` and
    the `counts`, and holds a field with `data-filter="NAME"`. `check(session, dataset id, value)`
    raises SettingsError for a value that means nothing in this dataset, or no longer.
    """

    name: str
    title: str
    condition: Callable[[str], ColumnElement[bool]]
    choices: tuple[str, ...] = ()
    topic: str = TOPICS[1]
    words: Callable[[str], str] = str
    counts: Callable[[Session, Sequence[int]], Mapping[str, int]] | None = None
    template: Path | None = None
    check: Callable[[Session, int, str], None] | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch("[a-z][a-z0-9_]*", self.name):
            raise ValueError(f"'{self.name}' cannot be a word of an address: use a-z, 0-9 and _.")
        if self.topic not in (*TOPICS, ALIKE):
            raise ValueError(f"There is no topic '{self.topic}': {', '.join((*TOPICS, ALIKE))}.")

    def meets(self, value: str) -> ColumnElement[bool]:
        """The condition with this value, built once. Raises SettingsError, which names the filter
        where its author did not expect the value."""
        return _condition(self, value)

    def check_in(self, session: Session, dataset_id: int, value: str) -> None:
        """Raises SettingsError, see `check`."""
        if self.check is None:
            return
        try:
            self.check(session, dataset_id, value)
        except TracedError:
            raise
        except Exception as error:  # of whatever its author wrote
            raise _fault(self, f"{type(error).__name__}: {error}") from error

    def in_words(self, value: str) -> str:
        """What the page calls the value."""
        try:
            return str(self.words(value))
        except Exception:  # of whatever its author wrote
            log.exception("the filter '%s' cannot name a value", self.name)
            return value

    def count(self, session: Session, pair_ids: Sequence[int]) -> dict[str, int]:
        """How many of the pairs have each value; {} if the filter cannot tell."""
        if self.counts is None:
            return {}
        try:
            return {str(value): int(n) for value, n in self.counts(session, pair_ids).items()}
        except Exception:  # of whatever its author wrote
            session.rollback()  # PostgreSQL answers nothing else of a transaction that failed
            log.exception("the filter '%s' cannot count its values", self.name)
            return {}


@lru_cache(1000)
def _condition(added: AddedFilter, value: str) -> ColumnElement[bool]:
    try:
        condition: object = added.condition(value)
    except TracedError:
        raise
    except Exception as error:  # of whatever its author wrote
        raise _fault(added, f"{type(error).__name__}: {error}") from error
    if not isinstance(condition, ColumnElement):
        raise _fault(added, f"it gave a {type(condition).__name__}, not an expression of SQL")
    return condition


def _fault(added: AddedFilter, problem: str) -> SettingsError:
    return SettingsError(
        f"The filter '{added.name}' failed: {problem}. Remove it from the queue; repair or "
        "uninstall its package."
    )


def try_filter(added: AddedFilter) -> None:
    """Select by each of its choices, and count them, in a database without rows: SQL that no
    database understands is found as well. Raises what its author did not expect."""
    engine = create_engine("sqlite://")
    for tables in (Base.metadata, *plugins.load("tables", MetaData)):
        tables.create_all(engine)
    with Session(engine) as session:
        for value in added.choices:
            session.execute(select(Pair.id).where(added.meets(value))).all()
        if added.counts is not None:
            added.counts(session, [1])
    engine.dispose()


def load_filters(taken: Collection[str]) -> dict[str, AddedFilter]:
    """All of them, by name. `taken`: words of addresses that mean something else; a filter with one
    of them, or with another filter's, is left out and named."""
    names = set(taken)

    def join(added: AddedFilter) -> None:
        if added.name in names:
            raise ValueError(f"'{added.name}' means something else in the address of a queue.")
        names.add(added.name)

    return {added.name: added for added in plugins.load("filters", AddedFilter, join)}
