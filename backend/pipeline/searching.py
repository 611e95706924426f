"""Find pairs by what their caption means and by what their picture looks like.

Image vectors are a by-product of scoring and written as images are encoded; caption vectors are
made by a stage of their own (`remember_meanings`), which goes on where it stopped.
"""

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from threading import Lock

from backend.embeddings import MEANING_WIDTH
from backend.engine import Engine
from backend.errors import SettingsError
from backend.pipeline import Progress
from backend.scoring.protocol import FloatArray
from backend.search.nearest import Nearest
from backend.search.vector_file import VectorFile
from backend.store import Store
from db.queries import pairs as pair_queries
from db.queries import runs as run_queries
from db.queries.runs import RunRow

#: What a search brings at most: nobody reads further.
FOUND_AT_MOST = 200
#: Pictures this near each other are near duplicates.
NEAR_DUPLICATE = 0.98
_BATCH = 500
_KEPT = 64

#: "like" fields: what is compared, with the pair whose picture or caption it is.
WAYS = ("image", "duplicate", "caption")


def image_file(store: Store, engine: Engine, run: RunRow) -> Path:
    """Where the vectors of the run's images are kept: another scorer sees otherwise."""
    name = f"images-{run.scorer_kind}-{run.revision}.vectors"
    return _folder(store, engine, run.dataset_id or 0) / name


def remember_images(path: Path, pairs: Sequence[int], vectors: FloatArray | None) -> None:
    """Keep the vectors of images that have just been encoded."""
    if vectors is not None and len(pairs):
        VectorFile(path, vectors.shape[1]).append(pairs, vectors)
        width = path.with_suffix(".width")
        if not width.exists():
            width.write_text(str(vectors.shape[1]), encoding="ascii")


def remember_meanings(
    store: Store, engine: Engine, dataset_id: int, total: int, progress: Progress
) -> None:
    """Vectors of all captions that have none yet."""
    file = VectorFile(_meanings(store, engine, dataset_id), MEANING_WIDTH)
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
        progress(done, total, "Meanings of captions")


class Finder:
    """Answers searches; keeps the newest answers, because every key on a page asks again."""

    def __init__(self, store: Store, engine: Engine) -> None:
        self._store = store
        self._engine = engine
        self._lock = Lock()
        self._indexes: dict[Path, Nearest] = {}
        self._answers: OrderedDict[tuple[int, str, str, int], tuple[int, ...]] = OrderedDict()

    def by_meaning(self, dataset_id: int, text: str) -> tuple[int, ...]:
        """Pairs whose captions mean something like the text, nearest first."""
        index = self._index(_meanings(self._store, self._engine, dataset_id), MEANING_WIDTH)
        if not len(index):
            raise SettingsError("Captions cannot be searched by meaning before they are scored.")
        return self._answer(dataset_id, "meaning", text, index)

    def like(self, dataset_id: int, like: str) -> tuple[int, ...]:
        """`like`: 'image:12', 'duplicate:12' or 'caption:12'; the pair itself comes first."""
        way, _, number = like.partition(":")
        if way not in WAYS or not number.isdigit():
            raise SettingsError(f"'{like}' is no search; there are {', '.join(WAYS)}.")
        index = (
            self._index(_meanings(self._store, self._engine, dataset_id), MEANING_WIDTH)
            if way == "caption"
            else self._images(dataset_id)
        )
        return self._answer(dataset_id, way, number, index)

    def _answer(self, dataset_id: int, way: str, what: str, index: Nearest) -> tuple[int, ...]:
        key = (dataset_id, way, what, len(index))
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
                return self._answers[key]
        if way == "meaning":
            vector = self._engine.meanings([what])[0]
        else:
            known = index.vector(int(what))
            if known is None:
                raise SettingsError(
                    "Nothing can be compared with this pair yet. Score the dataset first."
                )
            vector = known
        with self._lock:
            near = index.of(vector, FOUND_AT_MOST)
            if way == "duplicate":
                near = [(pair, cosine) for pair, cosine in near if cosine >= NEAR_DUPLICATE]
            found = tuple(pair for pair, _ in near)
            self._answers[key] = found
            while len(self._answers) > _KEPT:
                self._answers.popitem(last=False)
        return found

    def _images(self, dataset_id: int) -> Nearest:
        with self._store.reading() as session:
            run = run_queries.latest_run(session, dataset_id, "score")
        path = image_file(self._store, self._engine, run) if run else None
        width = path.with_suffix(".width") if path is not None else None
        if path is None or width is None or not width.exists():
            raise SettingsError(
                "Pictures cannot be compared: the dataset has not been scored by this version, or "
                "its scorer gives no vectors. Run: python app.py score NAME"
            )
        return self._index(path, int(width.read_text(encoding="ascii")))

    def _index(self, path: Path, width: int) -> Nearest:
        with self._lock:
            return self._indexes.setdefault(path, Nearest(path, width))


def _folder(store: Store, engine: Engine, dataset_id: int) -> Path:
    return engine.settings.data_directory / "search" / store.identity / str(dataset_id)


def _meanings(store: Store, engine: Engine, dataset_id: int) -> Path:
    return _folder(store, engine, dataset_id) / "captions.vectors"
