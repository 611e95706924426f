"""Estimate the time, disk space and memory that scoring a dataset will take, from a few pairs.

Each stage is measured on pairs of the dataset itself and extrapolated: trajectories, the
captioner's expectations, text models, and the noisy copies that a first detector is trained on.
Nothing is stored.
"""

import random
import time
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from backend.engine import memory
from backend.engine.detection.cold_start import COPIES_WANTED, FEWEST_PAIRS
from backend.engine.embeddings import MEANING_WIDTH
from backend.errors import ImageError, SettingsError
from backend.jobs.dataset_pairs import prepare_scorer
from backend.jobs.detect import COLD_START_PAIRS
from backend.jobs.image_batches import encode_opened, open_pictures
from backend.jobs.known_pictures import check_pictures
from backend.jobs.score_dataset import what_run
from backend.jobs.stored_trajectories import to_row
from backend.loaded_models import Engine
from backend.progress import Progress, no_progress
from backend.store import Store
from db.queries import classifiers as classifier_queries
from db.queries import datasets as dataset_queries
from db.queries import pairs as pair_queries
from db.queries import runs as run_queries
from db.queries.pairs import PairRow

#: Number of pairs to measure.
PAIRS = 20
#: Overhead of a database row in bytes, beyond its values: keys, headers, index entries.
_ROW = 200


@dataclass(frozen=True)
class Estimate:
    """The remaining work for a dataset, in seconds and bytes.

    `copies`: noisy copies of captions that a first detector is trained on; 0 if a detector exists.
    `seconds` is the sum of the parts. Corrections are not included: how many there will be is
    unknown until the probabilities are.
    """

    model: str
    device: str
    pairs: int
    copies: int
    measured: int
    trajectories_seconds: float
    copies_seconds: float
    captioner_seconds: float
    texts_seconds: float
    disk: int
    memory: int

    @property
    def seconds(self) -> float:
        return (
            self.trajectories_seconds + self.copies_seconds + self.captioner_seconds
            + self.texts_seconds
        )  # fmt: skip


@dataclass(frozen=True)
class _Costs:
    """Costs per pair: seconds by stage, bytes of its trajectory and of its picture's vector."""

    trajectory: float
    captioner: float
    texts: float
    row: float
    vector: int


def estimate(
    store: Store,
    engine: Engine,
    dataset_id: int,
    progress: Progress = no_progress,
    anyway: bool = False,
) -> Estimate:
    """Measure `PAIRS` of the dataset's pairs. Raises ModelUnavailable, UnknownPictures, NotFound,
    and ImageError if none of their pictures can be read."""
    progress(0, PAIRS, "Loading the model")
    captioner = engine.captioner
    with store.reading() as session:
        root = Path(dataset_queries.get_dataset(session, dataset_id).root)
        run = run_queries.find_run(session, **what_run(engine, dataset_id))
        run_id = run.id if run is not None else 0
        ids = array(
            "q", (i for i, _ in pair_queries.unscored_by_image(session, dataset_id, run_id))
        )
        active = classifier_queries.active(session, dataset_id)
        total = pair_queries.counts(session, dataset_id).total
        chosen = random.Random(0).sample(ids, min(PAIRS, len(ids)))
        pairs = pair_queries.pairs_of(session, chosen)
    if not anyway:
        check_pictures(store, engine, dataset_id, run_id)
    if not pairs:
        raise SettingsError("All pairs of this dataset are scored with this model already.")
    prepare_scorer(store, engine, dataset_id, progress)
    _measure(engine, root, pairs[:1])  # warm-up is not counted
    costs = _measure(engine, root, pairs)
    progress(PAIRS, PAIRS, "Measuring pairs")
    has_detector = active is not None and run is not None and active.report.get("run") == run.id
    copies = 0 if has_detector else copies_of(total)
    info = engine.scorer.info
    return Estimate(
        model=info.model,
        device=info.device,
        pairs=len(ids),
        copies=copies,
        measured=len(pairs),
        trajectories_seconds=costs.trajectory * len(ids),
        copies_seconds=(costs.trajectory + costs.captioner) * copies,
        captioner_seconds=costs.captioner * len(ids) if captioner is not None else 0.0,
        texts_seconds=costs.texts * len(ids),
        disk=round((costs.row + costs.vector + 4 * MEANING_WIDTH) * len(ids) + costs.row * copies),
        memory=memory.resident(),
    )


def copies_of(pairs: int) -> int:
    """Number of noisy copies that a cold start scores for this many pairs; see `make_copies`.

    >>> copies_of(100), copies_of(785), copies_of(1_000_000), copies_of(3)
    (300, 1570, 2000, 0)
    """
    used = min(pairs, COLD_START_PAIRS)
    if used < FEWEST_PAIRS:
        return 0
    return used * max(1, min(3, round(COPIES_WANTED / used)))


def _measure(engine: Engine, root: Path, pairs: Sequence[PairRow]) -> _Costs:
    """Measure the pairs in one batch, as scoring does. Raises ImageError if none is readable."""
    began = time.monotonic()
    opened = open_pictures(root, [pair.image_path for pair in pairs])
    states, problems = encode_opened(engine, opened)
    readable = [pair for pair in pairs if pair.image_path in states]
    if not readable:
        name, why = next(iter(problems.items()))
        raise ImageError(f"{name}: {why}")
    seen = engine.image_embeddings([states[pair.image_path] for pair in readable])
    trajectories = engine.trajectories(
        [(states[pair.image_path], pair.caption) for pair in readable],
        [pair.id for pair in readable],
    )
    after_trajectories = time.monotonic()
    asked: list[tuple[Image.Image, str]] = [
        (image, pair.caption)
        for pair in readable
        if isinstance(image := opened[pair.image_path], Image.Image)
    ]
    engine.expectations(asked)
    after_captioner = time.monotonic()
    captions = [pair.caption for pair in readable]
    engine.concreteness(captions)
    engine.meanings(captions)
    ended = time.monotonic()
    count = len(readable)
    rows = [to_row(pair.id, made) for pair, made in zip(readable, trajectories, strict=True)]
    return _Costs(
        (after_trajectories - began) / count,
        (after_captioner - after_trajectories) / count,
        (ended - after_captioner) / count,
        sum(_ROW + bytes_in(row) for row in rows) / count,
        4 * seen.shape[1] if seen is not None else 0,
    )


def bytes_in(value: Any) -> int:
    """Size in bytes of the arrays, numbers and texts in a record.

    >>> bytes_in(("dog", 1, np.zeros(3, np.float32), None))
    23
    """
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, str):
        return len(value.encode())
    if isinstance(value, int | float):
        return 8
    if isinstance(value, Sequence):
        return sum(bytes_in(item) for item in value)
    return sum(bytes_in(item) for item in vars(value).values()) if hasattr(value, "__dict__") else 0
