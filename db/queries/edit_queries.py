"""Bulk edits of captions. An edit says nothing about the picture, so it is not a verdict: an
undecided pair stays undecided, with the edited text in `corrected_caption`; a pair that a person
has judged correct, or corrected, keeps that decision and its author. Nor does a verdict without a
text of its own (*unsure*, *abstract*, *drop*) take an edit back: `edited_texts` finds it below.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from db.authors import EDIT, edit_author, is_edit
from db.column_types import now
from db.models import Pair, Verdict
from db.queries.statements import any_of, check_text, chunks, lock_pairs, run
from db.queries.verdict_acts import READ_AT_ONCE, VerdictEvent
from db.queries.verdict_writing import PAIR_STATE, BatchOutcome, Change, outcome_of, write_all
from db.texts import is_blank

#: The acts on pairs that have been edited in bulk, and their versions in effect.
_EDITED = select(Verdict.pair_id).where(
    Verdict.author.startswith(EDIT, autoescape=True), Verdict.pair_id.in_(any_of("pair_ids"))
)
_ACTS_OF_EDITED = select(
    Verdict.pair_id, Verdict.version, Verdict.author, Verdict.decision,
    Verdict.corrected_caption, Verdict.enriches,
    func.coalesce(Verdict.restores, Verdict.replaces).label("before"),
).where(Verdict.pair_id.in_(_EDITED))  # fmt: skip
_STANDING_OF_EDITED = select(Pair.id, Pair.standing_version).where(Pair.id.in_(_EDITED))


@dataclass(frozen=True)
class Rewrite:
    """The new text of a pair, edited from its text at `version`."""

    pair_id: int
    version: int
    text: str


def rewrite(session: Session, edits: Sequence[Rewrite], *, author: str) -> BatchOutcome:
    """Edit the captions of many pairs, each as seen at its version. One transaction, one undo by
    `author`; commits. Pairs whose version has changed are skipped, and so are those with a verdict
    other than *correct* or *correction*. Raises ValueError for an empty text.
    """
    batch, when, who = uuid.uuid4().hex, now(), edit_author(author)
    check_text(who, "The author's name", 255)
    for edit in edits:
        if is_blank(edit.text):
            raise ValueError("an edited caption is empty")
        check_text(edit.text, "An edited caption")
    lock_pairs(session, [edit.pair_id for edit in edits])
    changes: list[Change] = []
    for part in chunks(edits, READ_AT_ONCE):
        rewritten = _rewritten(session, part, who, when, batch)
        write_all(session, rewritten)
        changes += rewritten
    session.commit()
    return outcome_of(changes, (edit.pair_id for edit in edits))


def _rewritten(
    session: Session, edits: Sequence[Rewrite], who: str, when: datetime, batch: str
) -> list[Change]:
    """The acts for those pairs whose version has not changed."""
    states = {
        row.id: row
        for row in session.execute(
            select(*PAIR_STATE).where(Pair.id.in_([edit.pair_id for edit in edits]))
        )
    }
    changes = []
    for edit in edits:
        pair = states.get(edit.pair_id)
        if pair is None or pair.verdict_version != edit.version:
            continue
        was_right = pair.decision == "correct" or pair.enriches
        is_plain = edit.text == pair.caption
        if pair.decision not in (None, "correct", "correction") or (
            is_plain and pair.decision == "correction" and not was_right
        ):
            continue  # the original caption was judged wrong
        decision = pair.decision and ("correct" if was_right and is_plain else "correction")
        act = VerdictEvent(
            pair_id=edit.pair_id,
            version=edit.version + 1,
            decision=decision,
            corrected_caption=None if is_plain else edit.text,
            suggestion_id=None,
            author=who,
            created_at=when,
            replaces=pair.standing_version,
            standing_version=edit.version + 1,
            batch=batch,
            enriches=decision == "correction" and was_right,
            note=pair.note,
            sampling=pair.sampling,
            claim_labels=pair.claim_labels,
        )
        changes.append(Change(act, pair.decided_by, pair.decided_at))
    return changes


def edited_texts(session: Session, pair_ids: Sequence[int]) -> dict[int, str]:
    """The texts that bulk edits in effect have given to pairs, by pair; the others are left out.

    A verdict says nothing about the wording of such a text, so it is found below later verdicts as
    well. An edit of a correction is part of the correction, and goes with it.
    """
    texts: dict[int, str] = {}
    for part in chunks(pair_ids, READ_AT_ONCE):
        acts: dict[tuple[int, int], Any] = {
            (row.pair_id, row.version): row for row in run(session, _ACTS_OF_EDITED, pair_ids=part)
        }
        if not acts:
            continue
        for pair_id, version in run(session, _STANDING_OF_EDITED, pair_ids=part).tuples():
            act = acts.get((pair_id, version))
            # An edit of a wrong caption is part of its correction.
            while act is not None and not (
                is_edit(act.author) and (act.decision != "correction" or act.enriches)
            ):
                act = acts.get((pair_id, act.before))
            if act is not None and act.corrected_caption is not None:
                texts[pair_id] = act.corrected_caption
    return texts
