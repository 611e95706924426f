"""The history of verdicts, which is only added to: each act is a row of `verdicts`, and the pair's
row holds the state after the newest. What curators decide is in `verdict_queries`, how acts are
taken back in `undo_queries`, how they are stored in `verdict_writing`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from db.authors import is_edit
from db.errors import MissingRow, PairState
from db.models import Pair, Verdict
from db.queries.blind_review import may_know_pair, pair_columns
from db.queries.claim_labels import LabelRecords
from db.queries.statements import columns_of, find_record, read_records


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


ACT_COLUMNS = (Verdict.id, *columns_of(Verdict, VerdictEvent))
_VERSION = select(*ACT_COLUMNS).where(
    Verdict.pair_id == bindparam("pair_id"), Verdict.version == bindparam("version")
)
#: Pairs that are read per statement.
READ_AT_ONCE = 1000


def history(session: Session, pair_id: int) -> list[VerdictRow]:
    """Every act on a pair, oldest first; none if the reader may not know them."""
    if not may_know_pair(session, pair_id):
        return []
    query = select(*ACT_COLUMNS).where(Verdict.pair_id == pair_id)
    return read_records(session, VerdictRow, query.order_by(Verdict.version))


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


def acts_by_version(session: Session, pair_ids: Sequence[int]) -> dict[tuple[int, int], VerdictRow]:
    """All acts on these pairs, by pair and version."""
    of_pairs = select(*ACT_COLUMNS).where(Verdict.pair_id.in_(pair_ids))
    return {(row.pair_id, row.version): row for row in read_records(session, VerdictRow, of_pairs)}


def act_at(session: Session, pair_id: int, version: int) -> VerdictRow | None:
    return find_record(session, VerdictRow, _VERSION, pair_id=pair_id, version=version)


def decider_of(
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


def pair_state(session: Session, pair_id: int) -> PairState:
    """The current state of a pair as the reader sees it. Raises `MissingRow`."""
    fields = (
        "pair_id", "verdict_version", "decision", "corrected_caption", "decided_by", "decided_at",
    )  # fmt: skip
    query = select(*pair_columns(session, fields)).where(Pair.id == pair_id)
    pair = session.execute(query).one_or_none()
    if pair is None:
        raise missing_pair(pair_id)
    return PairState(*pair)


def missing_pair(pair_id: int) -> MissingRow:
    return MissingRow(f"There is no pair {pair_id}; its dataset may have been deleted.")
