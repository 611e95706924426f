"""The filter `duplicates` of queues: pairs whose picture is in a group, or in none."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, exists, select
from sqlalchemy.orm import Session, aliased

from backend.features.near_duplicates.tables import NearDuplicate
from backend.review.added_filters import AddedFilter
from db.models import Pair
from db.queries.queue_values import count_among


def is_in_a_group(answer: str) -> ColumnElement[bool]:
    """Condition: the picture of the pair belongs to a group, if the answer is yes."""
    has_group = exists().where(NearDuplicate.pair_id == Pair.id)
    return has_group if answer == "yes" else ~has_group


def count_answers(session: Session, pair_ids: Sequence[int]) -> dict[str, int]:
    """How many of the pairs, of one dataset, are in a group, and in none; {} where it has no group:
    duplicates were not searched for, or there are none."""
    grouped = count_among(session, NearDuplicate.pair_id, pair_ids)
    if not grouped and not (pair_ids and _has_groups(session, pair_ids)):
        return {}
    return {"yes": grouped, "no": len(pair_ids) - grouped}


def _has_groups(session: Session, pair_ids: Sequence[int]) -> bool:
    """Whether the dataset of these pairs has a group."""
    first = aliased(Pair)
    dataset_id = select(first.dataset_id).where(first.id == pair_ids[0]).scalar_subquery()
    member = select(NearDuplicate.pair_id).join(Pair, Pair.id == NearDuplicate.pair_id)
    query = member.where(Pair.dataset_id == dataset_id).limit(1)
    return session.execute(query).one_or_none() is not None


FILTER = AddedFilter(
    "duplicates", "Near duplicates", is_in_a_group, ("yes", "no"), counts=count_answers
)
