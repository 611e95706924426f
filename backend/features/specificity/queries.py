"""Specificity of captions: the column of `pairs`, and the retrievals that it is computed from."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import bindparam, delete, exists, func, select, update
from sqlalchemy.orm import Session

from backend.features.specificity.tables import Retrieval
from db.blobs import decode_integers, encode_integers
from db.models import Pair
from db.queries.blind_review import pair_columns
from db.queries.pair_queries import PAIR_FIELDS, PairCaption, PairRow
from db.queries.statements import (
    check_number,
    in_dataset,
    lock_pairs,
    read_records,
    run,
    save_rows,
    set_columns,
)

#: Below this mean cosine a picture's neighbours are dissimilar, which makes retrieval easy.
EASY = 0.5


@dataclass(frozen=True)
class RetrievalRow:
    """`specificity`: log-probability, at most 0, higher is better; `rank`: of the pair's own
    picture among `of` pictures, 1 is best; `likeness`: mean cosine of the others with it; `better`:
    pairs whose pictures match the caption as well or better, best first."""

    pair_id: int
    run_id: int
    specificity: float
    rank: int
    of: int
    likeness: float
    better: tuple[int, ...]


def save_retrievals(session: Session, rows: Sequence[RetrievalRow]) -> None:
    """Save retrievals and the specificity of their pairs; replaces the numbers of older runs."""
    for row in rows:
        check_number(row.specificity, f"the specificity of pair {row.pair_id}")
        check_number(row.likeness, f"the likeness of pair {row.pair_id}")
    lock_pairs(session, [row.pair_id for row in rows])
    set_columns(session, {row.pair_id: {"specificity": row.specificity} for row in rows})
    retrievals = [vars(row) | {"better": encode_integers(row.better)} for row in rows]
    for retrieval in retrievals:
        del retrieval["specificity"]  # a column of the pair
    save_rows(session, Retrieval, ("pair_id",), retrievals)


_RETRIEVAL = (
    select(
        Retrieval.pair_id, Retrieval.run_id, Pair.specificity, Retrieval.rank, Retrieval.of,
        Retrieval.likeness, Retrieval.better,
    )
    .join(Pair, Pair.id == Retrieval.pair_id)
    .where(Retrieval.pair_id == bindparam("pair_id"), Pair.specificity.is_not(None))
)  # fmt: skip


def get_retrieval(session: Session, pair_id: int) -> RetrievalRow | None:
    """The retrieval behind a pair's specificity; None if it has not been measured."""
    row = run(session, _RETRIEVAL, pair_id=pair_id).one_or_none()
    if row is None:
        return None
    return RetrievalRow(**row._asdict() | {"better": decode_integers(row.better)})


def unmeasured_pairs(
    session: Session, dataset_id: int, run_id: int, after_id: int, limit: int
) -> list[PairCaption]:
    """The next pairs after `after_id`, in import order, that this run has not measured."""
    rows = session.execute(
        select(Pair.id, Pair.image_path, Pair.caption)
        .where(
            in_dataset(dataset_id),
            Pair.id > after_id,
            ~exists().where(Retrieval.pair_id == Pair.id, Retrieval.run_id == run_id),
        )
        .order_by(Pair.id)
        .limit(limit)
    )
    return [PairCaption(*row) for row in rows]


def keep_only(session: Session, dataset_id: int, run_id: int) -> None:
    """Delete the dataset's numbers of all other runs: different runs are not comparable."""
    pairs = select(Pair.id).where(Pair.dataset_id == dataset_id)
    others = select(Retrieval.pair_id).where(
        Retrieval.run_id != run_id, Retrieval.pair_id.in_(pairs.scalar_subquery())
    )
    options = {"synchronize_session": False}
    session.execute(
        update(Pair).where(Pair.id.in_(others.scalar_subquery())).values(specificity=None),
        execution_options=options,
    )
    session.execute(
        delete(Retrieval).where(
            Retrieval.run_id != run_id, Retrieval.pair_id.in_(pairs.scalar_subquery())
        ),
        execution_options=options,
    )


def pictures(session: Session, dataset_id: int, at_most: int) -> list[tuple[int, str]]:
    """(pair, picture's name) of distinct pictures sampled at random, the same every time."""
    rows = session.execute(
        select(Pair.id, Pair.image_path)
        .where(in_dataset(dataset_id))
        .order_by(Pair.random_key, Pair.id)
        .execution_options(yield_per=2000)
    )
    pair_of_picture: dict[str, int] = {}
    for pair_id, name in rows:
        if name not in pair_of_picture:
            pair_of_picture[name] = pair_id
            if len(pair_of_picture) == at_most:
                break
    return [(pair_id, name) for name, pair_id in pair_of_picture.items()]


def count_pictures(session: Session, dataset_id: int) -> int:
    """The number of distinct pictures in the dataset."""
    query = select(func.count(Pair.image_path.distinct())).where(in_dataset(dataset_id))
    return session.execute(query).scalar_one()


def is_measured(session: Session, dataset_id: int) -> bool:
    """Whether any pair of the dataset has a specificity."""
    query = select(Pair.id).where(Pair.dataset_id == dataset_id, Pair.specificity.is_not(None))
    return session.execute(query.limit(1)).one_or_none() is not None


def summary(session: Session, run_id: int) -> tuple[int, int, float | None, int]:
    """(number of pairs measured by the run, number of those that rank their own picture first, mean
    likeness, maximum number of pictures that a caption was compared with)."""
    count, first, likeness, most = session.execute(
        select(
            func.count(Retrieval.pair_id),
            func.count(Retrieval.pair_id).filter(Retrieval.rank == 1),
            func.avg(Retrieval.likeness),
            func.coalesce(func.max(Retrieval.of), 0),
        ).where(Retrieval.run_id == run_id)
    ).one()
    return int(count), int(first), None if likeness is None else float(likeness), int(most)


def of_picture(session: Session, dataset_id: int, image_path: str) -> list[PairRow]:
    """All pairs of a picture, in import order."""
    query = select(*pair_columns(session, PAIR_FIELDS, dataset_id))
    query = query.where(in_dataset(dataset_id), Pair.image_path == image_path)
    return read_records(session, PairRow, query.order_by(Pair.id))
