"""Groups of the pictures of a dataset, by the vectors that scoring stored. No image is opened. They
are written at the end: a job that is stopped leaves the previous ones in place."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from backend.engine.unit_vectors import NEAR_DUPLICATE
from backend.features.near_duplicates import queries
from backend.features.near_duplicates.grouping import group_pictures
from backend.features.near_duplicates.queries import DuplicateRow
from backend.features.near_duplicates.report import DuplicatesReport
from backend.jobs.picture_vectors import BLOCK, pictures_of
from backend.loaded_models import Engine
from backend.progress import Progress, no_progress
from backend.store import Store


def find_groups(
    store: Store,
    engine: Engine,
    dataset_id: int,
    progress: Progress = no_progress,
    threshold: float = NEAR_DUPLICATE,
) -> DuplicatesReport:
    """Group the near-duplicate pictures of a dataset; replaces the previous groups. `threshold`:
    the minimum cosine with a group's first picture. Raises SettingsError if there are no vectors
    yet."""
    pictures = pictures_of(store, engine, dataset_id)
    total = len(pictures.pairs)

    def blocks() -> Iterator[NDArray[np.float32]]:
        for number, block in enumerate(pictures.blocks()):
            progress(min(number * BLOCK, total), total, "Comparing pictures")
            yield block
        progress(total, total, "Comparing pictures")

    groups = group_pictures(blocks(), threshold)
    rows = [
        DuplicateRow(pair, pictures.pairs[group.members[0]][0], cosine)
        for group in groups
        for member, cosine in zip(group.members, group.cosines, strict=True)
        for pair in pictures.pairs[member]
    ]
    with store.writing(large=True) as session:
        queries.replace_groups(session, dataset_id, rows)
        pictures.record_run(session, "duplicates", threshold=threshold)
    return DuplicatesReport(
        dataset_id,
        threshold,
        total,
        pictures.without,
        len(groups),
        sum(len(group.members) for group in groups),
    )
