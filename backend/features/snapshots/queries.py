"""Named states of a dataset: which pairs it had, what the source said, which acts were in effect.

A snapshot refers to the history of verdicts, which is never changed, so it needs no copy of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import and_, delete, false, func, insert, literal, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from backend.features.snapshots.tables import Snapshot, SnapshotPair
from db.authors import NEW_PICTURE, restore_author
from db.column_types import now
from db.errors import AlreadyExists, MissingRow
from db.models import Pair, Verdict
from db.queries.blind_review import may_know
from db.queries.claim_labels import LabelRecords
from db.queries.pair_queries import totals
from db.queries.statements import (
    check_name,
    check_text,
    columns_of,
    find_record,
    in_dataset,
    lock_pairs,
    read_records,
)
from db.queries.undo_queries import OF_STATE, state_left_by
from db.queries.verdict_acts import VerdictEvent, acts_by_version, decider_of
from db.queries.verdict_writing import PAIR_STATE, BatchOutcome, Change, outcome_of, write_all


@dataclass(frozen=True)
class SnapshotRow:
    """`pairs`: how many the dataset had."""

    id: int
    dataset_id: int
    name: str
    author: str
    created_at: datetime
    pairs: int


_COLUMNS = columns_of(Snapshot, SnapshotRow)


@dataclass(frozen=True)
class StateRow:
    """A pair in a snapshot, or as it is now. `decision`, `enriches`: as in `Pair`; None and False
    as well where the reader may not know them."""

    id: int
    external_id: str
    caption: str
    split: str | None
    standing_version: int
    decision: str | None
    corrected_caption: str | None
    enriches: bool
    claim_labels: LabelRecords
    note: str


def take(session: Session, dataset_id: int, name: str, author: str) -> SnapshotRow:
    """Store the present state under this name. Raises `AlreadyExists` if the dataset has such a
    snapshot; then the whole transaction is rolled back."""
    check_name(name, "The snapshot's name", 255)
    values = {"dataset_id": dataset_id, "name": name, "author": author, "created_at": now(),
              "pairs": totals(session, dataset_id)[0]}  # fmt: skip
    try:
        snapshot_id = session.scalar(insert(Snapshot).values(values).returning(Snapshot.id))
    except IntegrityError as error:
        session.rollback()
        raise AlreadyExists(
            f"There is already a snapshot '{name}' of this dataset. Choose another name."
        ) from error
    states = select(
        literal(snapshot_id), Pair.id, Pair.caption, Pair.split, Pair.standing_version
    ).where(in_dataset(dataset_id))
    names = ["snapshot_id", "pair_id", "caption", "split", "standing_version"]
    session.execute(insert(SnapshotPair).from_select(names, states))
    return find(session, dataset_id, name)


def list_snapshots(session: Session, dataset_id: int) -> list[SnapshotRow]:
    """The snapshots of a dataset, oldest first."""
    query = select(*_COLUMNS).where(Snapshot.dataset_id == dataset_id)
    return read_records(session, SnapshotRow, query.order_by(Snapshot.id))


def find(session: Session, dataset_id: int, name: str) -> SnapshotRow:
    """Raises `MissingRow` with the names that exist."""
    of_name = (Snapshot.dataset_id == dataset_id, Snapshot.name == name)
    row = find_record(session, SnapshotRow, select(*_COLUMNS).where(*of_name))
    if row is None:
        names = ", ".join(f"'{each.name}'" for each in list_snapshots(session, dataset_id)[-10:])
        raise MissingRow(
            f"There is no snapshot '{name}' of this dataset. "
            + (f"It has {names}." if names else "It has none yet.")
        )
    return row


def forget(session: Session, snapshot_id: int) -> None:
    """Delete a snapshot; pairs and verdicts stay as they are."""
    session.execute(delete(SnapshotPair).where(SnapshotPair.snapshot_id == snapshot_id))
    session.execute(delete(Snapshot).where(Snapshot.id == snapshot_id))


def states_after(
    session: Session, dataset_id: int, snapshot_id: int | None, after_id: int, limit: int
) -> list[StateRow]:
    """The next pairs of the snapshot after `after_id`, in import order; None: of the dataset as it
    is now. Empty at the end."""
    is_open = may_know(session, dataset_id)
    if snapshot_id is None:
        pair_id, source, act = Pair.id, Pair, Pair
        query = select(*_state_columns(pair_id, source, act), is_open).where(in_dataset(dataset_id))
    else:
        pair_id, source, act = SnapshotPair.pair_id, SnapshotPair, Verdict
        in_effect = and_(act.pair_id == pair_id, act.version == source.standing_version)
        query = select(*_state_columns(pair_id, source, act), is_open)
        query = query.join(Pair, Pair.id == pair_id).outerjoin(act, in_effect)
        query = query.where(source.snapshot_id == snapshot_id)
    rows = session.execute(query.where(pair_id > after_id).order_by(pair_id).limit(limit))
    return [StateRow(*(row[:10] if row[10] else (*row[:5], *_UNKNOWN))) for row in rows]


#: What a reader who may not know the verdict sees of it.
_UNKNOWN = (None, None, False, None, "")


def _state_columns(pair_id: Any, source: Any, act: Any) -> tuple[Any, ...]:
    """The columns of a `StateRow`: `source` has what was imported, `act` the verdict."""
    enriches = func.coalesce(act.enriches, false())
    return (
        pair_id, Pair.external_id, source.caption, source.split, source.standing_version,
        act.decision, act.corrected_caption, enriches, act.claim_labels,
        func.coalesce(act.note, ""),
    )  # fmt: skip


def restore(
    session: Session, versions: Mapping[int, int], *, author: str, batch: str
) -> BatchOutcome:
    """Put in effect again what was after an earlier act on each pair; `versions`: of that act, by
    pair (0: undecided). One transaction; commits. Calls with the same `batch` are undone together
    by `author`.

    Who decided stays who decided. Skipped are pairs that are in that state already, and those whose
    picture was replaced since.
    """
    who, when = restore_author(author), now()
    check_text(who, "The author's name", 255)
    lock_pairs(session, list(versions))
    states = acts_by_version(session, list(versions))
    replaced_ids = {
        pair_id
        for pair_id, version in states
        if states[pair_id, version].author == NEW_PICTURE and version > versions[pair_id]
    }
    changes = []
    for pair in session.execute(select(*PAIR_STATE).where(Pair.id.in_(versions))):
        state = states.get((pair.id, versions[pair.id]))
        decided_by, decided_at = decider_of(states, state)
        act = VerdictEvent(
            pair_id=pair.id,
            version=pair.verdict_version + 1,
            author=who,
            created_at=when,
            replaces=pair.standing_version,
            standing_version=pair.verdict_version + 1,
            batch=batch,
            **state_left_by(state),
            restores=versions[pair.id],
        )
        is_same = all(getattr(pair, name) == getattr(act, name) for name in OF_STATE)
        if not (is_same and pair.decided_by == decided_by) and pair.id not in replaced_ids:
            changes.append(Change(act, decided_by, decided_at))
    write_all(session, changes)
    session.commit()
    return outcome_of(changes, versions)
