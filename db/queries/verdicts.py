"""Verdicts: what curators decide, one act after the other, never changed and never lost.

Each act is a row of `verdicts`; the pair's row carries what holds now. Both are written in one
transaction, guarded by the version that the curator saw:

    UPDATE pairs SET …, verdict_version = 4 WHERE id = 7 AND verdict_version = 3

If somebody else was faster, no row matches and nothing is written. `add_verdict`, `undo_last` and
`redo_last` commit before they return: what they return is on the disk.

Verdicts given together carry the name of their batch; one undo takes all of it back that still
stands, one redo gives it again.

Undo walks back along what stands. A pair decided *correct* (1), then *drop* (2):

    version  act           decision  replaces  stands
    1        correct       correct   0         1
    2        drop          drop      1         2
    3        undo of 2     correct   2         1
    4        undo of 1     NULL      1         0        undecided again
    5        redo of 1     correct   0         1
"""

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import CursorResult, Select, func, insert, select, update
from sqlalchemy.orm import Session, aliased

from db.authors import is_rule
from db.errors import MissingRow, PairState, VersionConflict
from db.models import DECISIONS, Pair, Suggestion, Verdict
from db.queries import opinions
from db.queries.pairs import lock_pairs
from db.queries.statements import check_text, record
from db.types import now


@dataclass(frozen=True)
class VerdictRow:
    """One act. `decision` is what holds after it (None: undecided). `undoes` and `redoes` name
    the version that an undo takes back or a redo gives again."""

    id: int
    pair_id: int
    version: int
    decision: str | None
    corrected_caption: str | None
    suggestion_id: int | None
    author: str
    created_at: datetime
    replaces: int
    stands: int
    undoes: int | None
    redoes: int | None
    batch: str | None = None
    #: How many acts an undo or a redo comprised: those of a batch go together.
    together: int = 1


@dataclass(frozen=True)
class Decided:
    """What became of verdicts given together: pairs written, and pairs that had moved on."""

    written: tuple[int, ...]
    passed_over: tuple[int, ...]


@dataclass(frozen=True)
class DecidedPair:
    """A pair and the verdict that holds for it."""

    pair_id: int
    external_id: str
    decision: str
    corrected_caption: str | None
    version: int
    decided_by: str
    decided_at: datetime


_COLUMNS = (
    Verdict.id,
    Verdict.pair_id,
    Verdict.version,
    Verdict.decision,
    Verdict.corrected_caption,
    Verdict.suggestion_id,
    Verdict.author,
    Verdict.created_at,
    Verdict.replaces,
    Verdict.stands,
    Verdict.undoes,
    Verdict.redoes,
    Verdict.batch,
)

#: On PostgreSQL another curator may come between finding and undoing; then we look again.
_ATTEMPTS = 5


def add_verdict(
    session: Session,
    pair_id: int,
    expected_version: int,
    decision: str,
    corrected_caption: str | None = None,
    suggestion_id: int | None = None,
    *,
    author: str,
    settles: bool = False,
) -> VerdictRow:
    """Decide a pair as seen at `expected_version`. Commits; needs a `writing()` session.

    `settles`: an adjudicator ends a disagreement with it.

    Safe to repeat: the same verdict by the same author on the same version gives the row that is
    already there. Raises `VersionConflict` with the current state if the pair has moved on,
    `MissingRow` for an unknown pair or a suggestion of another pair, ValueError for a decision
    that makes no sense. In all these cases nothing is written.
    """
    _check(decision, corrected_caption, author)
    pair = _pair(session, pair_id)
    if pair.verdict_version == expected_version:
        if suggestion_id is not None:
            _check_suggestion(session, pair_id, suggestion_id)
        version = expected_version + 1
        act = _write(
            session,
            _Act(
                pair_id=pair_id,
                version=version,
                decision=decision,
                corrected_caption=corrected_caption,
                suggestion_id=suggestion_id,
                author=author,
                created_at=now(),
                replaces=pair.standing_version,
                stands=version,
                settles=settles,
            ),
        )
        if act is not None:
            return act
    earlier = _version(session, pair_id, expected_version + 1)
    if (
        earlier is not None
        and (earlier.decision, earlier.author) == (decision, author)
        and (earlier.corrected_caption, earlier.suggestion_id) == (corrected_caption, suggestion_id)
        and earlier.undoes is None
        and earlier.redoes is None
    ):
        return earlier
    raise VersionConflict(expected_version, pair_state(session, pair_id))


def add_verdicts(
    session: Session, seen: Sequence[tuple[int, int]], decision: str, *, author: str
) -> Decided:
    """Decide many pairs, each as seen at its version: (pair, version). One transaction, one undo.

    A pair that has moved on is passed over. Raises MissingRow for an unknown pair and ValueError
    for a decision that makes no sense, with nothing written. Commits.
    """
    _check(decision, None, author)
    batch, when = uuid.uuid4().hex, now()
    lock_pairs(session, [pair_id for pair_id, _ in seen])
    written: list[int] = []
    passed_over: list[int] = []
    for pair_id, version in dict(seen).items():
        pair = _pair(session, pair_id)
        act = None
        if pair.verdict_version == version:
            act = _write(
                session,
                _Act(
                    pair_id=pair_id,
                    version=version + 1,
                    decision=decision,
                    corrected_caption=None,
                    suggestion_id=None,
                    author=author,
                    created_at=when,
                    replaces=pair.standing_version,
                    stands=version + 1,
                    batch=batch,
                ),
                commit=False,
            )
        (written if act is not None else passed_over).append(pair_id)
    session.commit()
    return Decided(tuple(written), tuple(passed_over))


def undo_last(session: Session, dataset_id: int, author: str) -> VerdictRow | None:
    """Take back the newest verdict of `author` that still stands; again goes further back.

    What stood before it holds again. A verdict that somebody has decided over no longer stands
    and is passed over: an undo never changes another curator's decision. Returns the undo's own
    row, None if there is nothing to undo. Commits; needs a `writing()` session.
    """
    standing = (
        select(*_COLUMNS, Pair.verdict_version.label("current_version"))
        .join(Pair, Pair.id == Verdict.pair_id)
        .where(
            Verdict.author == author,
            Verdict.undoes.is_(None),
            Verdict.redoes.is_(None),
            Verdict.version == Pair.standing_version,
            Pair.dataset_id == dataset_id,
        )
        .order_by(Verdict.id.desc())
    )
    return _together(session, standing, _taken_back)


def _taken_back(session: Session, found: Any, when: datetime) -> VerdictRow | None:
    before = _version(session, found.pair_id, found.replaces)
    return _write(
        session,
        _Act(
            pair_id=found.pair_id,
            version=found.current_version + 1,
            decision=before.decision if before else None,
            corrected_caption=before.corrected_caption if before else None,
            suggestion_id=before.suggestion_id if before else None,
            author=found.author,
            created_at=when,
            replaces=found.version,
            stands=found.replaces,
            undoes=found.version,
            batch=found.batch,
        ),
        decided_by=before.author if before else None,
        decided_at=before.created_at if before else None,
        commit=False,
    )


def redo_last(session: Session, dataset_id: int, author: str) -> VerdictRow | None:
    """Give again what `author` took back last, as long as they decided nothing new since then
    and nobody else touched the pair. None if there is nothing to redo. Commits."""
    later = aliased(Verdict)
    decided_pair = aliased(Pair)
    newest_decision = (
        select(func.coalesce(func.max(later.id), 0))
        .join(decided_pair, decided_pair.id == later.pair_id)
        .where(
            later.author == author,
            later.undoes.is_(None),
            later.redoes.is_(None),
            decided_pair.dataset_id == dataset_id,
        )
        .scalar_subquery()
    )
    undone = (
        select(*_COLUMNS, Pair.verdict_version.label("current_version"))
        .join(Pair, Pair.id == Verdict.pair_id)
        .where(
            Verdict.author == author,
            Verdict.undoes.is_not(None),
            Verdict.version == Pair.verdict_version,
            Verdict.id > newest_decision,
            Pair.dataset_id == dataset_id,
        )
        .order_by(Verdict.id.desc())
    )
    return _together(session, undone, _given_again)


def _given_again(session: Session, undo: Any, when: datetime) -> VerdictRow | None:
    again = _version(session, undo.pair_id, undo.undoes)
    assert again is not None, "an undo names an act that exists"
    return _write(
        session,
        _Act(
            pair_id=undo.pair_id,
            version=undo.version + 1,
            decision=again.decision,
            corrected_caption=again.corrected_caption,
            suggestion_id=again.suggestion_id,
            author=undo.author,
            created_at=when,
            replaces=undo.stands,
            stands=again.version,
            redoes=again.version,
            batch=undo.batch,
        ),
        decided_by=again.author,
        decided_at=again.created_at,
        commit=False,
    )


def _together(
    session: Session,
    newest_first: Select[*tuple[Any, ...]],
    write: Callable[[Session, Any, datetime], VerdictRow | None],
) -> VerdictRow | None:
    """Write the answer to the newest act, and to all others of its batch, in one transaction.

    None if there is no such act; raises `VersionConflict` if others are faster again and again.
    """
    for _ in range(_ATTEMPTS):
        found = session.execute(newest_first.limit(1)).one_or_none()
        if found is None:
            return None
        others: Sequence[Any] = ()
        if found.batch is not None:
            others = session.execute(
                newest_first.where(Verdict.batch == found.batch, Verdict.id != found.id)
            ).all()
            lock_pairs(session, [found.pair_id, *(one.pair_id for one in others)])
        when = now()
        written = [act for one in (found, *others) if (act := write(session, one, when))]
        session.commit()
        if written:
            return replace(written[0], together=len(written))
    assert found is not None
    raise VersionConflict(found.current_version, pair_state(session, found.pair_id))


def history(session: Session, pair_id: int) -> list[VerdictRow]:
    """Every act on a pair, oldest first."""
    query = select(*_COLUMNS).where(Verdict.pair_id == pair_id).order_by(Verdict.version)
    return [record(VerdictRow, row) for row in session.execute(query)]


def iterate_verdicts(session: Session, dataset_id: int, batch: int = 1000) -> Iterator[DecidedPair]:
    """The verdicts that hold, in import order of their pairs, `batch` at a time in memory."""
    after_id = 0
    while rows := session.execute(
        select(
            Pair.id.label("pair_id"),
            Pair.external_id,
            Pair.decision,
            Pair.corrected_caption,
            Pair.verdict_version.label("version"),
            Pair.decided_by,
            Pair.decided_at,
        )
        .where(Pair.dataset_id == dataset_id, Pair.decision.is_not(None), Pair.id > after_id)
        .order_by(Pair.id)
        .limit(batch)
    ).all():
        yield from (record(DecidedPair, row) for row in rows)
        after_id = rows[-1].pair_id


def pair_state(session: Session, pair_id: int) -> PairState:
    """What holds for a pair now. Raises `MissingRow`."""
    pair = _pair(session, pair_id)
    return PairState(
        pair_id=pair_id,
        version=pair.verdict_version,
        decision=pair.decision,
        corrected_caption=pair.corrected_caption,
        decided_by=pair.decided_by,
        decided_at=pair.decided_at,
    )


@dataclass(frozen=True)
class _Act:
    pair_id: int
    version: int
    decision: str | None
    corrected_caption: str | None
    suggestion_id: int | None
    author: str
    created_at: datetime
    replaces: int
    stands: int
    undoes: int | None = None
    redoes: int | None = None
    batch: str | None = None
    settles: bool = False


#: What an act and its row have in common.
_ACT = tuple(name for name in _Act.__dataclass_fields__ if name != "settles")


def _write(
    session: Session,
    act: _Act,
    decided_by: str | None = None,
    decided_at: datetime | None = None,
    commit: bool = True,
) -> VerdictRow | None:
    """Write the act and the pair's new state, commit, return the row. None, and nothing written,
    if the pair is no longer at the version before the act. `decided_*` default to the act's own
    unless the act leaves the pair undecided or restores another's decision."""
    own = act.undoes is None and act.redoes is None
    updated = session.execute(
        update(Pair)
        .where(Pair.id == act.pair_id, Pair.verdict_version == act.version - 1)
        .values(
            verdict_version=act.version,
            standing_version=act.stands,
            decision=act.decision,
            corrected_caption=act.corrected_caption,
            decided_by=act.author if own else decided_by,
            decided_at=act.created_at if own else decided_at,
        ),
        execution_options={"synchronize_session": False},
    )
    assert isinstance(updated, CursorResult)
    if updated.rowcount == 0:
        return None
    values = {name: getattr(act, name) for name in _ACT}
    verdict_id = session.execute(insert(Verdict).values(values).returning(Verdict.id)).scalar_one()
    if not is_rule(act.author):  # agreement is told between people
        opinions.keep(session, act.pair_id, act.author, act.settles)
    if commit:
        session.commit()
    return VerdictRow(id=verdict_id, **values)


def _pair(session: Session, pair_id: int) -> Any:
    row = session.execute(
        select(
            Pair.verdict_version,
            Pair.standing_version,
            Pair.decision,
            Pair.corrected_caption,
            Pair.decided_by,
            Pair.decided_at,
        ).where(Pair.id == pair_id)
    ).one_or_none()
    if row is None:
        raise MissingRow(f"There is no pair {pair_id}; its dataset may have been deleted.")
    return row


def _version(session: Session, pair_id: int, version: int) -> VerdictRow | None:
    row = session.execute(
        select(*_COLUMNS).where(Verdict.pair_id == pair_id, Verdict.version == version)
    ).one_or_none()
    return None if row is None else record(VerdictRow, row)


def _check(decision: str, corrected_caption: str | None, author: str) -> None:
    if decision not in DECISIONS:
        raise ValueError(f"'{decision}' is no decision; there are {', '.join(DECISIONS)}")
    if (decision == "correction") != (corrected_caption is not None):
        raise ValueError("a corrected caption belongs to the decision 'correction', and only there")
    if corrected_caption is not None and not corrected_caption.strip():
        raise ValueError("the corrected caption is empty; drop the pair instead")
    if not author.strip():
        raise ValueError("a verdict needs an author")
    check_text(corrected_caption or "", "The corrected caption")
    check_text(author, "The author's name", 255)


def _check_suggestion(session: Session, pair_id: int, suggestion_id: int) -> None:
    owner = session.execute(
        select(Suggestion.pair_id).where(Suggestion.id == suggestion_id)
    ).scalar_one_or_none()
    if owner != pair_id:
        raise MissingRow(f"Pair {pair_id} has no suggestion {suggestion_id}.")
