"""People's own words on pairs, as filters of a queue and in exports."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, delete, func, select
from sqlalchemy.orm import Session

from db.column_types import now
from db.models import Pair, PairTag
from db.queries.statements import (
    check_name,
    chunks,
    insert_for,
    lock_pairs,
)

#: Maximum length of a tag.
LONGEST = 64
_AT_ONCE = 1000


def add(session: Session, pair_ids: Sequence[int], name: str, author: str) -> list[int]:
    """Tag these pairs; returns those that did not have the tag yet. Raises UnstorableText."""
    check_name(name, "The tag", LONGEST)
    lock_pairs(session, pair_ids)
    added_ids: list[int] = []
    for part in chunks(pair_ids, _AT_ONCE):
        query = select(PairTag.pair_id).where(PairTag.name == name, PairTag.pair_id.in_(part))
        tagged_ids = set(session.scalars(query))
        rows = [
            {"name": name, "pair_id": pair_id, "author": author, "created_at": now()}
            for pair_id in dict.fromkeys(part)
            if pair_id not in tagged_ids
        ]
        if rows:
            session.execute(insert_for(session, PairTag).on_conflict_do_nothing(), rows)
        added_ids += [row["pair_id"] for row in rows]
    return added_ids


def remove(session: Session, pair_ids: Sequence[int], name: str) -> list[int]:
    """Take the tag from these pairs; returns those that had it."""
    lock_pairs(session, pair_ids)
    return [
        pair_id
        for part in chunks(pair_ids, _AT_ONCE)
        for pair_id in session.scalars(
            delete(PairTag)
            .where(PairTag.name == name, PairTag.pair_id.in_(part))
            .returning(PairTag.pair_id)
        )
    ]


def ids_of(session: Session, dataset_id: int, name: str) -> list[int]:
    """The pairs of a dataset that have the tag, in import order."""
    query = select(PairTag.pair_id).join(Pair, Pair.id == PairTag.pair_id)
    conditions = (PairTag.name == name, Pair.dataset_id == dataset_id)
    return list(session.scalars(query.where(*conditions).order_by(PairTag.pair_id)))


def counts(session: Session, dataset_id: int) -> dict[str, int]:
    """The tags of a dataset and their numbers of pairs, by name."""
    rows = session.execute(
        select(PairTag.name, func.count())
        .join(Pair, Pair.id == PairTag.pair_id)
        .where(Pair.dataset_id == dataset_id)
        .group_by(PairTag.name)
        .order_by(PairTag.name)
    )
    return dict(rows.tuples().all())


def of_pairs(session: Session, pair_ids: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """The tags of each of these pairs that has some, by name."""
    names: defaultdict[int, list[str]] = defaultdict(list)
    for part in chunks(pair_ids, _AT_ONCE):
        rows = session.execute(
            select(PairTag.pair_id, PairTag.name)
            .where(PairTag.pair_id.in_(part))
            .order_by(PairTag.name)
        )
        for pair_id, name in rows:
            names[pair_id].append(name)
    return {pair_id: tuple(tags) for pair_id, tags in names.items()}


def first_tag() -> ColumnElement[Any]:
    """The pair's first tag in alphabetical order."""
    return select(func.min(PairTag.name)).where(PairTag.pair_id == Pair.id).scalar_subquery()


def has_tag(name: str) -> ColumnElement[bool]:
    """Condition: the pair has the tag."""
    return Pair.id.in_(select(PairTag.pair_id).where(PairTag.name == name))
