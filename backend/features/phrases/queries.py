"""What support is normalised by."""

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select
from sqlalchemy.orm import Session

from db.models import Pair
from db.queries.statements import table_of

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
