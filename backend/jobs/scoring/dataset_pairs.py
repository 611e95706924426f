"""All pairs of a dataset, for a scorer that compares pairs with each other (LEMoN).

Their vectors are stored in parts in the data folder: a kill loses at most one part.
"""

import zipfile
from collections.abc import Hashable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from backend.engine.scoring.protocol import Embed, FloatArray
from backend.jobs.scoring.image_batches import open_pictures
from backend.loaded_models import Engine
from backend.progress import Progress, no_progress
from backend.store import Store
from db.decisions import RIGHT_OR_WRONG, is_wrong
from db.queries import dataset_queries, pair_queries
from db.queries.pair_queries import PairRow

#: Pairs whose vectors are written together.
PART = 512
#: The split whose pairs serve as neighbours, if the dataset has it.
TRAINING = "train"
Part = tuple[list[int], FloatArray, FloatArray]


def prepare_scorer(
    store: Store, engine: Engine, dataset_id: int, progress: Progress = no_progress
) -> None:
    """Prepare the session's scorer for pairs of this dataset; a no-op for most scorers.

    With the setting `lemon = "opt"` or `"auc"` LEMoN's weights are fitted to the pairs that have
    verdicts, which raises TrainingError if there are too few.
    """
    if engine.scorer.info.compares_pairs:
        engine.scorer.prepare(DatasetPairs(store, engine, dataset_id, progress))


class DatasetPairs:
    """A `PairSource` whose keys are the ids of the pairs."""

    def __init__(
        self, store: Store, engine: Engine, dataset_id: int, progress: Progress = no_progress
    ) -> None:
        self._store, self._engine, self._dataset_id = store, engine, dataset_id
        self._progress = progress
        with store.reading() as session:
            self._root = Path(dataset_queries.get_dataset(session, dataset_id).root)
            self._total = pair_queries.totals(session, dataset_id)[0]

    @property
    def identity(self) -> Hashable:
        return self._store.identity, self._dataset_id, self._total

    def vectors(self, model: str, embed: Embed) -> Iterator[Part]:
        parent = self._engine.settings.data_directory / "neighbours" / self._store.identity
        folder = parent / f"{self._dataset_id}-{model}"
        folder.mkdir(parents=True, exist_ok=True)
        done = 0
        for pairs in self._store.batches(
            lambda session, after: pair_queries.pairs_after(session, self._dataset_id, after, PART)
        ):
            # A caption or a picture may change, and pairs may be hidden.
            content = repr([(pair.id, pair.image_path, pair.caption) for pair in pairs])
            path = folder / f"{sha256(content.encode('utf-8', 'replace')).hexdigest()[:32]}.npz"
            yield _read(path) or self._embed(pairs, path, embed)
            done += len(pairs)
            self._progress(done, self._total, "Embedding the neighbours")

    def _embed(self, pairs: Sequence[PairRow], path: Path, embed: Embed) -> Part:
        pictures = open_pictures(self._root, [pair.image_path for pair in pairs])
        images = {n: image for n, image in pictures.items() if not isinstance(image, str)}
        readable = [pair for pair in pairs if pair.image_path in images]
        with self._engine.lock:
            by_image, captions = embed(list(images.values()), [pair.caption for pair in readable])
        place = {name: row for row, name in enumerate(images)}
        vectors = by_image[[place[pair.image_path] for pair in readable]]
        keys = [pair.id for pair in readable]
        temporary = path.with_suffix(".part")
        with temporary.open("wb") as file:
            np.savez(file, keys=np.array(keys, np.int64), images=vectors, captions=captions)
        temporary.replace(path)
        return keys, vectors, captions

    def training_keys(self) -> NDArray[np.int64] | None:
        ids = self._store.read(pair_queries.ids_of_splits, self._dataset_id, [TRAINING])
        return np.array(ids, np.int64) if ids else None

    @property
    def objective(self) -> str:
        return self._engine.settings.lemon

    def labels(self) -> Mapping[int, bool] | None:
        if self._engine.settings.lemon == "fix":
            return None
        with self._store.reading() as session:
            return {
                pair.id: is_wrong(pair.judgement)
                for pair in pair_queries.iterate_pairs(session, self._dataset_id)
                if pair.judgement in RIGHT_OR_WRONG
            }


def _read(path: Path) -> Part | None:
    try:
        with np.load(path, allow_pickle=False) as part:
            return part["keys"].tolist(), part["images"], part["captions"]
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return None  # missing or incomplete
