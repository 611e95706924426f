"""Writing acts: the row of an act and the pair's new state in one transaction, guarded by the
version that the curator saw:

    UPDATE pairs SET …, verdict_version = 4 WHERE id = 7 AND verdict_version = 3

If someone else was faster, no row matches and nothing is written. Many acts are written under locks
on their pairs instead (`statements.lock_pairs`), whose versions are read first.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, insert, select, update
from sqlalchemy.orm import Session

from db.authors import is_label_file, is_named_label, is_rule
from db.column_types import now
from db.models import Pair, Verdict
from db.queries import opinion_queries
from db.queries.blind_review import several_judge
from db.queries.claim_labels import LabelRecords
from db.queries.statements import any_of, chunks, run, table_of
from db.queries.verdict_acts import READ_AT_ONCE, VerdictEvent, VerdictRow


@dataclass(frozen=True)
class BatchOutcome:
    """The result of verdicts given together: pairs written, and pairs skipped because their version
    had changed."""

    written: tuple[int, ...]
    passed_over: tuple[int, ...]


@dataclass(frozen=True)
class Change:
    """An act, with author and time of the decision in effect after it."""

    act: VerdictEvent
    decided_by: str | None
    decided_at: datetime | None


_VERSIONS = select(Pair.id, Pair.verdict_version, Pair.standing_version, Pair.claim_labels).where(
    Pair.id.in_(any_of("pair_ids"))
)
#: What an act takes over of its pair.
PAIR_STATE = (
    Pair.id, Pair.caption, Pair.verdict_version, Pair.standing_version, Pair.decision,
    Pair.corrected_caption, Pair.enriches, Pair.note, Pair.sampling, Pair.decided_by,
    Pair.decided_at, Pair.claim_labels,
)  # fmt: skip
#: The act that decides a pair, if the pair is still at the version before it.
_DECIDE = update(table_of(Pair)).where(
    table_of(Pair).c.id == bindparam("of_pair"),
    table_of(Pair).c.verdict_version == bindparam("of_version"),
)
_ADD_ACT = insert(table_of(Verdict)).returning(table_of(Verdict).c.id)


def unchanged_event(pair: Any, standing: VerdictRow | None, author: str) -> VerdictEvent:
    """An act that leaves the pair as it is; `standing`: the act in effect."""
    return VerdictEvent(
        pair_id=pair.id,
        version=pair.verdict_version + 1,
        decision=pair.decision,
        corrected_caption=pair.corrected_caption,
        suggestion_id=standing.suggestion_id if standing is not None else None,
        author=author,
        created_at=now(),
        replaces=pair.standing_version,
        standing_version=pair.verdict_version + 1,
        enriches=pair.enriches,
        note=pair.note,
        sampling=pair.sampling,
        claim_labels=pair.claim_labels,
    )


def versions_of(
    session: Session, pair_ids: Sequence[int]
) -> dict[int, tuple[int, int, LabelRecords]]:
    """The current and the standing version of each of these pairs, and the labels of its claims."""
    return {
        row.id: (row.verdict_version, row.standing_version, row.claim_labels)
        for part in chunks(pair_ids, READ_AT_ONCE)
        for row in run(session, _VERSIONS, pair_ids=part)
    }


def outcome_of(changes: Sequence[Change], pair_ids: Iterable[int]) -> BatchOutcome:
    """`pair_ids`: all that were wanted, in their order."""
    done_ids = {change.act.pair_id: None for change in changes}
    return BatchOutcome(tuple(done_ids), tuple(id for id in pair_ids if id not in done_ids))


def write_all(session: Session, changes: Sequence[Change]) -> None:
    """Write the acts and the new states of their pairs, whose versions were read under a lock."""
    if not changes:
        return
    connection, pairs = session.connection(), table_of(Pair)
    connection.execute(
        update(pairs).where(pairs.c.id == bindparam("of_pair")),
        [
            {"of_pair": change.act.pair_id, **_state_after(change.act)}
            | {"decided_by": change.decided_by, "decided_at": change.decided_at}
            for change in changes
        ],
    )
    connection.execute(insert(table_of(Verdict)), [vars(change.act) for change in changes])
    _keep_opinions(session, [change.act for change in changes])


def write_change(session: Session, change: Change, settles: bool) -> VerdictRow | None:
    """Write the act and the pair's new state, commit, return the row. Returns None, with nothing
    written, if the pair is no longer at the version before the act."""
    act = change.act
    result = run(
        session, _DECIDE, of_pair=act.pair_id, of_version=act.version - 1, **_state_after(act),
        decided_by=change.decided_by, decided_at=change.decided_at,
    )  # fmt: skip
    if result.rowcount == 0:
        return None
    values = vars(act)
    verdict_id = run(session, _ADD_ACT, **values).scalar_one()
    _keep_opinions(session, [act], settles)
    session.commit()
    return VerdictRow(id=verdict_id, **values)


def _state_after(act: VerdictEvent) -> dict[str, Any]:
    """The columns of a pair that an act on it sets, but for who decided, and when."""
    return {
        "verdict_version": act.version,
        "standing_version": act.standing_version,
        "decision": act.decision,
        "corrected_caption": act.corrected_caption,
        "enriches": act.enriches,
        "note": act.note,
        "sampling": act.sampling,
        "claim_labels": act.claim_labels,
    }


def _keep_opinions(session: Session, acts: Sequence[VerdictEvent], settles: bool = False) -> None:
    """What the acts make of their authors' opinions. Agreement is measured between people; labels
    that a file has from one of them are opinions where several are wanted."""
    named_ids = [act.pair_id for act in acts if is_named_label(act.author)]
    shared_ids = several_judge(session, named_ids) if named_ids else set[int]()
    pairs_of_author: defaultdict[str, list[int]] = defaultdict(list)
    for act in acts:
        is_person = not is_rule(act.author) and not is_label_file(act.author)
        is_reading = is_named_label(act.author) and (
            act.pair_id in shared_ids or act.undoes is not None
        )
        if is_person or is_reading:
            pairs_of_author[act.author].append(act.pair_id)
    for author, pair_ids in pairs_of_author.items():
        opinion_queries.keep(session, pair_ids, author, settles)
