"""The migration that forgets trajectories of captions whose words were their characters."""

import numpy as np
from alembic.migration import MigrationContext
from alembic.operations import Operations

from db import open_store
from db.migrations.versions import v0042_words_without_spaces as migration
from db.queries import trajectory_queries
from db.queries.pair_queries import NewPair
from db.queries.trajectory_queries import TrajectoryRow
from tests.db.building import add_pairs, save, start_run

CAPTIONS = ["A dog", "一只狗", "Ein Hund", "犬が走る", "A dog in 北京"]


def test_only_captions_without_spaces_are_scored_again(url: str) -> None:
    store = open_store(url)
    rows = [NewPair(f"photo-{i}", f"{i}.jpg", text) for i, text in enumerate(CAPTIONS)]
    dataset_id, ids = add_pairs(store, "photos", rows)
    run = start_run(store, dataset_id)
    scores = np.ones(2, np.float32)
    save(store, run, *(TrajectoryRow(pair, scores, scores, (0,), scores) for pair in ids))
    # By itself: those after it have been carried out.
    with (
        store.engine.begin() as connection,
        Operations.context(MigrationContext.configure(connection)),
    ):
        migration.upgrade()
    with store.reading() as session:
        left = trajectory_queries.trajectories_of(session, run, ids)
    assert sorted(left) == [ids[0], ids[2]]
    store.close()
