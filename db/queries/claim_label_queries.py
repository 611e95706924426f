"""Labels of claims are acts as well. The first one that says wrong decides the caption, as *wrong*;
if it is taken back, the decision before it is in effect again. Labels of right claims decide
nothing, however many there are. All labels in effect are in each act, so that undo and redo,
conflicts and history are those of verdicts.
"""

from dataclasses import replace
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from db.decisions import SAMPLINGS, is_wrong, judgement
from db.errors import VersionConflict
from db.models import Pair
from db.queries.claim_labels import ClaimLabel, LabelRecords, has_wrong, labels_in, to_store
from db.queries.statements import check_text
from db.queries.verdict_acts import (
    VerdictEvent,
    VerdictRow,
    act_at,
    acts_by_version,
    decider_of,
    missing_pair,
    pair_state,
)
from db.queries.verdict_writing import PAIR_STATE, Change, unchanged_event, write_change
from db.texts import is_blank


def add_claim_label(
    session: Session,
    pair_id: int,
    expected_version: int,
    claim: tuple[int, int],
    is_right: bool | None,
    *,
    author: str,
    sampling: str = "",
) -> VerdictRow:
    """Label one claim of a pair as seen at `expected_version`, or take its label back (None).
    `claim`: its characters in the caption. Commits; needs a `writing()` session.

    Idempotent and guarded like `add_verdict`, with the same exceptions; ValueError for characters
    that the caption does not have.
    """
    if is_blank(author) or sampling not in SAMPLINGS:
        raise ValueError("a label needs an author, and a known way in which its pair was sampled")
    check_text(author, "The author's name", 255)
    pair = session.execute(select(*PAIR_STATE).where(Pair.id == pair_id)).one_or_none()
    if pair is None:
        raise missing_pair(pair_id)
    start, end = claim
    if not 0 <= start < end <= len(pair.caption):
        raise ValueError(f"pair {pair_id} has no characters {start} to {end}")
    if pair.verdict_version == expected_version:
        others = [label for label in labels_in(pair.claim_labels) if label.start != start]
        text = pair.caption[start:end]
        new = [] if is_right is None else [ClaimLabel(start, end, text, is_right, author)]
        act = _label(session, pair, to_store([*others, *new]), start, author, sampling)
        if (row := write_change(session, act, settles=False)) is not None:
            return row
    earlier = act_at(session, pair_id, expected_version + 1)
    if earlier is not None and (earlier.author, earlier.claim) == (author, start):
        labels = {label.start: label.is_right for label in labels_in(earlier.claim_labels)}
        if earlier.undoes is None and earlier.redoes is None and labels.get(start) == is_right:
            return earlier
    raise VersionConflict(expected_version, pair_state(session, pair_id))


def _label(
    session: Session, pair: Any, labels: LabelRecords, claim: int, author: str, sampling: str
) -> Change:
    """The act after which the pair has these labels."""
    standing = act_at(session, pair.id, pair.standing_version)
    act = replace(unchanged_event(pair, standing, author), claim_labels=labels, claim=claim)
    if has_wrong(labels) and not is_wrong(judgement(pair.decision, pair.enriches)):
        wrong = replace(
            act, decision="wrong", corrected_caption=None, suggestion_id=None, enriches=False,
            sampling=sampling,
        )  # fmt: skip
        return Change(wrong, author, act.created_at)
    if has_wrong(pair.claim_labels) and not has_wrong(labels) and pair.decision == "wrong":
        return _before_labels(session, standing, act)
    return Change(act, pair.decided_by, pair.decided_at)


def _before_labels(session: Session, standing: VerdictRow | None, act: VerdictEvent) -> Change:
    """The act with the decision that was in effect before the first claim was labelled wrong."""
    before = standing
    while before is not None and has_wrong(before.claim_labels):
        before = act_at(session, before.pair_id, before.before)
    if before is None:
        return Change(
            replace(act, decision=None, corrected_caption=None, note="", sampling=""), None, None
        )
    act = replace(
        act, decision=before.decision, corrected_caption=before.corrected_caption,
        suggestion_id=before.suggestion_id, enriches=before.enriches, sampling=before.sampling,
    )  # fmt: skip
    states = acts_by_version(session, [act.pair_id])
    return Change(act, *decider_of(states, before))
