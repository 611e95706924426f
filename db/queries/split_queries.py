"""The splits of pairs and of their pictures."""

from collections.abc import Iterator

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from db.decisions import NOT_EXPORTED
from db.models import Pair
from db.queries.pair_queries import first_splits
from db.queries.statements import in_dataset


def has_several_splits(session: Session, dataset_id: int) -> bool:
    """Whether there are pairs of several splits, or some without one; one step in an index for
    each."""
    splits = first_splits(session, dataset_id, 2)
    unnamed = select(Pair.id).where(
        Pair.dataset_id == dataset_id, func.coalesce(Pair.split, "") == ""
    )
    return len(splits) > 1 or (
        len(splits) == 1 and session.execute(unnamed.limit(1)).first() is not None
    )


def splits_of_pairs(
    session: Session, dataset_id: int, is_exported: bool = False
) -> Iterator[tuple[int, str, str]]:
    """The id, the image's path and the split of each pair, "" without one; streamed. `is_exported`:
    only of pairs that an export writes, unless its options say otherwise."""
    query = select(Pair.id, Pair.image_path, func.coalesce(Pair.split, ""))
    query = query.where(in_dataset(dataset_id))
    if is_exported:
        query = query.where(or_(Pair.decision.is_(None), Pair.decision.not_in(NOT_EXPORTED)))
    for row in session.execute(query.execution_options(yield_per=10_000)):
        yield row.tuple()
