"""Before hours of work, what scoring a dataset will take: time, disk and memory, from a few pairs.

The stages are measured on pairs of the dataset itself and multiplied by how many there are of them:
trajectories, what the captioner expects, the texts, and the noisy copies that a first detector is
trained on. Nothing is stored.
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

#: Pairs that are measured.
PAIRS = 20
#: What a row of the database takes beside its values: keys, headers, its place in indexes.
_ROW = 200


@dataclass(frozen=True)
class Estimate:
    """What is still to do for a dataset. Seconds, bytes.

    `copies`: noisy copies of captions that a first detector is trained on; 0 where there is one.
    `seconds` is the sum of the parts; corrections come on top, and are known only when the
    probabilities are.
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
    """Of one pair: seconds by stage, bytes of its trajectory and of its picture's vector."""

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
    _measure(engine, root, pairs[:1])  # what a model does once is no pair's time
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
    """How many noisy copies a cold start scores for a dataset of so many pairs: see `make_copies`.

    >>> copies_of(100), copies_of(785), copies_of(1_000_000), copies_of(3)
    (300, 1570, 2000, 0)
    """
    used = min(pairs, COLD_START_PAIRS)
    if used < FEWEST_PAIRS:
        return 0
    return used * max(1, min(3, round(COPIES_WANTED / used)))


def _measure(engine: Engine, root: Path, pairs: Sequence[PairRow]) -> _Costs:
    """What the pairs take, as scoring treats them: in one batch."""
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
    """What the arrays, numbers and texts in a record take.

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
