"""The neighbours that LEMoN compares a pair with: all pairs of the dataset, embedded once.

Vectors are kept beside the store in parts, so that a kill costs one part at most and a second run
none.
"""

import zipfile
from pathlib import Path

import numpy as np

from backend.engine import Engine
from backend.pipeline import Progress
from backend.pipeline.pictures import encode_images
from backend.scoring.lemon import LemonScorer, NeighbourBank
from backend.scoring.lemon_fit import fit_parameters
from backend.scoring.protocol import FloatArray
from backend.store import Store
from db.queries import datasets as dataset_queries
from db.queries import pairs as pair_queries
from db.queries.pairs import PairRow

#: Pairs whose vectors are written together.
PART = 512

_Part = tuple[list[int], FloatArray, FloatArray]


def prepare_neighbours(store: Store, engine: Engine, dataset_id: int, progress: Progress) -> None:
    """Give a LEMoN scorer the dataset's pairs; nothing to do for other scorers.

    With the setting `lemon = "opt"` its weights are fitted to the pairs that have verdicts, which
    raises TrainingError if there are too few.
    """
    scorer = engine.scorer
    if not isinstance(scorer, LemonScorer):
        return
    with store.reading() as session:
        root = Path(dataset_queries.get_dataset(session, dataset_id).root)
        total = pair_queries.counts(session, dataset_id).total
    if scorer.prepared_for == (dataset_id, total):
        return
    revision = scorer.base.info.revision
    kind = scorer.base.info.kind
    kept = engine.settings.data_directory / "neighbours" / store.identity
    folder = kept / f"{dataset_id}-{kind}-{revision}"
    folder.mkdir(parents=True, exist_ok=True)
    parts: list[_Part] = []
    after = 0
    while True:
        with store.reading() as session:
            pairs = pair_queries.pairs_after(session, dataset_id, after, PART)
        if not pairs:
            break
        path = folder / f"{pairs[0].id}-{pairs[-1].id}.npz"
        parts.append(_read(path) or _embed(engine, scorer, root, pairs, path))
        after = pairs[-1].id
        progress(min(total, len(parts) * PART), total, "Embedding the neighbours")
    keys = [key for found, _, _ in parts for key in found]
    if not keys:
        return
    scorer.bank = NeighbourBank(
        keys, np.concatenate([p[1] for p in parts]), np.concatenate([p[2] for p in parts])
    )
    scorer.prepared_for = (dataset_id, total)
    if engine.settings.lemon == "opt":
        _fit(store, scorer, dataset_id)


def _read(path: Path) -> _Part | None:
    try:
        with np.load(path, allow_pickle=False) as found:
            return found["keys"].tolist(), found["images"], found["captions"]
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return None  # not there, or written by halves


def _embed(
    engine: Engine, scorer: LemonScorer, root: Path, pairs: list[PairRow], path: Path
) -> _Part:
    """Vectors of the pairs whose images can be read."""
    with engine.lock:
        states, _ = encode_images(engine, root, [pair.image_path for pair in pairs])
        readable = [pair for pair in pairs if pair.image_path in states]
        captions = scorer.text_embeddings([pair.caption for pair in readable])
    width = captions.shape[1] if len(readable) else 0
    images = (
        np.stack([states[pair.image_path].vector.numpy() for pair in readable])
        if (readable)
        else np.zeros((0, width), np.float32)
    )
    keys = [pair.id for pair in readable]
    beside = path.with_suffix(".part")
    with beside.open("wb") as file:
        np.savez(file, keys=np.array(keys, np.int64), images=images, captions=captions)
    beside.replace(path)
    return keys, images, captions


def _fit(store: Store, scorer: LemonScorer, dataset_id: int) -> None:
    bank = scorer.neighbours()
    rows, wrong = [], []
    with store.reading() as session:
        for pair in pair_queries.iterate_pairs(session, dataset_id):
            row = bank.row_of(pair.id)
            if row >= 0 and pair.decision in ("correct", "correction", "drop"):
                rows.append(row)
                wrong.append(pair.decision != "correct")
    scorer.parameters = fit_parameters(
        bank, np.array(rows, np.int64), np.array(wrong, np.bool_), scorer.parameters.neighbours
    )
