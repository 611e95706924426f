"""Undo and redo of acts.

Undo walks back along the versions in effect. A pair decided *correct* (1), then *drop* (2):

    version  act           decision  replaces  standing_version
    1        correct       correct   0         1
    2        drop          drop      1         2
    3        undo of 2     correct   2         1
    4        undo of 1     NULL      1         0        undecided again
    5        redo of 1     correct   0         1

One undo reverts all acts of a batch that are still in effect, one redo restores them. A batch of
more than `AT_ONCE` is undone and redone in several transactions, so that nobody waits for long; if
it is interrupted, the same call goes on.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, exists, func, select, true
from sqlalchemy.orm import Session, aliased

from db.authors import EDIT, NEW_PICTURE, authors_of
from db.column_types import now
from db.errors import VersionConflict
from db.models import Pair, Verdict
from db.queries.statements import chunks, find_record, lock_pairs, read_records
from db.queries.verdict_acts import (
    ACT_COLUMNS,
    READ_AT_ONCE,
    VerdictEvent,
    VerdictRow,
    act_at,
    acts_by_version,
    decider_of,
    pair_state,
)
from db.queries.verdict_writing import (
    Change,
    versions_of,
    write_all,
)

#: Acts of a batch that are written in one transaction: about 0.1 s of processor time.
AT_ONCE = 500
#: On PostgreSQL another curator may intervene between finding an act and undoing it; then retry.
_ATTEMPTS = 5
#: What an act leaves in effect.
OF_STATE = ("decision", "corrected_caption", "enriches", "note", "sampling", "claim_labels")


def undo_last(
    session: Session,
    dataset_id: int,
    author: str,
    only: str = "",
    rest_of: VerdictRow | None = None,
    request_id: str | None = None,
) -> VerdictRow | None:
    """Undo the newest act of `author` still in effect: a verdict, a bulk edit or what a rule of
    theirs decided. Repeated calls go further back. `only`: undo only acts of this kind, EDIT or
    RESTORE. `rest_of`: the answer of a call that left a rest of its batch (`rest_before`), which is
    undone now. `request_id`: a second call with the same one by the same author undoes nothing more
    than the first was to undo, and returns its row: a page that got no answer asks again.

    The state before the act is restored. Acts that others have overridden are no longer in effect
    and are skipped: an undo never changes another curator's decision. Returns the undo's own row,
    None if there is nothing to undo. Commits; needs a `writing()` session.
    """
    authors = (only + author,) if only else authors_of(author)
    newest_first = (
        select(*ACT_COLUMNS, Pair.verdict_version.label("current_version"))
        .join(Pair, Pair.id == Verdict.pair_id)
        .where(*_is_in_effect(dataset_id, authors))
        .order_by(Verdict.id.desc())
    )
    return _revert_batch(session, newest_first, author, rest_of, request_id)


def undo_batch(
    session: Session, dataset_id: int, batch: str, rest_of: VerdictRow | None = None
) -> VerdictRow | None:
    """Undo the acts of a batch that are in effect, whoever is their author. A batch with several
    acts on a pair takes as many calls. Otherwise like `undo_last`."""
    newest_first = (
        select(*ACT_COLUMNS, Pair.verdict_version.label("current_version"))
        .join(Pair, Pair.id == Verdict.pair_id)
        .where(Verdict.batch == batch, *is_standing(dataset_id))
        .order_by(Verdict.id.desc())
    )
    return _revert_batch(session, newest_first, "", rest_of, None)


def redo_last(
    session: Session,
    dataset_id: int,
    author: str,
    rest_of: VerdictRow | None = None,
    request_id: str | None = None,
) -> VerdictRow | None:
    """Redo what `author` undid last, unless they have decided something new since then or someone
    else has changed the pair; repeated calls redo all that they undid of a pair. Returns None if
    there is nothing to redo. Commits. `rest_of`, `request_id`: as for `undo_last`."""
    later = aliased(Verdict)
    since = aliased(Verdict)
    # By somebody else, or another undo of the same act.
    is_outdated = exists().where(
        since.pair_id == Verdict.pair_id,
        since.version > Verdict.version,
        since.author.not_in(authors_of(author)) | (since.undoes == Verdict.undoes),
    )
    decided_pair = aliased(Pair)
    newest_decision = (
        select(func.coalesce(func.max(later.id), 0))
        .join(decided_pair, decided_pair.id == later.pair_id)
        .where(
            later.author.in_(authors_of(author)),
            later.undoes.is_(None),
            later.redoes.is_(None),
            decided_pair.dataset_id == dataset_id,
        )
        .scalar_subquery()
    )
    undone = (
        select(*ACT_COLUMNS, Pair.verdict_version.label("current_version"))
        .join(Pair, Pair.id == Verdict.pair_id)
        .where(
            Verdict.author.in_(authors_of(author)),
            Verdict.undoes.is_not(None),
            Verdict.standing_version == Pair.standing_version,
            ~is_outdated,
            Verdict.id > newest_decision,
            Pair.dataset_id == dataset_id,
        )
        .order_by(Verdict.id.desc())
    )
    return _revert_batch(session, undone, author, rest_of, request_id)


def list_undoable(session: Session, dataset_id: int, author: str, most: int) -> list[VerdictRow]:
    """What repeated calls of `undo_last` would undo, in that order: the newest act of each batch,
    with how many it has (`together`)."""
    undoable: list[VerdictRow] = []
    batches: list[str] = []
    conditions = _is_in_effect(dataset_id, authors_of(author))
    newest_first = (
        select(*ACT_COLUMNS)
        .join(Pair, Pair.id == Verdict.pair_id)
        .where(*conditions)
        .order_by(Verdict.id.desc())
        .limit(most)
    )
    while len(undoable) < most:
        others = newest_first.where(
            Verdict.batch.is_(None) | Verdict.batch.not_in(batches),
            Verdict.id < undoable[-1].id if undoable else true(),
        )
        rows = list(read_records(session, VerdictRow, others))
        for row in rows:
            if row.batch is None:
                undoable.append(row)
            elif row.batch not in batches:
                batches.append(row.batch)
                of_batch = select(func.count()).select_from(Verdict).join(
                    Pair, Pair.id == Verdict.pair_id
                ).where(*conditions, Verdict.batch == row.batch)  # fmt: skip
                count = session.execute(of_batch).scalar_one()
                undoable.append(replace(row, together=count))
        if len(rows) < most:
            break
    return undoable[:most]


def has_edit(session: Session, dataset_id: int, author: str, only: str = EDIT) -> bool:
    """Whether an act by this author is in effect, which `undo_last` would undo. `only`: its kind,
    EDIT or RESTORE."""
    conditions = _is_in_effect(dataset_id, (only + author,))
    of_kind = select(Verdict.id).join(Pair, Pair.id == Verdict.pair_id).where(*conditions)
    return session.scalar(of_kind.limit(1)) is not None


def reopen(session: Session, pair_ids: Sequence[int]) -> None:
    """Make these pairs undecided, because they have another picture. The history stays, and nothing
    in it comes back by a redo. Does not commit; lock the pairs first."""
    when = now()
    for part in chunks(pair_ids, READ_AT_ONCE):
        with_history = select(Pair.id, Pair.verdict_version, Pair.standing_version).where(
            Pair.id.in_(part), Pair.verdict_version > 0
        )
        changes = []
        for pair_id, version, standing in session.execute(with_history).tuples():
            act = VerdictEvent(
                pair_id=pair_id,
                version=version + 1,
                decision=None,
                corrected_caption=None,
                suggestion_id=None,
                author=NEW_PICTURE,
                created_at=when,
                replaces=standing,
                standing_version=0,
                undoes=standing or None,
            )
            changes.append(Change(act, None, None))
        write_all(session, changes)


def _is_in_effect(dataset_id: int, authors: Sequence[str]) -> tuple[ColumnElement[bool], ...]:
    return (Verdict.author.in_(authors), *is_standing(dataset_id))


def is_standing(dataset_id: int) -> tuple[ColumnElement[bool], ...]:
    """Conditions on `Verdict` and its `Pair`: an act that is in effect, and no undo or redo."""
    return (
        Verdict.undoes.is_(None),
        Verdict.redoes.is_(None),
        Verdict.version == Pair.standing_version,
        Pair.dataset_id == dataset_id,
    )


def _revert_batch(
    session: Session,
    newest_first: Select[*tuple[Any, ...]],
    author: str,
    rest_of: VerdictRow | None,
    request_id: str | None,
) -> VerdictRow | None:
    """Undo the newest act, or if that is an undo redo it, and the others of its batch, at most
    AT_ONCE, in one transaction.

    Returns None if there is no such act; raises `VersionConflict` if others repeatedly write first.
    """
    newest = None
    for _ in range(_ATTEMPTS):
        if rest_of is None:
            newest = session.execute(newest_first.limit(1)).one_or_none()
            if newest is None:
                return _find_request(session, author, request_id)
            query = newest_first.where(
                Verdict.id == newest.id if newest.batch is None else Verdict.batch == newest.batch
            )
        else:
            query = newest_first.where(
                Verdict.batch == rest_of.batch, Verdict.id < rest_of.rest_before
            )
        acts = session.execute(query.limit(AT_ONCE)).all()
        if not acts:
            if rest_of is None:
                continue  # others were faster
            return None
        newest = acts[0]
        is_full = len(acts) == AT_ONCE
        lock_pairs(session, [act.pair_id for act in acts])
        # Only now: the first of two equal requests may have been written since the act was read.
        if rest_of is None and (earlier := _find_request(session, author, request_id)) is not None:
            return earlier
        oldest = min(act.id for act in acts)
        versions = versions_of(session, [act.pair_id for act in acts])
        acts = [
            act
            for act in acts
            if act.pair_id in versions and versions[act.pair_id][0] == act.current_version
        ]
        if not acts:
            continue
        states = acts_by_version(session, [act.pair_id for act in acts])
        when = now()
        write_all(session, [_revert(states, act, when, request_id) for act in acts])
        session.commit()
        first = act_at(session, acts[0].pair_id, acts[0].current_version + 1)
        assert first is not None, "it was written just now"
        return replace(first, together=len(acts), rest_before=oldest if is_full else None)
    assert newest is not None
    raise VersionConflict(newest.current_version, pair_state(session, newest.pair_id))


def _revert(
    states: dict[tuple[int, int], VerdictRow], act: Any, when: datetime, request_id: str | None
) -> Change:
    """An undo of the act or, if that is an undo, its redo. `states`: all acts on its pair, by pair
    and version."""
    if act.undoes is None:
        state = states.get((act.pair_id, act.replaces))  # None: it becomes undecided
        versions = {"replaces": act.version, "undoes": act.version}
    else:
        state = states[act.pair_id, act.undoes]
        versions = {"replaces": act.standing_version, "redoes": act.undoes}
    reverting = VerdictEvent(
        pair_id=act.pair_id,
        version=act.current_version + 1,
        author=act.author,
        created_at=when,
        standing_version=act.replaces if act.undoes is None else act.undoes,
        batch=act.batch,
        **state_left_by(state),
        claim=act.claim,
        request_id=request_id,
        **versions,
    )
    return Change(reverting, *decider_of(states, state))


def _find_request(session: Session, author: str, request_id: str | None) -> VerdictRow | None:
    """The undo or redo that an earlier request with this id has written; None if there is none."""
    if request_id is None:
        return None
    query = (
        select(*ACT_COLUMNS)
        .where(Verdict.request_id == request_id, Verdict.author.in_(authors_of(author)))
        .order_by(Verdict.id.desc())
        .limit(1)
    )
    row = find_record(session, VerdictRow, query)
    # Its batch may have a rest: the request may have been interrupted.
    return row and replace(row, rest_before=None if row.batch is None else row.id)


def state_left_by(act: VerdictRow | None) -> dict[str, Any]:
    """What an act left in effect, for one that brings it back; None: the pair was undecided."""
    if act is None:
        return {"decision": None, "corrected_caption": None, "suggestion_id": None}
    return {name: getattr(act, name) for name in (*OF_STATE, "suggestion_id")}
