"""The input of a selection in two stages: columns of all pairs of a dataset, and their captions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Row, select
from sqlalchemy.orm import Session

from db.decisions import RIGHT_NOW
from db.models import Pair
from db.queries.blind_review import verdict_seen
from db.queries.statements import table_of

#: Rows read per batch.
_TOGETHER = 5000
#: Stands for no verdict on an edited caption, whose scores are those of the old text.
EDITED = 3


@dataclass(frozen=True)
class SelectionColumns:
    """The input of a selection: arrays of shape [pairs] in order of id, NaN where unknown.

    `verdicts`: 0 none, 1 right or corrected, 2 any other, EDITED. `splits`: indices into
    `split_names`.
    """

    ids: NDArray[np.int64]
    s_0: NDArray[np.float64]
    value: NDArray[np.float64]
    verdicts: NDArray[np.uint8]
    splits: NDArray[np.int32]
    split_names: tuple[str, ...]


def selection_columns(session: Session, dataset_id: int, by: str | None) -> SelectionColumns:
    """Columns of all pairs of a dataset. `by`: column of `value`, such as support; None: s_0."""
    pairs = table_of(Pair).c
    names: dict[str, int] = {}
    value = pairs[by or "s_0"].label("value")
    verdict = verdict_seen(session, dataset_id)
    is_edited = verdict.corrected_caption.is_not(None).label("is_edited")
    # The table instead of the mapped class: for a million rows, ORM rows take twice as long.
    rows = session.connection().execute(
        select(pairs.id, pairs.s_0, value, verdict.decision, is_edited, pairs.split)
        .where(pairs.dataset_id == dataset_id)
        .order_by(pairs.id)
        .execution_options(yield_per=_TOGETHER)
    )
    parts: list[tuple[NDArray[Any], ...]] = []
    for batch in rows.partitions():
        ids, s_0, support_values, decisions, edit_flags, splits = zip(*batch, strict=True)
        for split in dict.fromkeys(splits):
            names.setdefault(split or "", len(names))
        count = len(ids)
        parts.append(
            (
                np.fromiter(ids, np.int64, count),
                np.array(s_0, np.float64),  # None becomes NaN
                np.array(support_values, np.float64),
                np.fromiter(map(_verdict, decisions, edit_flags), np.uint8, count),
                np.fromiter((names[split or ""] for split in splits), np.int32, count),
            )
        )
    if not parts:
        floats, whole = np.zeros(0), np.zeros(0, np.int64)
        return SelectionColumns(
            whole, floats, floats, whole.astype(np.uint8), whole.astype(np.int32), ()
        )
    whole_ids, matches, values, verdicts, places = (
        np.concatenate(arrays) for arrays in zip(*parts, strict=True)
    )
    return SelectionColumns(whole_ids, matches, values, verdicts, places, tuple(names))


def _verdict(decision: str | None, is_edited: bool) -> int:
    if decision is None:
        return EDITED if is_edited else 0
    return 1 if decision in RIGHT_NOW else 2


def captions_and_images(
    session: Session, dataset_id: int, after_id: int, limit: int
) -> Sequence[Row[Any, Any, Any]]:
    """(id, caption, name of its image) of the next pairs in import order; empty at the end."""
    pairs = table_of(Pair).c
    query = select(pairs.id, pairs.caption, pairs.image_path).where(
        pairs.dataset_id == dataset_id, pairs.id > after_id
    )
    rows = session.connection().execute(query.order_by(pairs.id).limit(limit))
    return rows.all()
