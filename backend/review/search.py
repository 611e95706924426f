"""Find pairs by caption meaning and by picture similarity: nearest neighbours over a dataset's
vectors, in memory, with one byte per dimension.
"""

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image

from backend import plugins
from backend.engine.embeddings import MEANING_WIDTH
from backend.errors import SettingsError
from backend.jobs.scoring.vectors import VectorFile, meanings_file, stored_images
from backend.loaded_models import Engine
from backend.review.queue_form import id_in
from backend.store import Store
from db.queries import run_queries

#: Up to this many vectors are compared exactly, without training a quantiser.
_EXACT_UP_TO = 20_000


class Nearest:
    """Nearest-neighbour lookup; reloads the file when it has grown."""

    def __init__(self, path: Path, width: int) -> None:
        self._file = VectorFile(path, width)
        self._stamp = -1
        self._pairs = np.zeros(0, np.int64)
        self._index: Any = None

    def __len__(self) -> int:
        self._refresh()
        return len(self._pairs)

    def of(self, vector: ArrayLike, count: int) -> list[tuple[int, float]]:
        """(pair, cosine), nearest first. `vector`: a unit vector [width]."""
        self._refresh()
        if not len(self._pairs):
            return []
        query = np.asarray(vector, np.float32).reshape(1, -1)
        cosines, rows = self._index.search(query, min(count, len(self._pairs)))
        return [
            (int(self._pairs[row]), float(cosine))
            for row, cosine in zip(rows[0], cosines[0], strict=True)
            if row >= 0
        ]

    def vector(self, pair: int) -> NDArray[np.float32] | None:
        """The pair's own vector, None if it has none yet."""
        self._refresh()
        row = int(np.searchsorted(self._pairs, pair))
        if row >= len(self._pairs) or self._pairs[row] != pair:
            return None
        vector: NDArray[np.float32] = self._index.reconstruct(row)
        return vector

    def _refresh(self) -> None:
        stamp = self._file.stamp()
        if stamp == self._stamp:
            return
        import faiss

        pairs, vectors = self._file.read()
        width = self._file.width
        if len(pairs) <= _EXACT_UP_TO:
            index: Any = faiss.IndexFlatIP(width)
        else:
            index = faiss.IndexScalarQuantizer(
                width, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
            )
            step = len(pairs) // _EXACT_UP_TO
            index.train(np.ascontiguousarray(vectors[::step], np.float32))
        for first in range(0, len(pairs), _EXACT_UP_TO):
            index.add(np.ascontiguousarray(vectors[first : first + _EXACT_UP_TO], np.float32))
        self._pairs, self._index, self._stamp = pairs, index, stamp


#: Maximum number of search results.
FOUND_AT_MOST = 200
_KEPT = 64


@dataclass(frozen=True)
class SimilarityKind:
    """A kind of likeness between pairs: `like=NAME:PAIR` in a queue.

    `find(search, dataset id, pair id)`: the pairs, nearest first, the pair itself before all
    others; raises SettingsError where it cannot be compared. `in_common`: what all of them have in
    common, with {} for the pair's id. `action`: of the review page, which opens that queue;
    `button`: its text under "More like this", "" if it is not there; `key`: as shown on it.
    """

    name: str
    find: Callable[["PairSearch", int, int], tuple[int, ...]]
    in_common: str
    action: str
    button: str = ""
    key: str = ""


class PairSearch:
    """Runs searches; caches recent results, because every key press on a page repeats them."""

    def __init__(self, store: Store, engine: Engine) -> None:
        self.store = store
        self._engine = engine
        self._lock = Lock()
        self._indexes: dict[Path, Nearest] = {}
        self._answers: OrderedDict[tuple[int, str, str, int, float], tuple[int, ...]] = (
            OrderedDict()
        )

    def by_meaning(self, dataset_id: int, text: str) -> tuple[int, ...]:
        """Pairs whose captions are similar in meaning to the text, nearest first."""
        index = self._index(meanings_file(self.store, self._engine, dataset_id), MEANING_WIDTH)
        if not len(index):
            run = self.store.read(run_queries.latest_run, dataset_id, "score")
            raise SettingsError(
                "Captions cannot be searched by meaning until they are scored."
                if run is None
                else "The index of caption meanings is missing. Score the dataset again: existing "
                "scores stay, and only the index is rebuilt."
            )
        return self._answer(dataset_id, "meaning", text, index)

    def like(self, dataset_id: int, like: str) -> tuple[int, ...]:
        """`like`: a kind of likeness and a pair's id, as 'image:12'; see `SimilarityKind`."""
        name, _, number = like.partition(":")
        kinds, pair_id = similarity_kinds(), id_in(number)
        if name not in kinds or pair_id is None:
            raise SettingsError(f"'{like}' is not a search; there are {', '.join(kinds)}.")
        return kinds[name].find(self, dataset_id, pair_id)

    def nearest_pictures(
        self, dataset_id: int, pair_id: int, at_least: float = -math.inf
    ) -> tuple[int, ...]:
        """Pairs whose pictures are like this pair's, nearest first. `at_least`: their least cosine
        with it."""
        run = self.store.read(run_queries.latest_run, dataset_id, "score")
        file = stored_images(self.store, self._engine, run)
        index = self._index(file.path, file.width)
        return self._answer(dataset_id, "image", str(pair_id), index, at_least)

    def nearest_captions(self, dataset_id: int, pair_id: int) -> tuple[int, ...]:
        """Pairs whose captions are like this pair's in meaning, nearest first."""
        index = self._index(meanings_file(self.store, self._engine, dataset_id), MEANING_WIDTH)
        return self._answer(dataset_id, "caption", str(pair_id), index)

    def like_picture(self, dataset_id: int, engine: Engine, image: Image.Image) -> tuple[int, ...]:
        """Pairs whose pictures are like one that the dataset does not have, nearest first.
        `engine`: the dataset's. Raises SettingsError where pictures cannot be compared."""
        run = self.store.read(run_queries.latest_run, dataset_id, "score")
        file = stored_images(self.store, self._engine, run)
        vectors = engine.image_embeddings(engine.encode([image]))
        if vectors is None or vectors.shape[1] != file.width:
            raise SettingsError("The dataset was scored by another model: score it again first.")
        index = self._index(file.path, file.width)
        with self._lock:
            return tuple(pair for pair, _ in index.of(vectors[0], FOUND_AT_MOST))

    def _answer(
        self, dataset_id: int, way: str, what: str, index: Nearest, at_least: float = -math.inf
    ) -> tuple[int, ...]:
        key = (dataset_id, way, what, len(index), at_least)
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
                return self._answers[key]
        if way == "meaning":
            vector = self._engine.meanings([what])[0]
        else:
            pair_vector = index.vector(int(what))
            if pair_vector is None:
                raise SettingsError(
                    "This pair cannot be compared with others yet. Score the dataset first."
                )
            vector = pair_vector
        with self._lock:
            near = index.of(vector, FOUND_AT_MOST)
            pair_ids = tuple(pair for pair, cosine in near if cosine >= at_least)
            self._answers[key] = pair_ids
            while len(self._answers) > _KEPT:
                self._answers.popitem(last=False)
        return pair_ids

    def _index(self, path: Path, width: int) -> Nearest:
        with self._lock:
            return self._indexes.setdefault(path, Nearest(path, width))


_OF_PICTURES = SimilarityKind(
    "image", PairSearch.nearest_pictures, "pictures like {}'s", "same-picture",
    "pictures like this", "P",
)  # fmt: skip
_OF_CAPTIONS = SimilarityKind(
    "caption", PairSearch.nearest_captions, "captions like {}'s", "same-caption",
    "captions like this",
)  # fmt: skip


@cache
def similarity_kinds() -> dict[str, SimilarityKind]:
    """Every kind of likeness by its name: ours, then those of features and packages."""
    kinds = {kind.name: kind for kind in (_OF_PICTURES, _OF_CAPTIONS)}
    plugins.load("similarity_kinds", SimilarityKind, partial(add_kind, kinds))
    return kinds


def add_kind(kinds: dict[str, SimilarityKind], added: SimilarityKind) -> None:
    """Raises ValueError for one whose name or action is taken."""
    for kind in kinds.values():
        if added.name == kind.name or added.action == kind.action:
            raise ValueError(f"There is a kind of likeness '{kind.name}' already.")
    kinds[added.name] = added
