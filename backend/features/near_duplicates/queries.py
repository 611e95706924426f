"""Groups of near duplicates among the pictures of a dataset."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Select, case, column, func, or_, select, table
from sqlalchemy.orm import Session

from backend.features.near_duplicates.tables import NearDuplicate
from db.decisions import NOT_EXPORTED
from db.models import Pair
from db.queries.blind_review import verdict_seen
from db.queries.ranking_queries import P_ERROR
from db.queries.statements import (
    check_number,
    chunks,
    in_dataset,
    read_records,
    replace_rows,
)

#: What `quality` has measured of pictures. Migration 0030 made the table: it is always there.
_SIGNALS = table(
    "picture_signals", column("pair_id"), column("pixels"), column("blurriness"), column("size")
)


@dataclass(frozen=True)
class DuplicateRow:
    """See `NearDuplicate`."""

    pair_id: int
    group_id: int
    similarity: float


@dataclass(frozen=True)
class MemberRow:
    """A pair of a group. `has_same_pixels`: as the group's first picture, None if the signals have
    not been measured; `sharpness`: higher is sharper; `size`: square root of the pixel count."""

    group_id: int
    pair_id: int
    external_id: str
    image_path: str
    caption: str
    p_error: float | None
    decision: str | None
    verdict_version: int
    similarity: float
    has_same_pixels: bool | None
    sharpness: float | None
    size: float | None
    enriches: bool = False
    #: Whether nobody has decided the pair; False as well if the verdict is hidden from the reader.
    is_open: bool = True


@dataclass(frozen=True)
class DuplicateCounts:
    """`groups`, of which `open` ones have an undecided pair and at least two pictures that stay.
    `pictures`: in all groups."""

    groups: int
    open: int
    pictures: int


def replace_groups(session: Session, dataset_id: int, rows: Sequence[DuplicateRow]) -> None:
    """Store the dataset's groups; replaces the previous ones."""
    for row in rows:
        check_number(row.similarity, "the similarity")
    replace_rows(session, dataset_id, NearDuplicate, [vars(row) for row in rows])


def group_ids(
    session: Session,
    dataset_id: int,
    only_open: bool = False,
    after: int | None = None,
    limit: int | None = None,
) -> list[int]:
    """Ids of groups in import order of their first pictures, following the group `after`."""
    query = _groups(session, dataset_id, only_open).order_by(NearDuplicate.group_id).limit(limit)
    if after is not None:
        query = query.where(NearDuplicate.group_id > after)
    return list(session.execute(query).scalars())


def groups_by_pair(session: Session, dataset_id: int) -> dict[int, int]:
    """The group of each pair that is in one, by the pair's id."""
    query = select(NearDuplicate.pair_id, NearDuplicate.group_id).join(
        Pair, Pair.id == NearDuplicate.pair_id
    )
    return dict(row.tuple() for row in session.execute(query.where(in_dataset(dataset_id))))


def members(session: Session, groups: Sequence[int]) -> list[MemberRow]:
    """All pairs of these groups: group by group, each group's first picture first, then by
    similarity; pairs of one picture together."""
    first, signals = _SIGNALS.alias("first"), _SIGNALS.alias("signals")
    verdict = verdict_seen(session)
    member_rows: list[MemberRow] = []
    for part in chunks(groups, 500):
        member_rows += read_records(
            session,
            MemberRow,
            select(
                NearDuplicate.group_id,
                NearDuplicate.pair_id,
                Pair.external_id,
                Pair.image_path,
                Pair.caption,
                P_ERROR,
                verdict.decision.label("decision"),
                Pair.verdict_version,
                NearDuplicate.similarity,
                (signals.c.pixels == first.c.pixels).label("has_same_pixels"),
                signals.c.blurriness.label("sharpness"),
                signals.c.size,
                verdict.enriches.label("enriches"),
                Pair.decision.is_(None).label("is_open"),
            )
            .join(Pair, Pair.id == NearDuplicate.pair_id)
            .outerjoin(signals, signals.c.pair_id == Pair.id)
            .outerjoin(first, first.c.pair_id == NearDuplicate.group_id)
            .where(NearDuplicate.group_id.in_(part), Pair.hidden.is_(False)),
        )
    places: dict[tuple[int, str], tuple[float, int]] = {}
    for row in member_rows:
        key = (row.group_id, row.image_path)
        places[key] = min(places.get(key, (0.0, row.pair_id)), (-row.similarity, row.pair_id))
    firsts = {(row.group_id, row.image_path) for row in member_rows if row.pair_id == row.group_id}
    return sorted(
        member_rows,
        key=lambda row: (
            row.group_id,
            (row.group_id, row.image_path) not in firsts,
            places[row.group_id, row.image_path],
            row.pair_id,
        ),
    )


def counts(session: Session, dataset_id: int) -> DuplicateCounts:
    """Counts of the dataset's groups and their pictures."""
    every = _groups(session, dataset_id).subquery()
    open_groups = _groups(session, dataset_id, only_open=True).subquery()
    pictures = (
        select(func.count(Pair.image_path.distinct()))
        .join(NearDuplicate, NearDuplicate.pair_id == Pair.id)
        .where(in_dataset(dataset_id))
    )
    return DuplicateCounts(
        session.execute(select(func.count()).select_from(every)).scalar_one(),
        session.execute(select(func.count()).select_from(open_groups)).scalar_one(),
        session.execute(pictures).scalar_one(),
    )


def _groups(session: Session, dataset_id: int, only_open: bool = False) -> Select[int]:
    query = (
        select(NearDuplicate.group_id)
        .join(Pair, Pair.id == NearDuplicate.pair_id)
        .where(in_dataset(dataset_id))
        .group_by(NearDuplicate.group_id)
    )
    if not only_open:
        return query
    verdict = verdict_seen(session, dataset_id)
    stays = or_(verdict.is_undecided, verdict.decision.not_in(NOT_EXPORTED))
    return query.having(
        func.count(case((stays, Pair.image_path)).distinct()) > 1,
        func.count() > func.count(Pair.decision),
    )
