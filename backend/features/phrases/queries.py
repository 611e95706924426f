"""What support is normalised by."""

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select
from sqlalchemy.orm import Session

from db.models import Pair
from db.queries.statements import table_of


def matches(session: Session, dataset_id: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """(ids, s_0) of all pairs of a dataset, in order of id; NaN where unknown."""
    pairs = table_of(Pair).c
    query = select(pairs.id, pairs.s_0).where(pairs.dataset_id == dataset_id).order_by(pairs.id)
    rows = session.connection().execute(query).all()
    return np.array([row[0] for row in rows], np.int64), np.array([row[1] for row in rows], float)
