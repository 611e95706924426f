"""Verdicts: the decisions of curators, and notes beside them. Each is an act (`verdict_acts`),
given as the curator saw the pair. `add_verdict` commits before it returns: what it returns is on
disk.
Verdicts given together share a batch id, for one undo of all (`undo_queries`).
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from db.column_types import now
from db.decisions import DECISIONS, SAMPLINGS
from db.errors import MissingRow, VersionConflict
from db.models import Pair, Suggestion, Verdict
from db.queries.claim_labels import LabelRecords, without_wrong
from db.queries.edit_queries import edited_texts
from db.queries.statements import check_text, lock_pairs
from db.queries.verdict_acts import (
    VerdictEvent,
    VerdictRow,
    act_at,
    missing_pair,
    pair_state,
)
from db.queries.verdict_writing import (
    PAIR_STATE,
    BatchOutcome,
    Change,
    outcome_of,
    unchanged_event,
    versions_of,
    write_all,
    write_change,
)
from db.texts import is_blank


@dataclass(frozen=True)
class NewVerdict:
    """A verdict on a pair as seen at its version. `caption`: of a *correction*."""

    pair_id: int
    version: int
    decision: str
    caption: str | None = None
    note: str = ""
    sampling: str = ""


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
    note: str = "",
    sampling: str = "",
) -> VerdictRow:
    """Decide a pair as seen at `expected_version`. Commits; needs a `writing()` session.

    `settles`: an adjudicator ends a disagreement with it. Judging a pair *correct* whose caption
    has been edited in bulk accepts the edit: a *correction* that enriches. `sampling`: one of
    `SAMPLINGS`.

    Idempotent: the same verdict by the same author on the same version returns the existing row.
    Raises `VersionConflict` with the current state if the pair's version has changed, `MissingRow`
    for an unknown pair or a suggestion of another pair, ValueError for an invalid decision. In all
    these cases nothing is written.
    """
    check_verdict(decision, corrected_caption, author, note, sampling)
    if pair_id not in (versions := versions_of(session, [pair_id])):
        raise missing_pair(pair_id)
    current, standing, labels = versions[pair_id]
    request, origin = (decision, corrected_caption), (author, note, suggestion_id)
    edit = edited_texts(session, [pair_id]).get(pair_id) if decision == "correct" else None
    if edit is not None:
        decision, corrected_caption = "correction", edit
    if current == expected_version:
        is_boost = False
        if suggestion_id is not None:
            of_suggestion = (Suggestion.id == suggestion_id, Suggestion.pair_id == pair_id)
            kind = session.scalar(select(Suggestion.kind).where(*of_suggestion))
            if kind is None:
                raise MissingRow(f"Pair {pair_id} has no suggestion {suggestion_id}.")
            is_boost = kind == "boost"
        version = expected_version + 1
        act = _write(
            session,
            VerdictEvent(
                pair_id=pair_id,
                version=version,
                decision=decision,
                corrected_caption=corrected_caption,
                suggestion_id=suggestion_id,
                author=author,
                created_at=now(),
                replaces=standing,
                standing_version=version,
                enriches=edit is not None or (decision == "correction" and is_boost),
                note=note,
                sampling=sampling,
                claim_labels=_kept_labels(labels, request[0]),
            ),
            settles,
        )
        if act is not None:
            return act
    earlier = act_at(session, pair_id, expected_version + 1)
    if earlier is not None and _is_answer(earlier, request, origin):
        return earlier
    raise VersionConflict(expected_version, pair_state(session, pair_id))


def _is_answer(
    act: VerdictRow, request: tuple[str | None, str | None], origin: tuple[str, str, int | None]
) -> bool:
    """Whether the act is the requested verdict: an earlier request may have written it and lost its
    response. `request`: decision and caption; `origin`: author, note and suggestion."""
    is_original = act.undoes is None and act.redoes is None and act.claim is None
    if not is_original or (act.author, act.note, act.suggestion_id) != origin:
        return False
    if request[0] == "correct" and act.decision == "correction":
        # The caption had been edited in bulk, and was accepted with the edit.
        return act.enriches and act.batch is None
    return (act.decision, act.corrected_caption) == request


def _kept_labels(labels: LabelRecords, decision: str) -> LabelRecords:
    """The labels of claims after a verdict on their caption."""
    return without_wrong(labels) if decision == "correct" else labels


def add_note(
    session: Session, pair_id: int, expected_version: int, note: str, *, author: str
) -> VerdictRow:
    """Set the note of an undecided pair as seen at `expected_version`, and decide nothing. Commits;
    needs a `writing()` session.

    Idempotent and guarded like `add_verdict`, with the same exceptions.
    """
    if is_blank(author):
        raise ValueError("a note needs an author")
    check_text(author, "The author's name", 255)
    check_text(note, "The note")
    pair = session.execute(select(*PAIR_STATE).where(Pair.id == pair_id)).one_or_none()
    if pair is None:
        raise missing_pair(pair_id)
    if pair.verdict_version == expected_version and pair.decision is None:
        act = replace(unchanged_event(pair, None, author), note=note)
        if (row := write_change(session, Change(act, None, None), settles=False)) is not None:
            return row
    earlier = act_at(session, pair_id, expected_version + 1)
    if earlier is not None:
        request = None, earlier.corrected_caption
        if _is_answer(earlier, request, (author, note, earlier.suggestion_id)):
            return earlier
    raise VersionConflict(expected_version, pair_state(session, pair_id))


def add_verdicts(
    session: Session,
    versions: Sequence[tuple[int, int]],
    decision: str,
    *,
    author: str,
    note: str = "",
) -> BatchOutcome:
    """The same verdict for many pairs, each as seen at its version: (pair, version). Like `add_all`
    otherwise."""
    requests = [NewVerdict(pair_id, version, decision, note=note) for pair_id, version in versions]
    return add_all(session, requests, author=author)


def add_all(
    session: Session, requests: Sequence[NewVerdict], *, author: str, batch: str | None = None
) -> BatchOutcome:
    """Give many verdicts in one transaction, with one undo. Commits. `batch`: the id of verdicts
    given before, to be undone together with them.

    Pairs whose version has changed are skipped; *correct* accepts bulk edits, as in `add_verdict`.
    Raises MissingRow for an unknown pair and ValueError for an invalid verdict; then nothing is
    written.
    """
    for request in requests:
        check_verdict(request.decision, request.caption, author, request.note, request.sampling)
    batch, when = batch or uuid.uuid4().hex, now()
    request_of = {request.pair_id: request for request in requests}
    lock_pairs(session, list(request_of))
    edits = edited_texts(session, [r.pair_id for r in requests if r.decision == "correct"])
    versions = versions_of(session, list(request_of))
    if missing_ids := request_of.keys() - versions.keys():
        raise missing_pair(min(missing_ids))
    changes = []
    for pair_id, request in request_of.items():
        version, standing, labels = versions[pair_id]
        if version != request.version:
            continue
        act = VerdictEvent(
            pair_id=pair_id,
            version=version + 1,
            decision="correction" if pair_id in edits else request.decision,
            corrected_caption=edits.get(pair_id, request.caption),
            suggestion_id=None,
            author=author,
            created_at=when,
            replaces=standing,
            standing_version=version + 1,
            batch=batch,
            enriches=pair_id in edits,
            note=request.note,
            sampling=request.sampling,
            claim_labels=_kept_labels(labels, request.decision),
        )
        changes.append(Change(act, author, when))
    write_all(session, changes)
    session.commit()
    return outcome_of(changes, request_of)


def count_batch(session: Session, author: str, batch: str, only_overruled: bool = False) -> int:
    """The number of the author's verdicts in this batch; `only_overruled`: of those that a later
    verdict has replaced."""
    acts = select(func.count()).select_from(Verdict).where(
        Verdict.author == author, Verdict.batch == batch, Verdict.undoes.is_(None),
        Verdict.redoes.is_(None),
    )  # fmt: skip
    if only_overruled:
        acts = acts.join(Pair, Pair.id == Verdict.pair_id)
        acts = acts.where(Pair.standing_version > Verdict.version)
    return session.execute(acts).scalar_one()


def _write(session: Session, act: VerdictEvent, settles: bool) -> VerdictRow | None:
    """`write_change`, of an act that decides."""
    return write_change(session, Change(act, act.author, act.created_at), settles)


def check_verdict(
    decision: str, corrected_caption: str | None, author: str, note: str = "", sampling: str = ""
) -> None:
    if decision not in DECISIONS:
        raise ValueError(f"'{decision}' is not a decision; there are {', '.join(DECISIONS)}")
    if (decision == "correction") != (corrected_caption is not None):
        raise ValueError("a corrected caption belongs to the decision 'correction', and only there")
    if corrected_caption is not None and is_blank(corrected_caption):
        raise ValueError("the corrected caption is empty; drop the pair instead")
    if sampling not in SAMPLINGS:
        raise ValueError(f"'{sampling}' is no way in which pairs are sampled")
    if is_blank(author):
        raise ValueError("a verdict needs an author")
    check_text(corrected_caption or "", "The corrected caption")
    check_text(author, "The author's name", 255)
    check_text(note, "The note")
