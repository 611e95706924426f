"""Replace a dataset's ranking by that of another classifier, while curators keep working.

The probabilities are written next to those in use, in short transactions, and come into use
together with their classifier, atomically (`db/queries/ranking_queries.py`).
"""

import math
import time
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from backend.engine.detection.classifier import Classifier
from backend.engine.detection.judged_captions import judge_captions
from backend.jobs.scoring.stored_rows import scored_batches
from backend.progress import Progress, no_progress
from backend.store import Store
from db.queries import ranking_queries
from db.queries.run_queries import RunRow

#: Pairs written by the first transaction, and the fewest and the most that follow.
FIRST, FEWEST, MOST = 100, 50, 4000
#: Seconds that a transaction should take: the number of pairs is adjusted to it.
SECONDS = 0.15


@dataclass(frozen=True)
class RankedPairs:
    """All scored pairs of a dataset in import order, shape [pairs] each: `ids`; their probability
    by a classifier (`after`, NaN: it needs more steps than are known), and by the one in use
    (`before`, NaN: unknown).

    Three numbers per pair: even for many millions, all fit into memory.
    """

    ids: NDArray[np.int64]
    after: NDArray[np.float64]
    before: NDArray[np.float64]


def rank_pairs(store: Store, run: RunRow, classifier: Classifier) -> RankedPairs:
    """A classifier's probability for every pair with a trajectory in this run; writes nothing."""
    ids, after, before = array("q"), array("d"), array("d")
    for pairs, captions in scored_batches(store, run):
        ids.extend(pair.id for pair in pairs)
        p_errors = judge_captions(classifier, captions).p_error.tolist()
        after.extend(
            math.nan if classifier.needs_steps and not caption.whole_steps else p_error
            for p_error, caption in zip(p_errors, captions, strict=True)
        )
        before.extend(math.nan if pair.p_error is None else pair.p_error for pair in pairs)
    return RankedPairs(np.array(ids, np.int64), np.array(after), np.array(before))


def use_ranking(
    store: Store,
    dataset_id: int,
    ids: NDArray[np.int64],
    p_errors: NDArray[np.float64],
    activate: Callable[[Session], None],
    progress: Progress = no_progress,
) -> bool:
    """Write a ranking next to the one in use, then switch to it and to its classifier.

    `ids`: pairs of the dataset, ascending; `p_errors`: their probabilities, shape [pairs]. Pairs
    that are not among them become unknown. `activate` makes their classifier the active one, in the
    transaction of the switch. Returns False if a later call for the same dataset has overtaken this
    one: its ranking is used instead, as if this one had come into use just before.

    After a kill the earlier ranking is still in use, and running it again writes what is missing.
    """
    token = store.write(ranking_queries.begin, dataset_id)
    changed_ids, values = _changes(store, dataset_id, ids, p_errors)
    # In order of the probability: neighbours in the indexes are written together.
    order = np.argsort(values, kind="stable")
    changed_ids, values = changed_ids[order], values[order]
    for part in _short_parts(len(changed_ids), pause=store.opened.dialect == "sqlite"):
        p_error_of = {
            pair_id: None if math.isnan(p_error) else p_error
            for pair_id, p_error in zip(
                changed_ids[part].tolist(), values[part].tolist(), strict=True
            )
        }
        with store.writing(large=True) as session:
            if not ranking_queries.is_current(session, dataset_id, token):
                return False
            ranking_queries.write_next(session, dataset_id, p_error_of)
        progress(part.stop, len(changed_ids), "Ranking")
    with store.writing() as session:
        if not ranking_queries.is_current(session, dataset_id, token):
            return False
        ranking_queries.use_next(session, dataset_id)
        activate(session)
    return True


def _changes(
    store: Store, dataset_id: int, ids: NDArray[np.int64], p_errors: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The pairs whose next probability is not stored yet, and that probability (NaN: unknown)."""
    stored_ids, stored_values = array("q"), array("d")
    with store.reading() as session:
        for pair_id, p_error in ranking_queries.iterate_next(session, dataset_id):
            stored_ids.append(pair_id)
            stored_values.append(math.nan if p_error is None else p_error)
    every, present = np.array(stored_ids, np.int64), np.array(stored_values)
    targets = np.full(len(every), math.nan)
    is_present = np.isin(ids, every)  # others were deleted meanwhile
    targets[np.searchsorted(every, ids[is_present])] = p_errors[is_present]
    differ = ~((targets == present) | (np.isnan(targets) & np.isnan(present)))
    return every[differ], targets[differ]


def _short_parts(count: int, pause: bool) -> Iterator[slice]:
    """Consecutive slices of `count` pairs, sized so that writing each takes about `SECONDS`.

    `pause`: wait as long as each has taken. SQLite has one writer and no queue between programs:
    those that wait try again every 100 ms, and would rarely get in between two transactions.
    """
    start, size = 0, FIRST
    while start < count:
        part = slice(start, min(count, start + size))
        began = time.monotonic()
        yield part
        seconds = time.monotonic() - began
        size = min(MOST, max(FEWEST, int(size * min(2.0, SECONDS / max(seconds, 1e-6)))))
        start = part.stop
        if pause and start < count:
            time.sleep(min(seconds, 1.0))
