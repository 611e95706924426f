"""Rows out of step are not taken for wrong captions: no detector learns from them, no estimate
counts them, and an API and exports say what was found."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backend.errors import NotFound
from backend.features.rows.mending import look, mend
from backend.jobs import notices
from backend.jobs.scoring.detect import sample_to_learn
from backend.review.charts import errors_left
from backend.store import Store
from db.queries import run_queries, trajectory_queries
from tests.db.building import set_probabilities
from tests.db.test_scores import trajectory
from tests.features.rows.pairs import DrawnPairs, store_pairs

ROWS, FIRST, LAST = 200, 60, 140
CHANCE = 0.5


@pytest.fixture
def store(sqlite_store: Any) -> Store:
    return Store(sqlite_store)


def dataset(store: Store, folder: Path, first: int, last: int) -> tuple[Any, int, list[int]]:
    """Pairs of which those from `first` to `last` are one row off, all scored and ranked alike."""
    drawn = DrawnPairs(ROWS)
    order = np.arange(ROWS)
    order[first:last] = np.roll(order[first:last], 1)
    drawn.move(order.tolist())
    engine, dataset_id, ids = store_pairs(store, folder, drawn)
    with store.writing() as session:
        run = run_queries.latest_run(session, dataset_id, "score")
        assert run is not None
        rows = [trajectory(pair_id) for pair_id in ids]
        trajectory_queries.save_trajectories(session, run.id, rows)
    set_probabilities(store.opened, ids, [CHANCE] * ROWS)
    return engine, dataset_id, ids


def learnt_from(store: Store, dataset_id: int) -> set[int]:
    with store.reading() as session:
        run = run_queries.latest_run(session, dataset_id, "score")
        assert run is not None
        return set(sample_to_learn(session, run.id, dataset_id))


def test_a_shifted_block_is_left_out_until_it_is_mended(store: Store, tmp_path: Path) -> None:
    engine, dataset_id, ids = dataset(store, tmp_path, FIRST, LAST)
    inside = set(ids[FIRST + 1 : LAST - 1])
    assert learnt_from(store, dataset_id) == set(ids)
    look(store, engine, dataset_id)
    learnt = learnt_from(store, dataset_id)
    assert not learnt & inside
    assert set(ids[: FIRST - 2]) | set(ids[LAST + 2 :]) <= learnt
    left = store.read(errors_left, dataset_id, ROWS)
    assert left.set_aside == ROWS - len(learnt)
    assert left.expected == pytest.approx(CHANCE * len(learnt))
    assert left.unscored == 0
    mend(store, engine, dataset_id, "Ada")
    assert learnt_from(store, dataset_id) == set(ids)
    assert store.read(errors_left, dataset_id, ROWS).set_aside == 0


def test_if_too_few_are_left_a_detector_learns_from_all(store: Store, tmp_path: Path) -> None:
    engine, dataset_id, ids = dataset(store, tmp_path, 0, ROWS)
    look(store, engine, dataset_id)
    assert learnt_from(store, dataset_id) == set(ids)
    left = store.read(errors_left, dataset_id, ROWS)
    assert left.set_aside >= ROWS - 2
    assert (left.expected or 0.0) <= CHANCE * 2


def test_programs_are_told_what_was_found(store: Store, tmp_path: Path) -> None:
    engine, dataset_id, _ = dataset(store, tmp_path, FIRST, LAST)
    assert notices.details_of(store, dataset_id, "rows")["looked"] is False
    look(store, engine, dataset_id)
    details = notices.details_of(store, dataset_id, "rows")
    (finding,) = details["findings"]
    assert (details["looked"], finding["kind"], finding["offset"]) == (True, "shifted", -1)
    assert (details["pairs"], details["moved"]) == (ROWS, 0)
    mend(store, engine, dataset_id, "Ada")
    assert notices.details_of(store, dataset_id, "rows")["moved"] == details["moves"]
    with pytest.raises(NotFound):
        notices.details_of(store, dataset_id, "columns")
