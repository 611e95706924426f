"""Estimate the time, disk space and memory that scoring a dataset will take, from a few pairs.

Each stage is measured on pairs of the dataset itself and extrapolated: trajectories, the
captioner's expectations, text models, the noisy copies that a first detector is trained on, and
corrections of the pairs that look wrong. The detector is trained at its true size, on the sample
repeated. Nothing is stored.
"""

import random
import time
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from backend.engine import memory
from backend.engine.correction import judge
from backend.engine.correction.suggestion import CorrectionContext
from backend.engine.detection.classifier import Classifier
from backend.engine.detection.cold_start import ColdStart, cold_start
from backend.engine.detection.types import detector_for, reads_later_steps
from backend.engine.embeddings import MEANING_WIDTH
from backend.engine.scoring.protocol import ImageState
from backend.engine.trajectories.depth import Depth
from backend.engine.trajectories.exploring import Exploring
from backend.engine.trajectories.trajectory import Trajectory
from backend.errors import ImageError, SettingsError
from backend.jobs.classifiers import (
    as_far_as_read,
    classifier_captioner,
    classifier_in_use,
    judging,
    probabilities,
    suspects_by,
)
from backend.jobs.dataset_models import depth_for
from backend.jobs.dataset_pairs import prepare_scorer
from backend.jobs.image_batches import encode_opened, open_pictures
from backend.jobs.known_pictures import UNKNOWN, check_pictures
from backend.jobs.noisy_copies import BATCH as COPIES_AT_ONCE
from backend.jobs.score_dataset import models_of, what_run
from backend.jobs.scoring_stages import (
    CAPTIONER,
    COLD_START_PAIRS,
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
    copies_of,
    keep_costs,
)
from backend.jobs.stored_trajectories import to_row
from backend.jobs.suggest import (
    SUGGEST_ABOVE,
    SUGGEST_AT_MOST,
    TOGETHER,
    USUAL_SHARE,
    judged_ahead,
)
from backend.jobs.workers import Devices, decided
from backend.loaded_models import Engine
from backend.progress import Progress, no_progress
from backend.store import Store
from db.queries import classifiers as classifier_queries
from db.queries import datasets as dataset_queries
from db.queries import pairs as pair_queries
from db.queries import runs as run_queries
from db.queries import trajectories as trajectory_queries
from db.queries.pairs import PairRow

#: Number of pairs to measure.
PAIRS = 20
#: Overhead of a database row in bytes, beyond its values: keys, headers, index entries.
_ROW = 200
#: Which part of an estimate covers each stage of scoring; stages by what they report as progress.
PARTS: Mapping[str, str] = {stage.name: stage.part for stage in STAGES}


@dataclass(frozen=True)
class Estimate:
    """The remaining work for a dataset, in seconds and bytes.

    `copies`: noisy copies of captions that a first detector is trained on; 0 where there is one.
    `suggestions`: pairs that are expected to look wrong and get corrections, by the share of the
    sample that does. `trajectories`: which pairs get whole ones (`depth.Depth.name`), at first or,
    `whole` of them, after their first steps. `processes`: how many will share the work and need
    `memory` together. `seconds` is the sum of the parts.
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
class _Costs:
    """Costs per pair: seconds by stage, bytes of its trajectory and of its picture's vector."""

    trajectory: float
    captioner: float
    concreteness: float
    meanings: float
    row: float
    vector: int


@dataclass(frozen=True)
class _Sample:
    """Pairs of the dataset whose pictures can be read, as scoring has them after its first stages;
    pictures by name."""

    pairs: Sequence[PairRow]
    images: Mapping[str, Image.Image]
    trajectories: Sequence[Trajectory]

    def picture(self, position: int) -> Image.Image:
        return self.images[self.pairs[position].image_path]


@dataclass(frozen=True)
class _Remaining:
    """The unscored part of the dataset, as counts of pairs, and the `pairs` to measure.

    `first_steps`: pairs of which only first steps are stored; `has_detector`: the classifier in use
    was trained on this run.
    """

    root: Path
    run_id: int
    total: int
    unscored: int
    first_steps: int
    has_detector: bool
    pairs: Sequence[PairRow]


@dataclass(frozen=True)
class _Detection:
    """The detector, its probabilities of error on the sample, and the cost of training it: seconds
    for each of the noisy `copies`, and for the training itself (0 if there was a detector)."""

    classifier: Classifier
    p_errors: Sequence[float]
    copies: int = 0
    copy_seconds: float = 0.0
    training_seconds: float = 0.0


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
    captioner = engine.captioner
    depth = depth_for(store, engine, dataset_id)
    left = _remaining(store, engine, dataset_id, depth, anyway)
    detector = detector_for(engine.settings.detector, depth.is_whole)
    if not anyway:
        check_pictures(store, engine, dataset_id, left.run_id)
    if not left.pairs:
        raise SettingsError("All pairs of this dataset are scored with this model already.")
    prepare_scorer(store, engine, dataset_id, progress)
    exploring = replace(engine.exploring, whole=depth.is_whole)
    _measure(engine, left.root, left.pairs[:1], exploring)  # warm-up is not counted
    costs, sample = _measure(engine, left.root, left.pairs, exploring)
    each_whole = costs.trajectory
    if not depth.is_whole:
        progress(PAIRS, PAIRS, "Measuring whole trajectories")
        later = _measure(engine, left.root, left.pairs, engine.exploring)
        each_whole, sample = later[0].trajectory, later[1]
    progress(PAIRS, PAIRS, "Measuring pairs")
    whole = reads_later_steps(detector) and depth.is_whole and not left.first_steps
    detection = _detection(store, engine, dataset_id, left, sample, detector, whole, progress)
    corrected = _corrections(left, detection) if suggestions else 0
    each = 0.0
    if corrected:
        progress(0, 0, "Measuring corrections")
        each = _suggestion_seconds(engine, sample, detection.classifier, detection.p_errors)
    chosen = decided(devices, engine, left.unscored + detection.copies)
    processes = len(chosen.names) if chosen is not None else 1
    measured = {
        TRAJECTORIES: costs.trajectory,
        CONCRETENESS: costs.concreteness,
        MEANINGS: costs.meanings,
        CAPTIONER: costs.captioner,
        COPIES: detection.copy_seconds,
        TRAINING: detection.training_seconds / min(left.total, COLD_START_PAIRS),
        WHOLE: 0.0 if depth.is_whole else each_whole,
        CORRECTIONS: each,
    }
    measured |= {stage: measured[stage] / processes for stage in SHARED & measured.keys()}
    _keep(engine, depth, measured)
    completed = _completed(left, depth, detection, corrected)
    info = engine.scorer.info
    values = costs.row + costs.vector + 4 * MEANING_WIDTH
    return Estimate(
        model=info.model,
        device=info.device,
        pairs=left.unscored,
        copies=detection.copies,
        measured=len(left.pairs),
        trajectories_seconds=measured[TRAJECTORIES] * left.unscored,
        copies_seconds=measured[COPIES] * detection.copies,
        captioner_seconds=measured[CAPTIONER] * left.unscored if captioner is not None else 0.0,
        texts_seconds=(costs.concreteness + costs.meanings) * left.unscored,
        disk=round(values * left.unscored + costs.row * detection.copies),
        memory=memory.resident() * processes,
        training_seconds=detection.training_seconds,
        suggestions=corrected,
        suggestions_seconds=measured[CORRECTIONS] * corrected,
        trajectories=depth.name,
        whole=completed,
        whole_seconds=each_whole / processes * completed,
        processes=processes,
    )


def _remaining(
    store: Store, engine: Engine, dataset_id: int, depth: Depth, anyway: bool
) -> _Remaining:
    with store.reading() as session:
        root = Path(dataset_queries.get_dataset(session, dataset_id).root)
        run = run_queries.find_run(session, **what_run(engine, dataset_id))
        run_id = run.id if run is not None else 0
        left_out = dataset_queries.files_with_problem(session, dataset_id, UNKNOWN)
        left_out = set() if anyway else left_out
        waiting = pair_queries.unscored_by_image(session, dataset_id, run_id)
        unscored = array("q", (i for i, name in waiting if name not in left_out))
        active = classifier_queries.active(session, dataset_id)
        total = pair_queries.counts(session, dataset_id).total
        first_steps = array(
            "q", (i for i, _ in trajectory_queries.lacking_steps(session, run_id, dataset_id))
        )
        left = unscored if unscored or not depth.is_whole else first_steps
        chosen = random.Random(0).sample(left, min(PAIRS, len(left)))
        pairs = pair_queries.pairs_of(session, chosen)
    has_detector = active is not None and run is not None and active.report.get("run") == run.id
    return _Remaining(root, run_id, total, len(unscored), len(first_steps), has_detector, pairs)


def _detection(
    store: Store,
    engine: Engine,
    dataset_id: int,
    left: _Remaining,
    sample: _Sample,
    detector: str,
    whole: bool,
    progress: Progress,
) -> _Detection:
    """The detector in use, or else one trained on the sample."""
    copies = 0 if left.has_detector else copies_of(left.total)
    classifier = classifier_in_use(store, dataset_id) if left.has_detector else None
    if classifier is not None:
        return _Detection(classifier, probabilities(classifier, sample.trajectories), copies)
    progress(0, 0, "Measuring the first detector")
    made, copy_seconds = _first_detector(engine, sample, detector, whole)
    size = min(left.total, COLD_START_PAIRS)
    training_seconds = _training_seconds(sample, size, detector, whole)
    return _Detection(
        made.classifier, made.p_error.tolist(), copies, copy_seconds, training_seconds
    )


def _corrections(left: _Remaining, detection: _Detection) -> int:
    """How many of the unscored pairs will probably look wrong and get corrections.

    A detector trained on the sample alone separates poorly and therefore suspects too many pairs:
    the usual share counts as much as the sample.
    """
    p_errors = detection.p_errors
    likely = sum(p_error >= SUGGEST_ABOVE for p_error in p_errors) / len(p_errors)
    if not left.has_detector:
        likely = (likely * len(p_errors) + USUAL_SHARE * PAIRS) / (len(p_errors) + PAIRS)
    return min(SUGGEST_AT_MOST, round(likely * left.unscored))


def _completed(left: _Remaining, depth: Depth, detection: _Detection, corrected: int) -> int:
    """How many trajectories will be completed after their first steps."""
    if depth.is_whole:
        return left.first_steps
    p_errors = detection.p_errors
    limit = depth.above if depth.above is not None else 2.0
    above = sum(p_error >= limit for p_error in p_errors) / len(p_errors)
    return max(depth.top(left.unscored), round(above * left.unscored), corrected)


def _keep(engine: Engine, depth: Depth, measured: Mapping[Stage, float]) -> None:
    """Keep the measured seconds per unit, for the remaining time of later jobs; 0: not
    measured."""
    known = {stage: seconds for stage, seconds in measured.items() if seconds > 0}
    keep_costs(engine.settings.data_directory, models_of(engine, depth), known)


def _measure(
    engine: Engine, root: Path, pairs: Sequence[PairRow], exploring: Exploring
) -> tuple[_Costs, _Sample]:
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
        exploring,
    )
    after_trajectories = time.monotonic()
    requests: list[tuple[Image.Image, str]] = [
        (image, pair.caption)
        for pair in readable
        if isinstance(image := opened[pair.image_path], Image.Image)
    ]
    expected = engine.expectations(requests)
    after_captioner = time.monotonic()
    captions = [pair.caption for pair in readable]
    engine.concreteness(captions)
    after_concreteness = time.monotonic()
    engine.meanings(captions)
    ended = time.monotonic()
    count = len(readable)
    rows = [to_row(pair.id, made) for pair, made in zip(readable, trajectories, strict=True)]
    if expected:
        trajectories = [
            replace(made, expectation=expectation)
            for made, expectation in zip(trajectories, expected, strict=True)
        ]
    costs = _Costs(
        (after_trajectories - began) / count,
        (after_captioner - after_trajectories) / count,
        (after_concreteness - after_captioner) / count,
        (ended - after_concreteness) / count,
        sum(_ROW + bytes_in(row) for row in rows) / count,
        4 * seen.shape[1] if seen is not None else 0,
    )
    images = {name: image for name, image in opened.items() if isinstance(image, Image.Image)}
    return costs, _Sample(readable, images, trajectories)


def _first_detector(
    engine: Engine, sample: _Sample, detector: str, whole: bool
) -> tuple[ColdStart, float]:
    """A cold start on the sample alone, and the seconds that a noisy copy takes."""
    spent = count = 0.0

    def score(requests: Sequence[tuple[int, str]]) -> list[Trajectory]:
        nonlocal spent, count
        began = time.monotonic()
        made: list[Trajectory] = []
        for first in range(0, len(requests), COPIES_AT_ONCE):
            made += _copies(engine, sample, requests[first : first + COPIES_AT_ONCE], whole)
        spent, count = spent + time.monotonic() - began, count + len(requests)
        return made

    made = _trained(detector, whole, sample.pairs, sample.trajectories, score)
    return made, spent / count if count else 0.0


def _copies(
    engine: Engine, sample: _Sample, requests: Sequence[tuple[int, str]], whole: bool
) -> list[Trajectory]:
    """As `TrajectoryCache` computes them, stored nowhere."""
    names = [sample.pairs[position].image_path for position, _ in requests]
    distinct = {name: sample.images[name] for name in names}
    states: dict[str, ImageState] = encode_opened(engine, distinct)[0]
    made = engine.trajectories(
        [(states[name], text) for name, (_, text) in zip(names, requests, strict=True)],
        [sample.pairs[position].id for position, _ in requests],
        replace(engine.exploring, whole=whole),
    )
    expected = engine.expectations(
        [(sample.images[name], text) for name, (_, text) in zip(names, requests, strict=True)]
    )
    if not expected:
        return made
    return [replace(copy, expectation=read) for copy, read in zip(made, expected, strict=True)]


def _training_seconds(sample: _Sample, size: int, detector: str, whole: bool) -> float:
    """Cost of training the first detector on `size` pairs, without scoring its copies: pairs of
    the sample, repeated, with their own trajectories in place of those of the copies."""
    places = [number % len(sample.pairs) for number in range(size)]
    pairs = [sample.pairs[place] for place in places]
    trajectories = [sample.trajectories[place] for place in places]
    began = time.monotonic()
    _trained(
        detector,
        whole,
        pairs,
        trajectories,
        lambda requests: [trajectories[at] for at, _ in requests],
    )
    return time.monotonic() - began


def _trained(
    detector: str,
    whole: bool,
    pairs: Sequence[PairRow],
    trajectories: Sequence[Trajectory],
    score: Callable[[Sequence[tuple[int, str]]], list[Trajectory]],
) -> ColdStart:
    return cold_start(
        [pair.caption for pair in pairs],
        trajectories,
        score,
        groups=list(range(len(pairs))),
        maximum_pairs=COLD_START_PAIRS,
        detector=detector,
        whole=whole,
    )


def _suggestion_seconds(
    engine: Engine, sample: _Sample, classifier: Classifier, p_errors: Sequence[float]
) -> float:
    """Cost of correcting a pair, measured on some pairs of the sample that look wrong,
    the most and the least."""
    ranked = sorted(range(len(p_errors)), key=lambda at: -p_errors[at])
    wrong = [at for at in ranked if p_errors[at] >= SUGGEST_ABOVE] or ranked[:TOGETHER]
    chosen = wrong[:: -(-len(wrong) // TOGETHER)]
    for positions in (chosen[:1], chosen):  # the first run warms the model up
        began = time.monotonic()
        with engine.lock:
            states = engine.encode([sample.picture(at) for at in positions])
            contexts = [
                CorrectionContext(
                    sample.picture(at),
                    engine.scorer.of_pair(state, sample.pairs[at].id),
                    sample.trajectories[at],
                    suspects_by(classifier, sample.trajectories[at], p_errors[at]),
                    p_errors[at],
                )
                for at, state in zip(positions, states, strict=True)
            ]
            judge.suggest_all(
                engine.scorer,
                contexts,
                engine.captioner,
                judging(classifier),
                exploring=as_far_as_read(classifier, engine.exploring),
                classifier_captioner=classifier_captioner(engine, classifier),
                judged=judged_ahead(engine),
            )
    return (time.monotonic() - began) / len(chosen)


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
