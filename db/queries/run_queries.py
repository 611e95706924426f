"""Runs: which model with which parameters produced which numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from sqlalchemy import bindparam, func, insert, select, update
from sqlalchemy.orm import Session

from db.column_types import now
from db.models import Run
from db.queries.statements import any_of, columns_of, find_record, get_record, read_records

#: Key of the parameters under which a run stores what it observed in its data.
OBSERVED = "observed"


@dataclass(frozen=True)
class RunRow:
    """`status`: running, done or failed. A killed run stays 'running'; the next call of `find_run`
    with the same parameters finds it and work resumes."""

    id: int
    kind: str
    dataset_id: int | None
    scorer_kind: str
    model: str
    revision: str
    explorer: str
    parameters: dict[str, Any]
    code_version: str
    started_at: datetime
    finished_at: datetime | None
    status: str

    @property
    def observed(self) -> dict[str, Any]:
        """What the run observed in its data; see `record_observed`."""
        return dict(self.parameters.get(OBSERVED, {}))


_COLUMNS = columns_of(Run, RunRow)


def start_run(session: Session, **key: Any) -> RunRow:
    """Insert a new run with the status 'running'. `key`: its columns from `kind` to
    `code_version`."""
    result = session.execute(insert(Run).values(status="running", **key).returning(Run.id))
    return get_run(session, result.scalar_one())


def get_run(session: Session, run_id: int) -> RunRow:
    """Raises `MissingRow`."""
    return get_record(session, RunRow, _RUN, f"There is no run {run_id}.", run_id=run_id)


#: Order of runs by when they were last worked on.
NEWEST_FIRST = (func.coalesce(Run.finished_at, Run.started_at).desc(), Run.id.desc())
_RUN = select(*_COLUMNS).where(Run.id == bindparam("run_id"))
_NEWEST_RUNS = (
    select(*_COLUMNS)
    .where(Run.dataset_id == bindparam("dataset_id"), Run.kind.in_(any_of("kinds")))
    .order_by(*NEWEST_FIRST)
)
_NEWEST_RUN = _NEWEST_RUNS.limit(1)


def record_observed(session: Session, run_id: int, **observations: Any) -> RunRow:
    """Record what the run observed in its data; unlike parameters, it does not distinguish runs."""
    run = get_run(session, run_id)
    parameters = run.parameters | {OBSERVED: run.observed | observations}
    session.execute(update(Run).where(Run.id == run_id).values(parameters=parameters))
    return get_run(session, run_id)


def move_model(session: Session, dataset_id: int, model: str) -> None:
    """Record that the model of all of a dataset's runs has moved, for example to another folder."""
    session.execute(update(Run).where(Run.dataset_id == dataset_id).values(model=model))


def finish_run(session: Session, run_id: int) -> RunRow:
    """End a run as 'done'."""
    session.execute(update(Run).where(Run.id == run_id).values(status="done", finished_at=now()))
    return get_run(session, run_id)


def find_run(session: Session, **key: Any) -> RunRow | None:
    """The newest run that would give the same numbers, by any version of the program and whatever
    its status, so that work resumes."""
    others = key.keys() - {"parameters", "code_version"}
    query = select(*_COLUMNS).where(*(getattr(Run, name) == key[name] for name in others))
    for run in read_records(session, RunRow, query.order_by(Run.id.desc())):
        if {n: value for n, value in run.parameters.items() if n != OBSERVED} == key["parameters"]:
            return run
    return None


def find_or_start(session: Session, **key: Any) -> RunRow:
    """`find_run`, or else a new run."""
    return find_run(session, **key) or start_run(session, **key)


class Origin(Protocol):
    """The model that numbers come from."""

    @property
    def kind(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def revision(self) -> str: ...


def find_or_start_by(
    session: Session, scorer: Origin, explorer: str = "none", **key: Any
) -> RunRow:
    """`find_or_start` with the model of a scorer. `key`: the other columns."""
    return find_or_start(
        session, scorer_kind=scorer.kind, model=scorer.model, revision=scorer.revision,
        explorer=explorer, **key,
    )  # fmt: skip


def latest_run(session: Session, dataset_id: int, kind: str) -> RunRow | None:
    """The run of this kind on a dataset that was worked on last: an old run that was resumed counts
    as new."""
    return find_record(session, RunRow, _NEWEST_RUN, dataset_id=dataset_id, kinds=[kind])


def latest_runs(session: Session, dataset_id: int, kinds: Sequence[str]) -> dict[str, RunRow]:
    """`latest_run` of each kind that has one, in a single statement."""
    latest: dict[str, RunRow] = {}
    for run in read_records(session, RunRow, _NEWEST_RUNS, dataset_id=dataset_id, kinds=kinds):
        latest.setdefault(run.kind, run)
    return latest
