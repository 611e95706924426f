"""The pictures of a dataset and their vectors, as stored by scoring. No image is opened."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from backend.engine.unit_vectors import unit
from backend.jobs.scoring.vectors import StoredVectors, stored_images
from backend.loaded_models import Engine
from backend.store import Store
from backend.version import VERSION
from db.queries import pair_queries, run_queries
from db.queries.run_queries import RunRow

#: Vectors read at once.
BLOCK = 1024


@dataclass(frozen=True)
class Pictures:
    """`pairs`: the pairs of each picture that has a vector, in import order. `without`: number of
    pictures without a vector. `scored`: the scoring run that the vectors come from."""

    pairs: Sequence[Sequence[int]]
    without: int
    scored: RunRow
    _keys: NDArray[np.int64]
    _vectors: StoredVectors

    def vectors(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Unit vectors [rows, d] of these pictures."""
        return unit(self._vectors.of(self._keys[rows]))

    def blocks(self) -> Iterator[NDArray[np.float32]]:
        """The vectors of all pictures, in order."""
        for first in range(0, len(self.pairs), BLOCK):
            yield self.vectors(np.arange(first, min(first + BLOCK, len(self.pairs))))

    def record_run(self, session: Session, kind: str, **parameters: float) -> RunRow:
        """Record a finished run that was computed from these vectors."""
        run = run_queries.start_run(
            session,
            kind=kind,
            dataset_id=self.scored.dataset_id,
            scorer_kind=self.scored.scorer_kind,
            model=self.scored.model,
            revision=self.scored.revision,
            explorer="none",
            parameters={"pictures": len(self.pairs), **parameters},
            code_version=VERSION,
        )
        run_queries.finish_run(session, run.id)
        return run


def pictures_of(store: Store, engine: Engine, dataset_id: int) -> Pictures:
    """A dataset's pictures with the vectors of its newest scoring run. Raises SettingsError if
    there are none."""
    with store.reading() as session:
        run = run_queries.latest_run(session, dataset_id, "score")
        by_picture = pair_queries.ids_by_picture(session, dataset_id)
    vectors = stored_images(store, engine, run).open()
    assert run is not None, "stored_images refuses a dataset without a run"
    every = list(by_picture.values())
    flat = np.array([pair for pairs in every for pair in pairs], np.int64)
    with_vector = set(flat[vectors.has(flat)].tolist())
    keys = [next((pair for pair in pairs if pair in with_vector), None) for pairs in every]
    rows_with_key = [place for place, key in enumerate(keys) if key is not None]
    return Pictures(
        [every[place] for place in rows_with_key],
        len(every) - len(rows_with_key),
        run,
        np.array([keys[place] for place in rows_with_key], np.int64),
        vectors,
    )
