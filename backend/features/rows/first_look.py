"""A first look at the rows of a dataset that is not scored yet.

The first rows of the source are encoded by the smallest model here that knows the pictures, and
compared as scoring compares all of them. What is found stands until scoring looks again.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from backend.errors import TracedError
from backend.features.rows import mending
from backend.features.rows.alignment import FEWEST_ROWS
from backend.features.rows.queries import FirstRow, first_rows
from backend.features.rows.report import RowsReport
from backend.features.rows.row_sequences import sequences_of
from backend.features.rows.search import compare
from backend.jobs.model_manager import Models, ModelView
from backend.jobs.scoring.dataset_models import DatasetEngines
from backend.jobs.scoring.image_batches import encode_opened, open_ahead
from backend.jobs.scoring.known_pictures import examine
from backend.jobs.scoring.vectors import StoredVectors
from backend.loaded_models import Engine
from backend.progress import Progress
from backend.store import Store
from db.queries import dataset_queries, pair_queries, run_queries

#: The largest model, in parameters, that a look which nobody asked for loads.
_LARGEST = 500_000_000
#: Seconds after which no further pictures are encoded.
_LONGEST = 120.0
#: Pictures encoded at once: a page that needs a model waits for no more.
_BATCH = 32


def is_due(store: Store, dataset_id: int) -> bool:
    """Whether the dataset has enough rows, and scoring has not looked or begun to score."""
    with store.reading() as session:
        return (
            run_queries.latest_run(session, dataset_id, "score") is None
            and pair_queries.totals(session, dataset_id)[0] >= FEWEST_ROWS
        )


def look_first(
    store: Store, engines: DatasetEngines, dataset_id: int, most: int, progress: Progress
) -> RowsReport:
    """Look at the first `most` rows in the order of the import, and remember what is found unless
    the dataset is being scored by then."""
    with store.reading() as session:
        total = pair_queries.totals(session, dataset_id)[0]
        rows = first_rows(session, dataset_id, most)
        root = Path(dataset_queries.get_dataset(session, dataset_id).root)
    if not is_due(store, dataset_id):
        reason = (
            f"Only datasets of {FEWEST_ROWS} rows or more that are not yet scored are looked at."
        )
        return RowsReport(dataset_id, total, 0, (reason,), (), is_first_look=True)
    sequences = list(sequences_of(row[:3] for row in rows))
    problems: list[str] = []
    for name, engine in _engines(store, engines, dataset_id, problems):
        try:
            vectors = _encode(engine, root, rows, progress)
        except TracedError as problem:
            problems.append(f"{name}: {problem}")
            continue
        if not len(vectors.pairs):
            problems.append(f"{name} has no vectors of these pictures.")
            continue
        search = compare(store, engine, vectors, sequences, progress)
        has_begun = not is_due(store, dataset_id)
        report = mending.plan(store, dataset_id, search)
        report = replace(report, pairs=total, model=name, is_first_look=True)
        if not has_begun:
            store.write(mending.remember, engine, report, search.set_aside)
        return report
    problems.append("No model here can compare the rows before scoring.")
    return RowsReport(dataset_id, total, 0, tuple(problems), (), is_first_look=True)


def _engines(
    store: Store, engines: DatasetEngines, dataset_id: int, problems: list[str]
) -> Iterator[tuple[str, Engine]]:
    """The models on this machine that may know the pictures, the smallest first; why others do not
    is added to `problems`."""
    dataset = store.read(dataset_queries.get_dataset, dataset_id)
    for view in sorted(_candidates(store, engines), key=lambda view: view.parameters or 0):
        try:
            engine = engines.of_dataset(dataset_id, view.name)
            refusal = examine(store, engine, dataset).refusal
        except TracedError as problem:
            refusal = f"{view.name}: {problem}"
        if refusal:
            problems.append(refusal)
        else:
            yield view.name, engine


def _candidates(store: Store, engines: DatasetEngines) -> Iterator[ModelView]:
    for view in Models(store, engines).list_models():
        if view.is_here and view.parameters is not None and view.parameters <= _LARGEST:
            yield view


def _encode(
    engine: Engine, root: Path, rows: Sequence[FirstRow], progress: Progress
) -> StoredVectors:
    """The vectors of these rows' pictures, as far as they can be read in the time that there is;
    none of a scorer without vectors."""
    began, done = time.monotonic(), 0
    pairs: list[int] = []
    parts: list[NDArray[np.float32]] = []
    batches = (rows[start : start + _BATCH] for start in range(0, len(rows), _BATCH))
    for batch, pictures in open_ahead(root, batches):
        with engine.lock:
            states, _ = encode_opened(engine, pictures)
            vectors = engine.scorer.image_embeddings(list(states.values()))
        done += len(batch)
        progress(done, len(rows), "Looking at the first rows")
        if vectors is not None:
            place_of = {name: place for place, name in enumerate(states)}
            encoded_rows = [row for row in batch if row.image_path in place_of]
            pairs += [row.pair_id for row in encoded_rows]
            parts.append(vectors[[place_of[row.image_path] for row in encoded_rows]])
        elif states:
            break
        if time.monotonic() - began > _LONGEST:
            break
    values = np.concatenate(parts) if parts else np.zeros((0, 1), np.float32)
    order = np.argsort(np.array(pairs, np.int64))
    return StoredVectors(np.array(pairs, np.int64)[order], order, values.astype(np.float16))
