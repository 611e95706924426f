"""Estimate the time, disk space and memory that scoring a dataset will take, from a few pairs.

The remaining work of each stage (`score_dataset.units_left`) times what a unit costs: measured on
pairs of the dataset itself, of the detector's training by earlier jobs. Nothing is stored but these
costs, from which scoring reports the time left before it has measured its own.
"""

import random
import time
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from backend.engine import memory
from backend.engine.correction import judge
from backend.engine.correction.suggestion import CorrectionContext
from backend.engine.detection.types import detector_for, reads_later_steps
from backend.engine.embeddings import MEANING_WIDTH
from backend.engine.trajectories.depth import Depth
from backend.engine.trajectories.exploring import Exploring
from backend.engine.trajectories.trajectory import Trajectory
from backend.errors import ImageError, SettingsError
from backend.jobs.classifiers import suspects_by
from backend.jobs.dataset_models import depth_for
from backend.jobs.dataset_pairs import prepare_scorer
from backend.jobs.image_batches import encode_opened, open_pictures
from backend.jobs.known_pictures import UNKNOWN, check_pictures
from backend.jobs.score_dataset import models_of, run_key, units_left
from backend.jobs.scoring_stages import (
    CAPTIONER,
    COMPLETION,
    CONCRETENESS,
    COPIES,
    CORRECTIONS,
    MEANINGS,
    SHARED,
    STAGES,
    TRAINING,
    TRAJECTORIES,
    WHOLE,
    Stage,
    keep_costs,
    kept_costs,
)
from backend.jobs.stored_trajectories import to_row
from backend.jobs.suggest import TOGETHER, judged_ahead
from backend.jobs.workers import Devices, decided
from backend.loaded_models import Engine
from backend.progress import Progress, no_progress
from backend.store import Store
from db.queries import datasets as dataset_queries
from db.queries import pairs as pair_queries
from db.queries import runs as run_queries
from db.queries import trajectories as trajectory_queries
from db.queries.pairs import PairRow

#: Number of pairs to measure.
PAIRS = 20
#: Seconds a pair of training the first detector, where no job has measured them: two processor
#: cores take 8 s for 2,000 pairs and 6 s for 300.
USUAL_TRAINING = 0.01
#: Overhead of a database row in bytes, beyond its values: keys, headers, index entries.
_ROW = 200
#: Which part of an estimate covers each stage of scoring; stages by what they report as progress.
PARTS: Mapping[str, str] = {stage.name: stage.part for stage in STAGES}


@dataclass(frozen=True)
class Estimate:
    """The remaining work for a dataset, in seconds and bytes.

    `copies`: noisy copies of captions that a first detector is trained on; 0 where there is one.
    `suggestions`: pairs that will usually look wrong and get corrections. `trajectories`: which
    pairs get whole ones (`depth.Depth.name`), at first or, `whole` of them, after their first
    steps. `processes`: how many will share the work and need `memory` together. `seconds` is the
    sum of the parts.
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
    training_seconds: float = 0.0
    suggestions: int = 0
    suggestions_seconds: float = 0.0
    trajectories: str = "all"
    whole: int = 0
    whole_seconds: float = 0.0
    processes: int = 1

    @property
    def seconds(self) -> float:
        return sum(getattr(self, part) for part in sorted(set(PARTS.values())))


@dataclass(frozen=True)
class _Sample:
    """Pairs of the dataset whose pictures can be read, pictures by name, and what they cost each:
    `seconds` by stage, `row` and `vector` in bytes."""

    pairs: Sequence[PairRow]
    images: Mapping[str, Image.Image]
    trajectories: Sequence[Trajectory]
    seconds: Mapping[Stage, float]
    row: float
    vector: int


def estimate(
    store: Store,
    engine: Engine,
    dataset_id: int,
    progress: Progress = no_progress,
    anyway: bool = False,
    suggestions: bool = True,
    devices: Devices | None = None,
) -> Estimate:
    """Measure `PAIRS` of the dataset's pairs, in this process alone; `anyway`, `suggestions` and
    `devices` as for scoring. Raises ModelUnavailable, UnknownPictures, NotFound, and ImageError if
    none of their pictures can be read."""
    progress(0, PAIRS, "Loading the model")
    depth = depth_for(store, engine, dataset_id)
    detector = detector_for(engine.settings.detector, depth.is_whole)
    with store.reading() as session:
        root = Path(dataset_queries.get_dataset(session, dataset_id).root)
        run = run_queries.find_run(session, **run_key(engine, dataset_id))
    run_id = run.id if run is not None else 0
    if not anyway:
        check_pictures(store, engine, dataset_id, run_id)
    units = units_left(store, engine, dataset_id, run_id, suggestions, depth)
    unscored, pairs = _remaining(store, dataset_id, run_id, depth, anyway)
    units |= dict.fromkeys((TRAJECTORIES, CONCRETENESS, MEANINGS), unscored)
    prepare_scorer(store, engine, dataset_id, progress)
    exploring = replace(engine.exploring, whole=depth.is_whole)
    _measure(engine, root, pairs[:1], exploring)  # warm-up is not counted
    sample = _measure(engine, root, pairs, exploring)
    later = sample
    if not depth.is_whole:
        progress(PAIRS, PAIRS, "Measuring whole trajectories")
        later = _measure(engine, root, pairs, engine.exploring)
    progress(PAIRS, PAIRS, "Measuring pairs")
    copied = sample
    if depth.is_whole and not reads_later_steps(detector):
        copied = _measure(engine, root, pairs, replace(exploring, whole=False))
    costs = dict(sample.seconds)
    costs[COPIES] = copied.seconds[TRAJECTORIES] + copied.seconds[CAPTIONER]
    costs[COMPLETION] = costs[WHOLE] = later.seconds[TRAJECTORIES]
    costs[CORRECTIONS] = 0.0
    if units[CORRECTIONS]:
        progress(0, 0, "Measuring corrections")
        costs[CORRECTIONS] = _correction_seconds(engine, later)
    chosen = decided(devices, engine, unscored + units[COPIES])
    processes = len(chosen.names) if chosen is not None else 1
    costs |= {stage: costs[stage] / processes for stage in SHARED & costs.keys()}
    models, folder = models_of(engine, depth), engine.settings.data_directory
    costs[TRAINING] = kept_costs(folder, models).get(TRAINING, USUAL_TRAINING)
    keep_costs(folder, models, {stage: cost for stage, cost in costs.items() if cost > 0})
    seconds = dict.fromkeys(PARTS.values(), 0.0)
    for stage, cost in costs.items():
        seconds[stage.part] += cost * units[stage]
    info = engine.scorer.info
    values = sample.row + sample.vector + 4 * MEANING_WIDTH
    return Estimate(
        model=info.model,
        device=info.device,
        pairs=unscored,
        copies=units[COPIES],
        measured=len(pairs),
        disk=round(values * unscored + sample.row * units[COPIES]),
        memory=memory.resident() * processes,
        suggestions=units[CORRECTIONS],
        trajectories=depth.name,
        whole=units[COMPLETION] + units[WHOLE],
        processes=processes,
        **seconds,
    )


def _remaining(
    store: Store, dataset_id: int, run_id: int, depth: Depth, anyway: bool
) -> tuple[int, list[PairRow]]:
    """How many pairs will be scored, and those to measure: some of them, or of those with only
    first steps. Raises SettingsError if there are none."""
    with store.reading() as session:
        left_out = dataset_queries.files_with_problem(session, dataset_id, UNKNOWN)
        left_out = set() if anyway else left_out
        waiting = pair_queries.unscored_by_image(session, dataset_id, run_id)
        unscored = array("q", (i for i, name in waiting if name not in left_out))
        left = unscored
        if depth.is_whole and not unscored:
            lacking = trajectory_queries.lacking_steps(session, run_id, dataset_id)
            left = array("q", (i for i, _ in lacking))
        if not left:
            raise SettingsError("All pairs of this dataset are scored with this model already.")
        measured = random.Random(0).sample(left, min(PAIRS, len(left)))
        return len(unscored), pair_queries.pairs_of(session, measured)


def _measure(engine: Engine, root: Path, pairs: Sequence[PairRow], exploring: Exploring) -> _Sample:
    """Measure the pairs in one batch, as scoring does. Raises ImageError if none is readable."""
    times = [time.monotonic()]
    opened = open_pictures(root, [pair.image_path for pair in pairs])
    states, problems = encode_opened(engine, opened)
    readable = [pair for pair in pairs if pair.image_path in states]
    if not readable:
        name, why = next(iter(problems.items()))
        raise ImageError(f"{name}: {why}")
    vectors = engine.image_embeddings([states[pair.image_path] for pair in readable])
    captions = [pair.caption for pair in readable]
    trajectories = engine.trajectories(
        [(states[pair.image_path], pair.caption) for pair in readable],
        [pair.id for pair in readable],
        exploring,
    )
    times.append(time.monotonic())
    images = {name: image for name, image in opened.items() if isinstance(image, Image.Image)}
    if engine.captioner is not None:
        engine.expectations([(images[pair.image_path], pair.caption) for pair in readable])
        times.append(time.monotonic())
    else:
        times.append(times[-1])
    engine.concreteness(captions)
    times.append(time.monotonic())
    engine.meanings(captions)
    times.append(time.monotonic())
    count = len(readable)
    stages = (TRAJECTORIES, CAPTIONER, CONCRETENESS, MEANINGS)
    rows = [to_row(pair.id, each) for pair, each in zip(readable, trajectories, strict=True)]
    return _Sample(
        readable,
        images,
        trajectories,
        {
            stage: (end - start) / count
            for stage, start, end in zip(stages, times[:-1], times[1:], strict=True)
        },
        sum(_ROW + bytes_in(row) for row in rows) / count,
        4 * vectors.shape[1] if vectors is not None else 0,
    )


def _correction_seconds(engine: Engine, sample: _Sample) -> float:
    """Cost of correcting a pair, measured on the pairs of the sample that gain most by a deletion;
    the probabilities that are computed ahead cost a trajectory each."""
    gains = [max(trajectory.deletion_gains, default=0.0) for trajectory in sample.trajectories]
    chosen = sorted(range(len(gains)), key=lambda at: -gains[at])[:TOGETHER]
    for positions in (chosen[:1], chosen):  # the first run warms the model up
        began = time.monotonic()
        with engine.lock:
            images = [sample.images[sample.pairs[at].image_path] for at in positions]
            states = engine.encode(images)
            contexts = [
                CorrectionContext(
                    image,
                    engine.scorer.of_pair(state, sample.pairs[at].id),
                    sample.trajectories[at],
                    suspects_by(None, sample.trajectories[at], None),
                    None,
                )
                for at, image, state in zip(positions, images, states, strict=True)
            ]
            judge.suggest_all(engine.scorer, contexts, engine.captioner)
    judged = judged_ahead(engine) * sample.seconds[TRAJECTORIES]
    return (time.monotonic() - began) / len(chosen) + judged


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
