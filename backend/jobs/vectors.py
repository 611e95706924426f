"""Vectors of images and captions, stored next to the database.

Image vectors are a by-product of scoring and written as images are encoded; caption vectors are
computed by a stage of scoring (`Meanings`).
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from backend.engine.embeddings import MEANING_WIDTH
from backend.engine.scoring.protocol import FloatArray
from backend.errors import SettingsError
from backend.jobs.sample import Sample
from backend.jobs.stage import TextStage, pairs_of_dataset
from backend.jobs.vector_file import VectorFile
from backend.jobs.workers import Task
from backend.loaded_models import Engine
from backend.store import Store
from db.queries.pairs import PairRow
from db.queries.runs import RunRow


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
            "scorer has no vectors. Run: python app.py score NAME"
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

    name = "Meanings of captions"

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
        stored = set(self._file.read()[0].tolist())
        for batch in pairs_of_dataset(self.scoring, _BATCH):
            if lacking := [pair for pair in batch if pair.id not in stored]:
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
