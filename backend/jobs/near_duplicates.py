"""Find groups of near duplicates in a whole dataset, using the vectors stored by scoring.

Takes minutes for a hundred thousand pictures. Groups are written at the end: a job that is stopped
leaves the previous ones in place.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from backend.engine.near_duplicates import HIGHEST, LOWEST, near_duplicates
from backend.engine.specificity.bags import NEAR_DUPLICATE
from backend.errors import SettingsError
from backend.jobs.picture_vectors import BLOCK, Pictures, pictures_of
from backend.jobs.reports import DuplicatesReport
from backend.loaded_models import Engine
from backend.progress import Progress, no_progress
from backend.store import Store
from db.queries import near_duplicates as queries
from db.queries.near_duplicates import DuplicateRow

KIND = "duplicates"


def find_near_duplicates(
    store: Store,
    engine: Engine,
    dataset_id: int,
    progress: Progress = no_progress,
    threshold: float = NEAR_DUPLICATE,
) -> DuplicatesReport:
    """Group the near-duplicate pictures of a dataset; replaces the previous groups. `threshold`:
    the minimum cosine with a group's first picture. Raises SettingsError if the threshold is
    invalid or if there are no vectors yet."""
    if not LOWEST <= threshold <= HIGHEST:
        raise SettingsError(
            f"The near-duplicate threshold must be {LOWEST:g} to {HIGHEST:g}, not {threshold:g}."
        )
    pictures = pictures_of(store, engine, dataset_id)
    groups = near_duplicates(_reported(pictures, progress), threshold)
    rows = [
        DuplicateRow(pair, pictures.pairs[group.members[0]][0], cosine)
        for group in groups
        for member, cosine in zip(group.members, group.cosines, strict=True)
        for pair in pictures.pairs[member]
    ]
    with store.writing(large=True) as session:
        queries.replace_groups(session, dataset_id, rows)
        pictures.record_run(session, KIND, threshold=threshold)
    return DuplicatesReport(
        dataset_id,
        threshold,
        len(pictures.pairs),
        pictures.without,
        len(groups),
        sum(len(group.members) for group in groups),
    )


def _reported(pictures: Pictures, progress: Progress) -> Iterator[NDArray[np.float32]]:
    total = len(pictures.pairs)
    for number, block in enumerate(pictures.blocks()):
        progress(min(number * BLOCK, total), total, "Comparing pictures")
        yield block
    progress(total, total, "Comparing pictures")
