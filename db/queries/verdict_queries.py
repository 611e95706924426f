"""Verdicts: the decisions of curators, as an append-only history of acts.

Each act is a row of `verdicts`; the pair's row holds the current state. Both are written in one
transaction, guarded by the version that the curator saw:

    UPDATE pairs SET …, verdict_version = 4 WHERE id = 7 AND verdict_version = 3

If someone else was faster, no row matches and nothing is written. `add_verdict`, `undo_last` and
`redo_last` commit before they return: what they return is on disk.

Verdicts given together share a batch id: one undo reverts all of them that are still in effect,
one redo restores them. A batch of more than `AT_ONCE` is given, undone and redone in several
transactions, so that nobody waits for long; if it is interrupted, the same call goes on.

Undo walks back along the versions in effect. A pair decided *correct* (1), then *drop* (2):

    version  act           decision  replaces  standing_version
    1        correct       correct   0         1
    2        drop          drop      1         2
    3        undo of 2     correct   2         1
    4        undo of 1     NULL      1         0        undecided again
    5        redo of 1     correct   0         1

A bulk edit (`rewrite`) says nothing about the picture, so it is not a verdict: an undecided pair
stays undecided, with the edited text in `corrected_caption`; a pair that a person has judged
correct, or corrected, keeps that decision and its author. Nor does a verdict without a text of its
own (*unsure*, *abstract*, *drop*) take an edit back: `edited_texts` finds it below such a verdict.

A label of a claim (`add_claim_label`) is an act as well. The first one that says wrong decides the
caption, as *wrong*; if it is taken back, the decision before it is in effect again. Labels of right
claims decide nothing, however many there are. All labels in effect are in each act, so that undo
and redo, conflicts and history are those of verdicts.
"""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Select,
    bindparam,
    exists,
    func,
    insert,
    or_,
    select,
    true,
    update,
)
from sqlalchemy.orm import Session, aliased

from db.authors import (
    EDIT,
    NEW_PICTURE,
    authors_of,
    edit_author,
    is_edit,
    is_label_file,
    is_named_label,
    is_rule,
    label_author,
    label_prefix,
    restore_author,
)
from db.column_types import now
from db.decisions import DECISIONS, SAMPLINGS, is_wrong, judgement
from db.errors import MissingRow, PairState, VersionConflict
from db.models import Pair, Suggestion, Verdict
from db.queries import opinion_queries
from db.queries.blind_review import may_know_pair, pair_columns, several_judge
from db.queries.claim_labels import (
    ClaimLabel,
    LabelRecords,
    has_wrong,
    labels_in,
    to_store,
    without_wrong,
)
from db.queries.statements import (
    any_of,
    check_text,
    chunks,
    columns_of,
    find_record,
    lock_pairs,
    read_records,
    run,
    table_of,
)
from db.texts import is_blank


@dataclass(frozen=True)
class VerdictEvent:
    """A verdict, an undo or a redo. `decision` is the one in effect after it (None: undecided).
    `undoes` and `redoes` are the versions that an undo reverts and a redo restores."""

    pair_id: int
    version: int
    decision: str | None
    corrected_caption: str | None
    suggestion_id: int | None
    author: str
    created_at: datetime
    replaces: int
    standing_version: int
    undoes: int | None = None
    redoes: int | None = None
    batch: str | None = None
    #: A boost was accepted: the original caption is not an error.
    enriches: bool = False
    #: The curator's note on the decision in effect after this act.
    note: str = ""
    #: How the pair had come to be shown; see `db.decisions.SAMPLINGS`.
    sampling: str = ""
    #: The labels of claims after this act, and where the claim starts that it is about; None: it is
    #: about the caption.
    claim_labels: LabelRecords = None
    claim: int | None = None
    #: The earlier version whose state this act brings back (0: undecided).
    restores: int | None = None
    #: Of an undo or a redo that may be requested twice: the id that its page has given it.
    request_id: str | None = None

    @property
    def before(self) -> int:
        """The version from which the act took what it did not decide itself."""
        return self.replaces if self.restores is None else self.restores


@dataclass(frozen=True, kw_only=True)
class VerdictRow(VerdictEvent):
    """An act as stored."""

    id: int
    #: Number of acts in an undo or a redo: those of a batch are reverted or restored together.
    together: int = 1
    #: The oldest act that has been undone or redone, if its batch may have older ones.
    rest_before: int | None = None
    #: Of an undo: acts of its batch that later verdicts have replaced.
    left_alone: int = 0

    @property
    def is_edit(self) -> bool:
        return is_edit(self.author)


@dataclass(frozen=True)
class BatchOutcome:
    """The result of verdicts given together: pairs written, and pairs skipped because their version
    had changed."""

    written: tuple[int, ...]
    passed_over: tuple[int, ...]


@dataclass(frozen=True)
class Rewrite:
    """The new text of a pair, edited from its text at `version`."""

    pair_id: int
    version: int
    text: str


@dataclass(frozen=True)
class _Change:
    """An act, with author and time of the decision in effect after it."""

    act: VerdictEvent
    decided_by: str | None
    decided_at: datetime | None


_COLUMNS = (Verdict.id, *columns_of(Verdict, VerdictEvent))
_VERSIONS = select(Pair.id, Pair.verdict_version, Pair.standing_version, Pair.claim_labels).where(
    Pair.id.in_(any_of("pair_ids"))
)
_VERSION = select(*_COLUMNS).where(
    Verdict.pair_id == bindparam("pair_id"), Verdict.version == bindparam("version")
)
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
#: The act that decides a pair, if the pair is still at the version before it.
_DECIDE = update(table_of(Pair)).where(
    table_of(Pair).c.id == bindparam("of_pair"),
    table_of(Pair).c.verdict_version == bindparam("of_version"),
)
_ADD_ACT = insert(table_of(Verdict)).returning(table_of(Verdict).c.id)

#: Acts of a batch that are written in one transaction: about 0.1 s of processor time.
AT_ONCE = 500
#: Pairs that are read per statement.
_AT_ONCE = 1000
#: On PostgreSQL another curator may intervene between finding an act and undoing it; then retry.
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
    _check(decision, corrected_caption, author, note, sampling)
    if pair_id not in (versions := _versions(session, [pair_id])):
        raise _missing(pair_id)
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
    earlier = _version(session, pair_id, expected_version + 1)
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
    pair = session.execute(select(*_STATE).where(Pair.id == pair_id)).one_or_none()
    if pair is None:
        raise _missing(pair_id)
    start, end = claim
    if not 0 <= start < end <= len(pair.caption):
        raise ValueError(f"pair {pair_id} has no characters {start} to {end}")
    if pair.verdict_version == expected_version:
        others = [label for label in labels_in(pair.claim_labels) if label.start != start]
        text = pair.caption[start:end]
        new = [] if is_right is None else [ClaimLabel(start, end, text, is_right, author)]
        act = _label(session, pair, to_store([*others, *new]), start, author, sampling)
        if (row := _write_change(session, act, settles=False)) is not None:
            return row
    earlier = _version(session, pair_id, expected_version + 1)
    if earlier is not None and (earlier.author, earlier.claim) == (author, start):
        labels = {label.start: label.is_right for label in labels_in(earlier.claim_labels)}
        if earlier.undoes is None and earlier.redoes is None and labels.get(start) == is_right:
            return earlier
    raise VersionConflict(expected_version, pair_state(session, pair_id))


_STATE = (
    Pair.id, Pair.caption, Pair.verdict_version, Pair.standing_version, Pair.decision,
    Pair.corrected_caption, Pair.enriches, Pair.note, Pair.sampling, Pair.decided_by,
    Pair.decided_at, Pair.claim_labels,
)  # fmt: skip


def _label(
    session: Session, pair: Any, labels: LabelRecords, claim: int, author: str, sampling: str
) -> _Change:
    """The act after which the pair has these labels."""
    standing = _version(session, pair.id, pair.standing_version)
    act = replace(_unchanged_event(pair, standing, author), claim_labels=labels, claim=claim)
    if has_wrong(labels) and not is_wrong(judgement(pair.decision, pair.enriches)):
        wrong = replace(
            act, decision="wrong", corrected_caption=None, suggestion_id=None, enriches=False,
            sampling=sampling,
        )  # fmt: skip
        return _Change(wrong, author, act.created_at)
    if has_wrong(pair.claim_labels) and not has_wrong(labels) and pair.decision == "wrong":
        return _before_labels(session, standing, act)
    return _Change(act, pair.decided_by, pair.decided_at)


def _unchanged_event(pair: Any, standing: VerdictRow | None, author: str) -> VerdictEvent:
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
    pair = session.execute(select(*_STATE).where(Pair.id == pair_id)).one_or_none()
    if pair is None:
        raise _missing(pair_id)
    if pair.verdict_version == expected_version and pair.decision is None:
        act = replace(_unchanged_event(pair, None, author), note=note)
        if (row := _write_change(session, _Change(act, None, None), settles=False)) is not None:
            return row
    earlier = _version(session, pair_id, expected_version + 1)
    if earlier is not None:
        request = None, earlier.corrected_caption
        if _is_answer(earlier, request, (author, note, earlier.suggestion_id)):
            return earlier
    raise VersionConflict(expected_version, pair_state(session, pair_id))


def _before_labels(session: Session, standing: VerdictRow | None, act: VerdictEvent) -> _Change:
    """The act with the decision that was in effect before the first claim was labelled wrong."""
    before = standing
    while before is not None and has_wrong(before.claim_labels):
        before = _version(session, before.pair_id, before.before)
    if before is None:
        return _Change(
            replace(act, decision=None, corrected_caption=None, note="", sampling=""), None, None
        )
    act = replace(
        act, decision=before.decision, corrected_caption=before.corrected_caption,
        suggestion_id=before.suggestion_id, enriches=before.enriches, sampling=before.sampling,
    )  # fmt: skip
    states = _states(session, [act.pair_id])
    return _Change(act, *_decider(states, before))


@dataclass(frozen=True)
class NewVerdict:
    """A verdict on a pair as seen at its version. `caption`: of a *correction*."""

    pair_id: int
    version: int
    decision: str
    caption: str | None = None
    note: str = ""
    sampling: str = ""


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
        _check(request.decision, request.caption, author, request.note, request.sampling)
    batch, when = batch or uuid.uuid4().hex, now()
    request_of = {request.pair_id: request for request in requests}
    lock_pairs(session, list(request_of))
    edits = edited_texts(session, [r.pair_id for r in requests if r.decision == "correct"])
    versions = _versions(session, list(request_of))
    if missing_ids := request_of.keys() - versions.keys():
        raise _missing(min(missing_ids))
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
        changes.append(_Change(act, author, when))
    _write_all(session, changes)
    session.commit()
    return _report(changes, request_of)


def copy_acts(
    session: Session,
    acts_of: Mapping[int, Sequence[VerdictEvent]],
    versions: Mapping[int, int],
    *,
    batch: str,
) -> BatchOutcome:
    """Write acts that were given in another database, by pair and in their order, each pair as seen
    at its version. Authors, times, samplings and request ids are theirs; they are one batch. One
    transaction; commits. Pairs whose version has changed are skipped.

    Raises ValueError for an invalid act; then nothing is written.
    """
    for act in (act for acts in acts_of.values() for act in acts):
        if act.decision is not None:
            _check(act.decision, act.corrected_caption, act.author, act.note, act.sampling)
    lock_pairs(session, list(acts_of))
    changes, when = [], now()
    for pair in session.execute(select(*_STATE).where(Pair.id.in_(acts_of))):
        if pair.verdict_version != versions[pair.id]:
            continue
        version, standing = pair.verdict_version, pair.standing_version
        decision, decider = pair.decision, (pair.decided_by, pair.decided_at)
        for act in acts_of[pair.id]:
            copy = replace(
                act, pair_id=pair.id, version=version + 1, replaces=standing, batch=batch,
                standing_version=version + 1, created_at=min(act.created_at, when),
            )  # fmt: skip
            # Bulk edits and labels of claims leave the decision with whoever took it.
            is_other = not is_edit(act.author) and (act.claim is None or act.decision != decision)
            if is_other or act.decision is None:
                decider = (act.author, copy.created_at) if act.decision else (None, None)
            changes.append(_Change(copy, *decider))
            version = standing = copy.version
            decision = act.decision
    _write_all(session, changes)
    session.commit()
    return _report(changes, acts_of)


def acts_after(session: Session, last_id: int, pair_ids: Sequence[int]) -> list[VerdictRow]:
    """The acts on these pairs that were given after the one with this id, in their order."""
    query = select(*_COLUMNS).where(Verdict.id > last_id, Verdict.pair_id.in_(pair_ids))
    return read_records(session, VerdictRow, query.order_by(Verdict.pair_id, Verdict.version))


def acts_of_batch(session: Session, batch: str, pair_ids: Sequence[int]) -> list[VerdictRow]:
    """The acts of a batch on these pairs, with their undos and redos, in their order."""
    query = select(*_COLUMNS).where(Verdict.batch == batch, Verdict.pair_id.in_(pair_ids))
    return read_records(session, VerdictRow, query.order_by(Verdict.pair_id, Verdict.version))


def not_undone(acts: Sequence[VerdictRow]) -> list[VerdictRow]:
    """Those of the acts on one pair, all in their order, that are neither undone nor undo one."""
    act_of = {act.version: act for act in acts if act.undoes is None and act.redoes is None}
    standing = dict(act_of)
    for act in acts:
        if act.undoes is not None:
            standing.pop(act.undoes, None)
        elif act.redoes in act_of:
            standing[act.redoes] = act_of[act.redoes]
    return [standing[version] for version in sorted(standing)]


def _versions(
    session: Session, pair_ids: Sequence[int]
) -> dict[int, tuple[int, int, LabelRecords]]:
    """The current and the standing version of each of these pairs, and the labels of its claims."""
    return {
        row.id: (row.verdict_version, row.standing_version, row.claim_labels)
        for part in chunks(pair_ids, _AT_ONCE)
        for row in run(session, _VERSIONS, pair_ids=part)
    }


def _report(changes: Sequence[_Change], pair_ids: Iterable[int]) -> BatchOutcome:
    """`pair_ids`: all that were wanted, in their order."""
    done_ids = {change.act.pair_id: None for change in changes}
    return BatchOutcome(tuple(done_ids), tuple(id for id in pair_ids if id not in done_ids))


def _write_all(session: Session, changes: Sequence[_Change]) -> None:
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


def pairs_of_batch(session: Session, pair_ids: Sequence[int], author: str, batch: str) -> set[int]:
    """Those of the pairs that have got the author's verdict of this batch."""
    query = select(Verdict.pair_id).where(Verdict.author == author, Verdict.batch == batch)
    return {
        pair_id
        for part in chunks(pair_ids, _AT_ONCE)
        for pair_id in session.scalars(query.where(Verdict.pair_id.in_(part)))
    }


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
    changes: list[_Change] = []
    for part in chunks(edits, _AT_ONCE):
        rewritten = _rewritten(session, part, who, when, batch)
        _write_all(session, rewritten)
        changes += rewritten
    session.commit()
    return _report(changes, (edit.pair_id for edit in edits))


def _rewritten(
    session: Session, edits: Sequence[Rewrite], who: str, when: datetime, batch: str
) -> list[_Change]:
    """The acts for those pairs whose version has not changed."""
    states = {
        row.id: row
        for row in session.execute(
            select(*_STATE).where(Pair.id.in_([edit.pair_id for edit in edits]))
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
        changes.append(_Change(act, pair.decided_by, pair.decided_at))
    return changes


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
    states = _states(session, list(versions))
    replaced_ids = {
        pair_id
        for pair_id, version in states
        if states[pair_id, version].author == NEW_PICTURE and version > versions[pair_id]
    }
    changes = []
    for pair in session.execute(select(*_STATE).where(Pair.id.in_(versions))):
        state = states.get((pair.id, versions[pair.id]))
        decided_by, decided_at = _decider(states, state)
        act = VerdictEvent(
            pair_id=pair.id,
            version=pair.verdict_version + 1,
            decision=state.decision if state else None,
            corrected_caption=state.corrected_caption if state else None,
            suggestion_id=state.suggestion_id if state else None,
            author=who,
            created_at=when,
            replaces=pair.standing_version,
            standing_version=pair.verdict_version + 1,
            batch=batch,
            enriches=state.enriches if state else False,
            note=state.note if state else "",
            sampling=state.sampling if state else "",
            claim_labels=state.claim_labels if state else None,
            restores=versions[pair.id],
        )
        is_same = all(getattr(pair, name) == getattr(act, name) for name in _OF_STATE)
        if not (is_same and pair.decided_by == decided_by) and pair.id not in replaced_ids:
            changes.append(_Change(act, decided_by, decided_at))
    _write_all(session, changes)
    session.commit()
    return _report(changes, versions)


#: What an act leaves in effect.
_OF_STATE = ("decision", "corrected_caption", "enriches", "note", "sampling", "claim_labels")


def edited_texts(session: Session, pair_ids: Sequence[int]) -> dict[int, str]:
    """The texts that bulk edits in effect have given to pairs, by pair; the others are left out.

    A verdict says nothing about the wording of such a text, so it is found below later verdicts as
    well. An edit of a correction is part of the correction, and goes with it.
    """
    texts: dict[int, str] = {}
    for part in chunks(pair_ids, _AT_ONCE):
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


def has_decided(session: Session, author: str) -> bool:
    """Whether the person or the rule has ever given a verdict, in any dataset, even one that was
    taken back or replaced. Bulk edits are not verdicts."""
    query = select(Verdict.id).where(Verdict.author == author).limit(1)
    return not is_edit(author) and session.execute(query).first() is not None


def first_deciders(session: Session, at_most: int) -> list[str]:
    """The people and rules of `has_decided`, in the database's order; one step in an index each,
    however many verdicts there are."""
    names: list[str] = []
    last = ""
    while len(names) < at_most:
        query = select(Verdict.author).where(Verdict.author > last)
        author = session.execute(query.order_by(Verdict.author).limit(1)).scalar()
        if author is None:
            break
        last = author
        if not is_edit(author):
            names.append(author)
    return names


def undo_last(
    session: Session,
    dataset_id: int,
    author: str,
    only: str = "",
    rest_of: VerdictRow | None = None,
    request_id: str | None = None,
) -> VerdictRow | None:
    """Undo the newest act of `author` still in effect: a verdict, a bulk edit or a choice among
    near duplicates. Repeated calls go further back. `only`: undo only acts of this kind, EDIT or
    RESTORE. `rest_of`: the answer of a call that left a rest of its batch (`rest_before`), which is
    undone now. `request_id`: a second call with the same one by the same author undoes nothing more
    than the first was to undo, and returns its row: a page that got no answer asks again.

    The state before the act is restored. Acts that others have overridden are no longer in effect
    and are skipped: an undo never changes another curator's decision. Returns the undo's own row,
    None if there is nothing to undo. Commits; needs a `writing()` session.
    """
    authors = (only + author,) if only else authors_of(author)
    newest_first = (
        select(*_COLUMNS, Pair.verdict_version.label("current_version"))
        .join(Pair, Pair.id == Verdict.pair_id)
        .where(*_is_in_effect(dataset_id, authors))
        .order_by(Verdict.id.desc())
    )
    return _revert_batch(session, newest_first, author, rest_of, request_id)


def list_undoable(session: Session, dataset_id: int, author: str, most: int) -> list[VerdictRow]:
    """What repeated calls of `undo_last` would undo, in that order: the newest act of each batch,
    with how many it has (`together`)."""
    found: list[VerdictRow] = []
    batches: list[str] = []
    conditions = _is_in_effect(dataset_id, authors_of(author))
    newest_first = (
        select(*_COLUMNS)
        .join(Pair, Pair.id == Verdict.pair_id)
        .where(*conditions)
        .order_by(Verdict.id.desc())
        .limit(most)
    )
    while len(found) < most:
        others = newest_first.where(
            Verdict.batch.is_(None) | Verdict.batch.not_in(batches),
            Verdict.id < found[-1].id if found else true(),
        )
        rows = list(read_records(session, VerdictRow, others))
        for row in rows:
            if row.batch is None:
                found.append(row)
            elif row.batch not in batches:
                batches.append(row.batch)
                of_batch = select(func.count()).select_from(Verdict).join(
                    Pair, Pair.id == Verdict.pair_id
                ).where(*conditions, Verdict.batch == row.batch)  # fmt: skip
                count = session.execute(of_batch).scalar_one()
                found.append(replace(row, together=count))
        if len(rows) < most:
            break
    return found[:most]


def undo_batch(
    session: Session, dataset_id: int, batch: str, rest_of: VerdictRow | None = None
) -> VerdictRow | None:
    """Undo the acts of a batch that are in effect, whoever is their author. A batch with several
    acts on a pair takes as many calls. Otherwise like `undo_last`."""
    newest_first = (
        select(*_COLUMNS, Pair.verdict_version.label("current_version"))
        .join(Pair, Pair.id == Verdict.pair_id)
        .where(Verdict.batch == batch, *_is_standing(dataset_id))
        .order_by(Verdict.id.desc())
    )
    return _revert_batch(session, newest_first, "", rest_of, None)


def newest_label(session: Session, dataset_id: int, file: str) -> tuple[str, str] | None:
    """The author and the batch of the newest label of this file that is in effect."""
    is_of_file = or_(
        Verdict.author == label_author(file),
        Verdict.author.startswith(label_prefix(file), autoescape=True),
    )
    newest = (
        select(Verdict.author, Verdict.batch)
        .join(Pair, Pair.id == Verdict.pair_id)
        .where(is_of_file, *_is_standing(dataset_id))
        .order_by(Verdict.id.desc())
        .limit(1)
    )
    row = session.execute(newest).one_or_none()
    return None if row is None else (row.author, row.batch)


def _is_in_effect(dataset_id: int, authors: Sequence[str]) -> tuple[ColumnElement[bool], ...]:
    """An act of these authors is in effect, and no undo or redo."""
    return (Verdict.author.in_(authors), *_is_standing(dataset_id))


def _is_standing(dataset_id: int) -> tuple[ColumnElement[bool], ...]:
    return (
        Verdict.undoes.is_(None),
        Verdict.redoes.is_(None),
        Verdict.version == Pair.standing_version,
        Pair.dataset_id == dataset_id,
    )


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
    for part in chunks(pair_ids, _AT_ONCE):
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
            changes.append(_Change(act, None, None))
        _write_all(session, changes)


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
        select(*_COLUMNS, Pair.verdict_version.label("current_version"))
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
        versions = _versions(session, [act.pair_id for act in acts])
        acts = [
            act
            for act in acts
            if act.pair_id in versions and versions[act.pair_id][0] == act.current_version
        ]
        if not acts:
            continue
        states = _states(session, [act.pair_id for act in acts])
        when = now()
        _write_all(session, [_revert(states, act, when, request_id) for act in acts])
        session.commit()
        first = _version(session, acts[0].pair_id, acts[0].current_version + 1)
        assert first is not None, "it was written just now"
        return replace(first, together=len(acts), rest_before=oldest if is_full else None)
    assert newest is not None
    raise VersionConflict(newest.current_version, pair_state(session, newest.pair_id))


def _find_request(session: Session, author: str, request_id: str | None) -> VerdictRow | None:
    """The undo or redo that an earlier request with this id has written; None if there is none."""
    if request_id is None:
        return None
    query = (
        select(*_COLUMNS)
        .where(Verdict.request_id == request_id, Verdict.author.in_(authors_of(author)))
        .order_by(Verdict.id.desc())
        .limit(1)
    )
    row = find_record(session, VerdictRow, query)
    # Its batch may have a rest: the request may have been interrupted.
    return row and replace(row, rest_before=None if row.batch is None else row.id)


def _states(session: Session, pair_ids: Sequence[int]) -> dict[tuple[int, int], VerdictRow]:
    """All acts on these pairs, by pair and version."""
    of_pairs = select(*_COLUMNS).where(Verdict.pair_id.in_(pair_ids))
    return {(row.pair_id, row.version): row for row in read_records(session, VerdictRow, of_pairs)}


def _decider(
    states: Mapping[tuple[int, int], VerdictRow], act: VerdictRow | None
) -> tuple[str | None, datetime | None]:
    """Who took the decision that an act left in effect, and when. Bulk edits and verdicts that were
    brought back decide nothing, nor do labels of claims that leave the decision as it was."""
    while act is not None:
        before = states.get((act.pair_id, act.before))
        was_decided = before is not None and act.decision == before.decision
        is_label = act.claim is not None and was_decided
        if not is_edit(act.author) and not is_label and act.restores is None:
            break
        act = before
    return (None, None) if act is None or act.decision is None else (act.author, act.created_at)


def _revert(
    states: dict[tuple[int, int], VerdictRow], act: Any, when: datetime, request_id: str | None
) -> _Change:
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
        decision=state.decision if state else None,
        corrected_caption=state.corrected_caption if state else None,
        suggestion_id=state.suggestion_id if state else None,
        author=act.author,
        created_at=when,
        standing_version=act.replaces if act.undoes is None else act.undoes,
        batch=act.batch,
        enriches=state.enriches if state else False,
        note=state.note if state else "",
        sampling=state.sampling if state else "",
        claim_labels=state.claim_labels if state else None,
        claim=act.claim,
        request_id=request_id,
        **versions,
    )
    return _Change(reverting, *_decider(states, state))


def history(session: Session, pair_id: int) -> list[VerdictRow]:
    """Every act on a pair, oldest first; none if the reader may not know them."""
    if not may_know_pair(session, pair_id):
        return []
    query = select(*_COLUMNS).where(Verdict.pair_id == pair_id)
    return read_records(session, VerdictRow, query.order_by(Verdict.version))


def pair_state(session: Session, pair_id: int) -> PairState:
    """The current state of a pair as the reader sees it. Raises `MissingRow`."""
    fields = (
        "pair_id", "verdict_version", "decision", "corrected_caption", "decided_by", "decided_at",
    )  # fmt: skip
    query = select(*pair_columns(session, fields)).where(Pair.id == pair_id)
    pair = session.execute(query).one_or_none()
    if pair is None:
        raise _missing(pair_id)
    return PairState(*pair)


def _write(session: Session, act: VerdictEvent, settles: bool) -> VerdictRow | None:
    """`_write_change`, of an act that decides."""
    return _write_change(session, _Change(act, act.author, act.created_at), settles)


def _write_change(session: Session, change: _Change, settles: bool) -> VerdictRow | None:
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


def _missing(pair_id: int) -> MissingRow:
    return MissingRow(f"There is no pair {pair_id}; its dataset may have been deleted.")


def _version(session: Session, pair_id: int, version: int) -> VerdictRow | None:
    return find_record(session, VerdictRow, _VERSION, pair_id=pair_id, version=version)


def _check(
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
