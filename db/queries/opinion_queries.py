"""Each curator's own opinion on a pair, for agreement and for disagreements to be settled; and the
verdict history that is saved when a dataset is deleted.

Opinions are derived from the verdicts and updated in the same transaction (`keep`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import Any

from sqlalchemy import Row, Select, bindparam, case, delete, func, select
from sqlalchemy.orm import Session

from db.decisions import judgement
from db.models import Opinion, Pair, Verdict
from db.queries.blind_review import may_know
from db.queries.claim_labels import has_wrong
from db.queries.statements import (
    any_of,
    columns_of,
    in_dataset,
    read_records,
    record,
    run,
    save_rows,
)

#: What is kept of a verdict, an undo or a redo when its dataset is deleted, in this order.
_OF_ACT = (
    Pair.external_id, Pair.image_path, Pair.caption, Verdict.version, Verdict.decision,
    Verdict.corrected_caption, Verdict.author, Verdict.created_at, Verdict.undoes, Verdict.redoes,
    Verdict.batch, Verdict.note, Verdict.claim, Verdict.claim_labels,
)  # fmt: skip


def lock_dataset_pairs(session: Session, dataset_id: int) -> None:
    """Block verdicts on the dataset's pairs until this transaction ends. A no-op on SQLite, which
    has a single writer."""
    if session.get_bind().dialect.name == "postgresql":
        pairs = select(Pair.id).where(Pair.dataset_id == dataset_id).order_by(Pair.id)
        locked_pairs = pairs.with_for_update().subquery()
        session.execute(select(func.count()).select_from(locked_pairs))


def count_acts(session: Session, dataset_id: int) -> int:
    """The number of acts on the dataset's pairs."""
    query = select(func.count()).select_from(Verdict).join(Pair, Pair.id == Verdict.pair_id)
    return session.execute(query.where(Pair.dataset_id == dataset_id)).scalar_one()


def iterate_acts(session: Session, dataset_id: int) -> Iterator[dict[str, Any]]:
    """All acts in chronological order, each with its pair; a thousand at a time in memory."""
    after = 0
    while rows := session.execute(
        select(Verdict.id, *_OF_ACT)
        .join(Pair, Pair.id == Verdict.pair_id)
        .where(Pair.dataset_id == dataset_id, Verdict.id > after)
        .order_by(Verdict.id)
        .limit(1000)
    ).all():
        for row in rows:
            yield {name: value for name, value in row._asdict().items() if name != "id"}
        after = rows[-1].id


@dataclass(frozen=True)
class OpinionRow:
    """`settles`: given by an adjudicator to end a disagreement."""

    pair_id: int
    author: str
    decision: str
    corrected_caption: str | None
    settles: bool
    decided_at: datetime
    enriches: bool = False

    @property
    def judgement(self) -> str | None:
        """What the opinion says about the original caption; see `db.decisions.judgement`."""
        return judgement(self.decision, self.enriches)


@dataclass(frozen=True)
class DisputedPair:
    """A pair on which curators disagree."""

    pair_id: int
    external_id: str
    caption: str
    opinions: tuple[OpinionRow, ...]


_COLUMNS = columns_of(Opinion, OpinionRow)

#: PostgreSQL has no max() of booleans.
_SETTLES = case((Opinion.settles, 1), else_=0)


_ACTS_OF_AUTHOR = (
    select(
        Verdict.pair_id, Verdict.version, Verdict.decision, Verdict.corrected_caption,
        Verdict.created_at, Verdict.undoes, Verdict.redoes, Verdict.enriches, Verdict.claim,
        Verdict.claim_labels,
    )
    .where(Verdict.pair_id.in_(any_of("pair_ids")), Verdict.author == bindparam("author"))
    .order_by(Verdict.pair_id, Verdict.version)
)  # fmt: skip


def keep(session: Session, pair_ids: Sequence[int], author: str, settles: bool = False) -> None:
    """Update the author's opinion on each of the pairs to the newest of their acts that is not
    undone."""
    acts = run(session, _ACTS_OF_AUTHOR, pair_ids=pair_ids, author=author)
    newest = {
        pair_id: last
        for pair_id, of_pair in groupby(acts, attrgetter("pair_id"))
        if (last := _newest(list(of_pair), author)) is not None
    }
    opinions = [
        OpinionRow(
            pair_id, author, act.decision, act.corrected_caption, settles, act.created_at,
            act.enriches,
        )
        for pair_id, act in newest.items()
    ]  # fmt: skip
    save_rows(session, Opinion, ("pair_id", "author"), [vars(opinion) for opinion in opinions])
    without = [pair_id for pair_id in pair_ids if pair_id not in newest]
    if without:
        of_author = (Opinion.pair_id.in_(without), Opinion.author == author)
        session.execute(delete(Opinion).where(*of_author))


def _newest(acts: Sequence[Row[*tuple[Any, ...]]], author: str) -> Row[*tuple[Any, ...]] | None:
    """The newest of an author's acts on a pair that is an opinion and is not undone."""
    act_of = {act.version: act for act in acts if act.undoes is None and act.redoes is None}
    taken_back: set[int] = set()
    for act in acts:
        if act.undoes is not None:
            taken_back.add(act.undoes)
        elif act.redoes is not None:
            taken_back.discard(act.redoes)
    standing = [act for version, act in act_of.items() if version not in taken_back]
    # A label is an opinion on the caption if the author says that a claim is wrong; a note alone is
    # none.
    newest = len(standing) - 1
    standing = [
        act
        for index, act in enumerate(standing)
        if (act.claim is None and act.decision is not None)
        or (index == newest and act.decision == "wrong" and has_wrong(act.claim_labels, author))
    ]
    return standing[-1] if standing else None


def of_pair(session: Session, pair_id: int) -> list[OpinionRow]:
    """All opinions on a pair, oldest first."""
    query = select(*_COLUMNS).where(Opinion.pair_id == pair_id).order_by(Opinion.decided_at)
    return read_records(session, OpinionRow, query)


def shared_opinions(session: Session, dataset_id: int) -> Iterator[list[OpinionRow]]:
    """The opinions on each pair that several curators have judged, without settling ones."""
    several = (
        select(Opinion.pair_id)
        .join(Pair, Pair.id == Opinion.pair_id)
        .where(in_dataset(dataset_id), may_know(session, dataset_id), Opinion.settles.is_(False))
        .group_by(Opinion.pair_id)
        .having(func.count() > 1)
        .subquery()
    )
    rows = session.execute(
        select(*_COLUMNS)
        .join(several, several.c.pair_id == Opinion.pair_id)
        .where(Opinion.settles.is_(False))
        .order_by(Opinion.pair_id, Opinion.author)
    )
    together: list[OpinionRow] = []
    for row in rows:
        opinion = record(OpinionRow, row)
        if together and together[0].pair_id != opinion.pair_id:
            yield together
            together = []
        together.append(opinion)
    if together:
        yield together


def disputed_ids(session: Session, dataset_id: int) -> Select[int]:
    """Ids of pairs on which curators disagree, in verdict or in corrected caption, and which no one
    has settled."""
    differ = (func.count(Opinion.decision.distinct()) > 1) | (
        func.count(Opinion.corrected_caption.distinct()) > 1
    )
    return (
        select(Opinion.pair_id)
        .join(Pair, Pair.id == Opinion.pair_id)
        .where(in_dataset(dataset_id), may_know(session, dataset_id))
        .group_by(Opinion.pair_id)
        .having(differ, func.max(_SETTLES) == 0)
    )


def count_disputed(session: Session, dataset_id: int) -> int:
    disputes = disputed_ids(session, dataset_id).subquery()
    return session.execute(select(func.count()).select_from(disputes)).scalar_one()


def disputed_pairs(session: Session, dataset_id: int) -> list[DisputedPair]:
    """The first hundred unsettled disagreements for an adjudicator, in import order."""
    ids = disputed_ids(session, dataset_id).order_by(Opinion.pair_id).limit(100).subquery()
    rows = session.execute(
        select(*_COLUMNS, Pair.external_id, Pair.caption)
        .join(ids, ids.c.pair_id == Opinion.pair_id)
        .join(Pair, Pair.id == Opinion.pair_id)
        .order_by(Opinion.pair_id, Opinion.decided_at)
    ).all()
    names = {row.pair_id: (row.external_id, row.caption) for row in rows}
    by_pair: dict[int, list[OpinionRow]] = {}
    for row in rows:
        opinion = OpinionRow(*row[: len(_COLUMNS)])
        by_pair.setdefault(row.pair_id, []).append(opinion)
    return [DisputedPair(key, *names[key], tuple(opinions)) for key, opinions in by_pair.items()]
