"""Which captions are measured, what of them is stored, and what support is normalised by."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from db.models import Pair, PhraseScore
from db.queries.phrase_queries import PhraseRow, pack
from db.queries.statements import in_dataset, save_rows, set_columns, table_of

#: Rows read per batch.
_TOGETHER = 5000


def matches(session: Session, dataset_id: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """(ids, s_0) of all pairs of a dataset, in order of id; NaN where unknown."""
    pairs = table_of(Pair).c
    rows = session.connection().execute(
        select(pairs.id, pairs.s_0)
        .where(pairs.dataset_id == dataset_id)
        .order_by(pairs.id)
        .execution_options(yield_per=_TOGETHER)
    )
    ids, scores = [np.zeros(0, np.int64)], [np.zeros(0)]
    for batch in rows.partitions():
        ids.append(np.array([row[0] for row in batch], np.int64))
        scores.append(np.array([row[1] for row in batch], float))
    return np.concatenate(ids), np.concatenate(scores)


def pairs_without_phrases(
    session: Session, dataset_id: int, run_id: int, after_id: int, limit: int
) -> list[int]:
    """The next scored pairs after `after_id` that have no row of this run, in import order."""
    has_phrases = exists().where(PhraseScore.pair_id == Pair.id, PhraseScore.run_id == run_id)
    query = select(Pair.id).where(
        in_dataset(dataset_id), Pair.id > after_id, Pair.s_0.is_not(None), ~has_phrases
    )
    return list(session.execute(query.order_by(Pair.id).limit(limit)).scalars())


def save_phrase_scores(
    session: Session, run_id: int, phrases_by_pair: Mapping[int, Sequence[PhraseRow]]
) -> None:
    """Save the phrases of pairs; a pair without one gets an empty row, so that it counts as done.

    Idempotent: existing rows are overwritten."""
    rows = [
        {"pair_id": pair_id, "run_id": run_id, "phrases": pack(phrases)}
        for pair_id, phrases in phrases_by_pair.items()
    ]
    save_rows(session, PhraseScore, ("pair_id", "run_id"), rows)


def save_support(
    session: Session, support_by_pair: Mapping[int, tuple[float | None, float | None]]
) -> None:
    """Save (support, weakest) of pairs; None: no phrase could be tested."""
    set_columns(
        session,
        {pair_id: {"support": mean, "weakest": least}
         for pair_id, (mean, least) in support_by_pair.items()},
    )  # fmt: skip


def captions_after(
    session: Session, dataset_id: int, after_id: int, limit: int
) -> list[tuple[int, str]]:
    """(id, caption) of the next pairs that have one, in import order; empty at the end."""
    query = select(Pair.id, Pair.caption).where(
        in_dataset(dataset_id), Pair.caption != "", Pair.id > after_id
    )
    rows = session.execute(query.order_by(Pair.id).limit(limit))
    return [(row.id, row.caption) for row in rows]
