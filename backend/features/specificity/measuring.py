"""Measure how specific a dataset's captions are, from the vectors stored by scoring.

No image is opened: each caption is encoded once by the scorer's text encoder and compared with its
picture's vector and those of the nearest neighbours. Every batch is committed, and the same command
resumes after the last one. For very large datasets the neighbours come from a pool: a reproducible
random sample of the pictures.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.engine import memory
from backend.engine.constants.part import blank_out, left_out
from backend.engine.scoring.protocol import logit_scale_of
from backend.engine.unit_vectors import NEAR_DUPLICATE, unit
from backend.errors import SettingsError
from backend.features.specificity import queries
from backend.features.specificity.queries import RetrievalRow
from backend.features.specificity.reports import SpecificityReport
from backend.features.specificity.retrieval import NEIGHBOURS, USUAL_SCALE, retrieve
from backend.jobs.scoring.dataset_constants import constants_before
from backend.jobs.scoring.dataset_models import scored_by_this_model
from backend.jobs.scoring.vectors import StoredVectors, stored_images
from backend.loaded_models import Engine
from backend.progress import Progress, no_progress
from backend.store import Store
from backend.version import VERSION
from db.queries import pair_queries, run_queries
from db.queries.dataset_queries import get_dataset
from db.queries.pair_queries import PairCaption
from db.queries.run_queries import RunRow

KIND = "specificity"
#: Maximum number of pictures searched for neighbours: exact search stays a matter of minutes.
POOL = 50_000
#: Captions encoded, compared and committed together.
BATCH = 512
#: Extra neighbours to retrieve, because near duplicates are skipped.
_SPARE = 12


def measure_specificity(
    store: Store,
    engine: Engine,
    dataset_id: int,
    progress: Progress = no_progress,
    pool: int = POOL,
) -> SpecificityReport:
    """Specificity of every caption whose picture has a vector.

    Raises NotScored if the dataset is not scored by this session's model, SettingsError if its
    scorer stores no vectors.
    """
    judge = Judge(store, engine, dataset_id, pool)
    run = _run(judge)
    with store.reading() as session:
        total = pair_queries.counts(session, dataset_id).total
        measured_count = queries.summary(session, run.id)[0]
    for batch in store.batches(
        lambda session, after: queries.unmeasured_pairs(session, dataset_id, run.id, after, BATCH),
        attrgetter("pair_id"),
    ):
        rows = judge.measure(batch, run.id)
        store.write(queries.save_retrievals, rows)
        memory.release()
        measured_count += len(batch)
        progress(min(measured_count, total), total, "Specificity")
    store.write(run_queries.finish_run, run.id)
    with store.reading() as session:
        measured_count, retrieved_count, likeness, most = queries.summary(session, run.id)
    return SpecificityReport(
        dataset_id,
        run.id,
        total,
        measured_count,
        retrieved_count,
        most,
        likeness,
        likeness is not None and likeness < queries.EASY,
        judge.pool_size,
        judge.pictures,
        judge.by,
    )


def picture_vectors(store: Store, engine: Engine, dataset_id: int) -> StoredVectors:
    """The vectors of a dataset's pictures by this session's model.

    Raises NotScored if the dataset is not scored by it, SettingsError if it stores no vectors.
    """
    run = scored_by_this_model(store, engine, store.read(get_dataset, dataset_id))
    if engine.scorer.info.compares_pairs:
        raise SettingsError(
            "LEMoN compares pairs with each other; specificity needs the vectors of clip, siglip, "
            "blip-itc or blip-itm. Score the dataset with one of them."
        )
    return stored_images(store, engine, run).open()


def texts_of(engine: Engine, captions: Sequence[str]) -> NDArray[np.float32]:
    """Unit vectors [captions, d] from the scorer's text encoder."""
    with engine.lock:
        return unit(engine.scorer.text_embeddings(captions))


def _run(judge: "Judge") -> RunRow:
    """The run with exactly the judge's parameters: an existing one, or a new one, which clears the
    values of others."""
    with judge.store.writing() as session:
        run = run_queries.find_or_start_by(
            session,
            judge.engine.scorer.info,
            kind=KIND,
            dataset_id=judge.dataset_id,
            code_version=VERSION,
            parameters={
                "neighbours": NEIGHBOURS,
                "scale": round(judge.scale, 4),
                "pool": judge.pool_size,
                "pictures": judge.pictures,
                "by": judge.by,
                **(
                    {"constants": [part.text for part in judge.constants]}
                    if judge.constants
                    else {}
                ),
            },
        )
        queries.keep_only(session, judge.dataset_id, run.id)
    return run


@dataclass(frozen=True)
class _Pool:
    """The pictures searched for neighbours: a pair of each, its name, its unit vector [n, d]."""

    pairs: NDArray[np.int64]
    names: NDArray[np.object_]
    vectors: NDArray[np.float32]


class Judge:
    """Compares captions of one dataset with the picture pool; writes nothing."""

    def __init__(self, store: Store, engine: Engine, dataset_id: int, pool: int = POOL) -> None:
        self.store, self.engine, self.dataset_id = store, engine, dataset_id
        self._most = pool
        self._vectors = picture_vectors(store, engine, dataset_id)
        self.scale = logit_scale_of(engine.scorer, USUAL_SCALE)
        info = engine.scorer.info
        self.by = info.auxiliary or info.kind
        self.constants = left_out(constants_before(store, dataset_id))
        with store.reading() as session:
            self.pictures = queries.count_pictures(session, dataset_id)

    @property
    def pool_size(self) -> int:
        return len(self._pool.pairs)

    @cached_property
    def _pool(self) -> _Pool:
        sample = self.store.read(queries.pictures, self.dataset_id, self._most)
        has_vector = self._vectors.has([pair for pair, _ in sample])
        sample = [caption for caption, is_kept in zip(sample, has_vector, strict=True) if is_kept]
        pairs = np.array([pair for pair, _ in sample], np.int64)
        names = np.array([name for _, name in sample], np.object_)
        return _Pool(pairs, names, unit(self._vectors.of(pairs)))

    @cached_property
    def _index(self) -> Any:
        import faiss

        index = faiss.IndexFlatIP(self._pool.vectors.shape[1])
        index.add(self._pool.vectors)
        return index

    def measure(self, batch: Sequence[PairCaption], run_id: int) -> list[RetrievalRow]:
        """The rows, under this run, of those pairs whose picture has a vector."""
        has_vector = self._vectors.has([caption.pair_id for caption in batch])
        batch = [caption for caption, is_known in zip(batch, has_vector, strict=True) if is_known]
        if not batch:
            return []
        images = unit(self._vectors.of([caption.pair_id for caption in batch]))
        texts = texts_of(self.engine, [self._judged_text(caption.caption) for caption in batch])
        rows = []
        for caption, picture, text, (near, cosines) in zip(
            batch, images, texts, self._neighbours(batch, images), strict=True
        ):
            result = retrieve(float(picture @ text), self._pool.vectors[near] @ text, self.scale)
            better = tuple(int(self._pool.pairs[near[place]]) for place in result.better)
            likeness = float(cosines.mean()) if len(cosines) else 0.0
            rows.append(
                RetrievalRow(
                    caption.pair_id, run_id, result.specificity, result.rank, result.of,
                    likeness, better,
                )
            )  # fmt: skip
        return rows

    def ranks_of(self, pair_id: int, captions: Sequence[str]) -> list[tuple[float, int, int]]:
        """(specificity, rank, of) of other captions for a pair's picture; empty if it has no
        vector."""
        if not self._vectors.has([pair_id])[0]:
            return []
        pair = self.store.read(pair_queries.get_pair, pair_id)
        image = unit(self._vectors.of([pair_id]))
        ((near, _),) = self._neighbours([PairCaption(pair_id, pair.image_path, "")], image)
        results = [
            retrieve(float(image[0] @ text), self._pool.vectors[near] @ text, self.scale)
            for text in texts_of(self.engine, list(map(self._judged_text, captions)))
        ]
        return [(result.specificity, result.rank, result.of) for result in results]

    def _judged_text(self, caption: str) -> str:
        """The caption without its constant parts, as scoring reads it."""
        text = blank_out(caption, self.constants)
        return caption if text == caption else " ".join(text.split())

    def _neighbours(
        self, batch: Sequence[PairCaption], images: NDArray[np.float32]
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        """For each pair, rows of the pool and their cosines: the nearest pictures that are other
        files and not near duplicates."""
        size = len(self._pool.pairs)
        count = min(NEIGHBOURS + _SPARE, size)
        if not count:
            yield from ((np.zeros(0, np.int64), np.zeros(0, np.float32)) for _ in batch)
            return
        cosines, rows = self._index.search(images, count)
        for index, caption in enumerate(batch):
            near, alike, limit = rows[index], cosines[index], count
            while True:
                other = (alike < NEAR_DUPLICATE) & (self._pool.names[near] != caption.image_path)
                if other.sum() >= NEIGHBOURS or limit == size:
                    break
                limit = min(size, limit * 8)  # many near duplicates: look further
                similarities, further = self._index.search(images[index : index + 1], limit)
                near, alike = further[0], similarities[0]
            yield near[other][:NEIGHBOURS], alike[other][:NEIGHBOURS]
