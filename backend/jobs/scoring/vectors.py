"""Vectors of images and captions, stored next to the database.

Image vectors are a by-product of scoring and written as images are encoded; caption vectors are
computed by a stage of scoring (`Meanings`).
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from backend.engine.embeddings import MEANING_WIDTH
from backend.engine.scoring.protocol import FloatArray
from backend.errors import SettingsError
from backend.jobs.scoring.stage import Sample, TextStage, pairs_of_dataset
from backend.jobs.scoring.workers import Task
from backend.loaded_models import Engine
from backend.store import Store
from db.queries.pair_queries import PairRow
from db.queries.run_queries import RunRow


class VectorFile:
    """The vectors of one dataset and one model, appended as they are computed. One writer at a
    time, any number of readers.

    Fixed-size records (pair id, unit vector as float16), so that a killed process loses at most the
    record being written: the next writer truncates a partial record. If a pair is written twice,
    its newest vector counts.
    """

    def __init__(self, path: Path, width: int) -> None:
        self.path = path
        self.width = width
        self._record = np.dtype([("pair", "<i8"), ("vector", "<f2", (width,))])

    def append(self, pairs: Sequence[int], vectors: ArrayLike) -> None:
        """`vectors`: unit vectors, shape [pairs, width]."""
        records = np.zeros(len(pairs), self._record)
        records["pair"] = pairs
        records["vector"] = vectors
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            whole = file.tell() - file.tell() % self._record.itemsize
            if whole != file.tell():
                os.truncate(self.path, whole)
            file.write(records.tobytes())

    def read(self) -> tuple[NDArray[np.int64], NDArray[np.float16]]:
        """Pairs, ascending, and their vectors [pairs, width]; empty if there are none."""
        snapshot = self.open()
        return snapshot.pairs, snapshot.vectors[snapshot.places]

    def open(self) -> "StoredVectors":
        """Like `read`, but loaded on demand: memory use is independent of the file size."""
        size = self.stamp() // self._record.itemsize
        if not size:
            none = np.zeros(0, np.int64)
            return StoredVectors(none, none, np.zeros((0, self.width), np.float16))
        records = np.memmap(self.path, self._record, "r", shape=(size,))
        pairs, places = np.unique(np.asarray(records["pair"])[::-1], return_index=True)
        return StoredVectors(pairs, size - 1 - places, records["vector"])

    def stamp(self) -> int:
        """Changes whenever something is appended."""
        return self.path.stat().st_size if self.path.exists() else 0


@dataclass(frozen=True)
class StoredVectors:
    """Snapshot of a vector file at opening time. `pairs`: those with a vector, ascending; `places`:
    the row of `vectors` for each."""

    pairs: NDArray[np.int64]
    places: NDArray[np.int64]
    vectors: NDArray[np.float16]

    def has(self, pairs: ArrayLike) -> NDArray[np.bool_]:
        """Which of the pairs have a vector, shape [pairs]."""
        return np.isin(np.asarray(pairs, np.int64), self.pairs)

    def of(self, pairs: ArrayLike) -> NDArray[np.float32]:
        """Stored vectors [pairs, width] of pairs that have one."""
        rows = np.searchsorted(self.pairs, np.asarray(pairs, np.int64))
        return self.vectors[self.places[rows]].astype(np.float32)


def image_file(store: Store, engine: Engine, run: RunRow) -> Path:
    """The file for the vectors of the run's images; each scorer has its own."""
    name = f"images-{run.scorer_kind}-{run.revision}.vectors"
    return _folder(store, engine.settings.data_directory, run.dataset_id or 0) / name


def stored_images(store: Store, engine: Engine, run: RunRow | None) -> VectorFile:
    """The vectors of a scoring run's images. Raises SettingsError if there are none."""
    path = image_file(store, engine, run) if run is not None else None
    width = path.with_suffix(".width") if path is not None else None
    if path is None or width is None or not width.exists():
        raise SettingsError(
            "Pictures cannot be compared: the dataset has not been scored by this version, or its "
            "scorer has no vectors.",
            terminal="Run: python app.py score NAME",
            page="Score it under Add data.",
        )
    return VectorFile(path, int(width.read_text(encoding="ascii")))


def remember_images(path: Path, pairs: Sequence[int], vectors: FloatArray | None) -> None:
    """Store the vectors of images that have just been encoded."""
    if vectors is not None and len(pairs):
        VectorFile(path, vectors.shape[1]).append(pairs, vectors)
        width = path.with_suffix(".width")
        if not width.exists():
            width.write_text(str(vectors.shape[1]), encoding="ascii")


class Meanings(TextStage):
    """Stage of scoring: the vectors of all captions."""

    name = "Reading what captions mean"

    @property
    def _file(self) -> VectorFile:
        scoring = self.scoring
        return VectorFile(
            meanings_file(scoring.store, scoring.engine, scoring.dataset_id), MEANING_WIDTH
        )

    def remaining(self) -> int:
        return max(0, self.scoring.total - len(self._file.read()[0]))

    def seconds(self, sample: Sample) -> float:
        return sample.seconds(lambda: self.scoring.engine.meanings(sample.captions))

    def batches(self) -> Iterator[list[PairRow]]:
        stored_ids = set(self._file.read()[0].tolist())
        for batch in pairs_of_dataset(self.scoring, _BATCH):
            if lacking := [pair for pair in batch if pair.id not in stored_ids]:
                yield lacking

    def task(self) -> Task[PairRow, FloatArray]:
        return lambda engine, batch, _: engine.meanings([pair.caption for pair in batch])

    def save(self, batch: Sequence[PairRow], result: FloatArray) -> None:
        self._file.append([pair.id for pair in batch], result)


def forget_meanings(store: Store, data_directory: Path, dataset_id: int) -> None:
    """Delete the vectors of captions, because some captions are others now."""
    (_folder(store, data_directory, dataset_id) / _MEANINGS).unlink(missing_ok=True)


def _folder(store: Store, data_directory: Path, dataset_id: int) -> Path:
    return data_directory / "search" / store.identity / str(dataset_id)


def meanings_file(store: Store, engine: Engine, dataset_id: int) -> Path:
    return _folder(store, engine.settings.data_directory, dataset_id) / _MEANINGS


_BATCH = 500
_MEANINGS = "captions.vectors"
