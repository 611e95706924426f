"""Vectors of images and captions, stored next to the database.

Image vectors are a by-product of scoring and written as images are encoded; caption vectors are
computed by a resumable stage (`remember_meanings`).
"""

from collections.abc import Sequence
from pathlib import Path

from backend.engine.embeddings import MEANING_WIDTH
from backend.engine.scoring.protocol import FloatArray
from backend.errors import SettingsError
from backend.jobs.scoring_stages import MEANINGS
from backend.jobs.vector_file import VectorFile
from backend.loaded_models import Engine
from backend.progress import Progress
from backend.store import Store
from db.queries import pairs as pair_queries
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


def remember_meanings(
    store: Store, engine: Engine, dataset_id: int, total: int, progress: Progress
) -> None:
    """Compute the vectors of all captions that have none yet."""
    file = VectorFile(meanings_file(store, engine, dataset_id), MEANING_WIDTH)
    known = set(file.read()[0].tolist())
    after = done = 0
    while True:
        with store.reading() as session:
            batch = pair_queries.pairs_after(session, dataset_id, after, _BATCH)
        if not batch:
            return
        after = batch[-1].id
        new = [pair for pair in batch if pair.id not in known]
        if new:
            file.append([p.id for p in new], engine.meanings([p.caption for p in new]))
        done += len(batch)
        progress(done, total, MEANINGS.name)


def forget_meanings(store: Store, data_directory: Path, dataset_id: int) -> None:
    """Delete the vectors of captions, because some captions are others now."""
    (_folder(store, data_directory, dataset_id) / _MEANINGS).unlink(missing_ok=True)


def _folder(store: Store, data_directory: Path, dataset_id: int) -> Path:
    return data_directory / "search" / store.identity / str(dataset_id)


def meanings_file(store: Store, engine: Engine, dataset_id: int) -> Path:
    return _folder(store, engine.settings.data_directory, dataset_id) / _MEANINGS


_BATCH = 500
_MEANINGS = "captions.vectors"
