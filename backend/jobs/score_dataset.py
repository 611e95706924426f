"""Score a dataset: trajectories, concreteness, captioner expectations, detection, suggestions.

Each stage queries the store for its remaining work and commits batch by batch, so that the same
command resumes after a kill, and a second run finds nothing to do and changes nothing.
"""

import time
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, groupby
from pathlib import Path
from typing import Any

import numpy as np

from backend.engine.detection.types import detector_for, reads_later_steps
from backend.engine.familiarity import Familiarity
from backend.engine.scoring.protocol import FloatArray
from backend.engine.trajectories.depth import Depth
from backend.engine.trajectories.exploring import Exploring
from backend.engine.trajectories.trajectory import Trajectory
from backend.jobs.dataset_models import depth_for, remember
from backend.jobs.dataset_pairs import prepare_scorer
from backend.jobs.detect import check_detector, detect, measure_disagreement
from backend.jobs.expectations import remember_expectations
from backend.jobs.known_pictures import (
    UNKNOWN,
    check_pictures,
    encode_known,
    familiarity_for,
)
from backend.jobs.ray_cluster import Cluster, trajectories_by_ray
from backend.jobs.ray_worker import trajectory_of
from backend.jobs.reports import ScoreReport
from backend.jobs.scoring_stages import (
    CAPTIONER,
    COLD_START_PAIRS,
    COMPLETION,
    CONCRETENESS,
    COPIES,
    CORRECTIONS,
    MEANINGS,
    TRAINING,
    TRAJECTORIES,
    WHOLE,
    Plan,
    Stage,
    copies_of,
    keep_costs,
    kept_costs,
)
from backend.jobs.stored_trajectories import AT_ONCE, exploring_of, to_row
from backend.jobs.suggest import SUGGEST_AT_MOST, USUAL_SHARE, likely_wrong, suggest_likely
from backend.jobs.vectors import image_file, remember_images, remember_meanings
from backend.jobs.workers import Devices, Opened, Question, Workers, decided
from backend.loaded_models import Engine
from backend.progress import LastReport, Progress, no_progress
from backend.store import Store
from backend.version import VERSION
from db.queries import classifiers as classifier_queries
from db.queries import datasets as dataset_queries
from db.queries import expectations as expectation_queries
from db.queries import pairs as pair_queries
from db.queries import runs as run_queries
from db.queries import signals as signal_queries
from db.queries import trajectories as trajectory_queries
from db.queries.datasets import NewProblem
from db.queries.pairs import PairRow
from db.queries.runs import RunRow

#: Pairs encoded, scored and committed together: the most work that a kill can lose.
BATCH: int = 48
#: … on an accelerator, which has more pairs in flight.
BATCH_ON_ACCELERATOR = 256

#: Problem kind for an image that scoring could not read.
UNREADABLE = "unreadable image"


def score_dataset(
    store: Store,
    engine: Engine,
    dataset_id: int,
    progress: Progress = no_progress,
    suggestions: bool = True,
    cluster: Cluster | Devices | None = None,
    anyway: bool = False,
    anew: bool = False,
) -> ScoreReport:
    """Run all stages on the pairs that still need them.

    `cluster`: where to compute: trajectories on machines, or everything that takes long in several
    processes of this one; None: in this process; `anyway`: also score pictures of a kind that the
    model does not know (remembered with the dataset); otherwise a few of them are left out, and a
    dataset with many is refused; `anew`: see `detect`. Raises ModelUnavailable, UnknownPictures,
    NotFound, SettingsError.
    """
    started = time.monotonic()
    captioner = engine.captioner  # noqa: F841  (fail now, not in an hour, if it is missing)
    with store.reading() as session:
        dataset = dataset_queries.get_dataset(session, dataset_id)
        total = pair_queries.counts(session, dataset_id).total
    root = Path(dataset.root)
    if not anyway:
        with store.reading() as session:
            earlier = run_queries.find_run(session, **run_key(engine, dataset_id))
        check_pictures(store, engine, dataset_id, earlier.id if earlier is not None else 0)
    prepare_scorer(store, engine, dataset_id, progress)
    depth = depth_for(store, engine, dataset_id)
    detector_for(engine.settings.detector, depth.is_whole)  # refuse now, not in an hour
    if anew:
        check_detector(store, dataset_id)
    remember(store, engine, dataset_id, anyway, depth)
    run = _run(store, engine, dataset_id)
    with store.writing() as session:  # all images without scores are retried
        dataset_queries.clear_problems(session, dataset_id, UNREADABLE)
    familiarity = familiarity_for(store, engine, dataset_id, anyway)
    units = units_left(store, engine, dataset_id, run.id, suggestions, depth)
    plan = _plan(engine, depth, units, distributed=isinstance(cluster, Cluster))
    reported = LastReport(progress)
    progress = plan.reporting(reported)
    exploring = replace(exploring_of(run), whole=depth.is_whole)
    before = _begin(store, run, total, progress)
    devices, machines = (None, cluster) if isinstance(cluster, Cluster) else (cluster, None)
    devices = decided(devices, engine, units[TRAJECTORIES] + units[COPIES])
    with Workers(engine, root, devices, reported.repeat) as workers:
        waiting = _unscored(store, run, _at_once(workers))
        work = _Work(TRAJECTORIES, exploring, waiting, total, before, familiarity)
        done = _trajectories(store, run, work, workers, machines, progress)
        _list_left_out(store, run, done.left_out)
        completed = 0
        if depth.is_whole:
            completed = _complete(store, run, COMPLETION, [{}], workers, machines, progress)
        _concreteness(store, engine, dataset_id, total, progress)
        remember_meanings(store, engine, dataset_id, total, progress)
        remember_expectations(store, workers, run, total, progress)
        report = detect(store, workers, run, progress, anew)
        selections = _to_complete(store, dataset_id, depth, total, suggestions)
        completed += _complete(store, run, WHOLE, selections, workers, machines, progress)
        suggested = suggest_likely(store, workers, run, progress) if suggestions else 0
    with store.writing() as session:
        run_queries.finish_run(session, run.id)
    measure_disagreement(store, dataset_id)
    measured = plan.measured
    if machines is not None:
        measured.pop(TRAJECTORIES, None)  # other machines' time
    keep_costs(engine.settings.data_directory, models_of(engine, depth), measured)
    with store.reading() as session:
        truncated = pair_queries.count_truncated(session, dataset_id)
    return ScoreReport(
        dataset_id=dataset_id,
        pairs=total,
        scored=done.scored,
        skipped=total - done.pairs,
        unreadable=done.unreadable,
        truncated=truncated,
        suggestions=suggested,
        seconds=time.monotonic() - started,
        run_id=run.id,
        detector=report,
        unknown=done.unknown,
        trajectories=depth.name,
        completed=completed,
    )


# -------------------------------------------------------------------------------- stages


def _plan(engine: Engine, depth: Depth, units: Mapping[Stage, int], distributed: bool) -> Plan:
    """The stages' units of work with what each has cost before on this machine. `distributed`:
    trajectories are computed on other machines, so noisy copies do not cost the same."""
    known = kept_costs(engine.settings.data_directory, models_of(engine, depth))
    copies_whole = depth.is_whole and reads_later_steps(engine.settings.detector)
    return Plan(units, known, not distributed and copies_whole == depth.is_whole)


def _to_complete(
    store: Store, dataset_id: int, depth: Depth, total: int, suggestions: bool
) -> list[dict[str, Any]]:
    """Which first steps become whole trajectories, as selections for `_complete`."""
    selections: list[dict[str, Any]] = []
    if not depth.is_whole:
        selections.append({"top": depth.top(total)})
    if depth.above is not None:
        selections.append({"above": depth.above})
    if suggestions:  # corrections are proposed from whole trajectories
        selections.append({"among": likely_wrong(store, dataset_id)})
    return selections


def run_key(engine: Engine, dataset_id: int) -> dict[str, Any]:
    """The fields that identify the run of this model with these settings."""
    info = engine.scorer.info
    exploring = replace(engine.exploring, auxiliary=bool(info.auxiliary))
    return {
        "kind": "score",
        "dataset_id": dataset_id,
        "scorer_kind": info.kind,
        "model": info.model,
        "revision": info.revision,
        "explorer": exploring.name,
        "parameters": {
            **exploring.parameters(),
            "limits": info.limits,
            **({"precision": info.precision} if info.precision != "float32" else {}),
            **info.parameters,
        },
    }


def units_left(
    store: Store, engine: Engine, dataset_id: int, run_id: int, suggestions: bool, depth: Depth
) -> dict[Stage, int]:
    """The remaining work of each stage of scoring, in its units. `run_id`: 0 for a new run."""
    captioner = engine.captioner
    with store.reading() as session:
        total = pair_queries.counts(session, dataset_id).total
        unscored = pair_queries.count_unscored(session, dataset_id, run_id)
        lacking = trajectory_queries.count_first_steps(session, run_id)
        active = classifier_queries.active(session, dataset_id)
        unread = 0
        if captioner is not None:
            unread = expectation_queries.count_unexpected(session, run_id, captioner.identity)
            unread += unscored
    has_detector = active is not None and run_id != 0 and active.report.get("run") == run_id
    corrected = min(SUGGEST_AT_MOST, round(USUAL_SHARE * unscored)) if suggestions else 0
    selected = depth.top(total) if depth.above is None else round(USUAL_SHARE * total)
    return {
        TRAJECTORIES: unscored,
        COMPLETION: lacking if depth.is_whole else 0,
        CONCRETENESS: unscored,
        MEANINGS: unscored,
        CAPTIONER: unread,
        COPIES: 0 if has_detector else copies_of(total),
        TRAINING: 0 if has_detector else min(total, COLD_START_PAIRS),
        WHOLE: 0 if depth.is_whole else min(lacking + unscored, max(selected, corrected)),
        CORRECTIONS: corrected,
    }


def models_of(engine: Engine, depth: Depth) -> str:
    """What the costs of the stages depend on, apart from the machine."""
    info, captioner = engine.scorer.info, engine.captioner
    read_by = captioner.name if captioner is not None else "no captioner"
    steps = "whole" if depth.is_whole else "first steps"
    explorer = engine.exploring.name
    parts = (info.kind, info.model, info.device, info.precision, explorer, steps, read_by)
    return " · ".join(parts)


def _run(store: Store, engine: Engine, dataset_id: int) -> RunRow:
    """The run of this model and these settings on this dataset: an earlier one, or a new one."""
    what = run_key(engine, dataset_id)
    with store.writing() as session:
        run = run_queries.find_run(session, **what)
        if run is not None:
            return run
        return run_queries.start_run(session, **what, code_version=VERSION)


@dataclass
class _Done:
    """Pairs that the first stage has processed. `left_out`: reasons by picture."""

    scored: int = 0
    unreadable: int = 0
    unknown: int = 0
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def pairs(self) -> int:
        return self.scored + self.unreadable + self.unknown


@dataclass(frozen=True)
class _Work:
    """Pairs whose trajectories are to be computed, in batches. `total`: how many, for progress;
    `before`: how many of these were computed earlier.

    `known`: the test for pictures that the model knows; None: it knows all; `has_vectors`: their
    image vectors are stored already."""

    stage: Stage
    exploring: Exploring
    batches: Iterator[list[PairRow]]
    total: int
    before: int = 0
    known: Familiarity | None = None
    has_vectors: bool = False


@dataclass(frozen=True)
class _Scored:
    """The results of a batch: trajectories of the pairs `ids` and their images' vectors
    [pairs, d], None if they are not wanted or the scorer has none; and the pictures that could not
    be read or that the model does not know, with the reason."""

    ids: list[int]
    vectors: FloatArray | None
    trajectories: list[Trajectory]
    broken: dict[str, str]
    unknown: dict[str, str]


def _score(
    engine: Engine,
    batch: Sequence[Question],
    opened: Opened,
    exploring: Exploring,
    known: Familiarity | None,
    has_vectors: bool,
) -> _Scored:
    """The task of `_trajectories`; arguments as in `_Work`."""
    states, broken, unknown = encode_known(engine, opened, known)
    readable = [pair for pair in batch if pair.image_path in states]
    seen = [states[pair.image_path] for pair in readable]
    vectors = None if has_vectors else engine.image_embeddings(seen)
    ids = [pair.pair_id for pair in readable]
    captions = [pair.caption for pair in readable]
    trajectories = engine.trajectories(list(zip(seen, captions, strict=True)), ids, exploring)
    return _Scored(ids, vectors, trajectories, broken, unknown)


def _trajectories(
    store: Store,
    run: RunRow,
    work: _Work,
    workers: Workers,
    machines: Cluster | None,
    progress: Progress,
) -> _Done:
    """Compute and store trajectories of these pairs, on `machines` if given."""
    if machines is not None:
        return _by_cluster(store, run, work, workers, machines, progress)
    done = _Done()
    reported = _left_out_before(store, run)
    vectors = image_file(store, workers.engine, run)
    task = partial(_score, exploring=work.exploring, known=work.known, has_vectors=work.has_vectors)
    batches = (
        [Question(pair.id, pair.image_path, pair.caption) for pair in batch]
        for batch in work.batches
    )
    for batch, made in workers.map(task, batches):
        remember_images(vectors, made.ids, made.vectors)
        _save(store, run, made.ids, made.trajectories, made.broken, made.unknown, reported)
        done.scored += len(made.ids)
        done.unreadable += sum(pair.image_path in made.broken for pair in batch)
        done.unknown += sum(pair.image_path in made.unknown for pair in batch)
        done.left_out |= made.unknown
        progress(work.before + done.pairs, work.total, work.stage.name)
    return done


def _by_cluster(
    store: Store,
    run: RunRow,
    work: _Work,
    workers: Workers,
    cluster: Cluster,
    progress: Progress,
) -> _Done:
    """Like `_trajectories`, computed by Ray workers."""
    engine, root = workers.engine, workers.root
    done = _Done()
    reported = _left_out_before(store, run)
    vectors = image_file(store, engine, run)
    batches = (
        [(pair.id, pair.image_path, pair.caption) for pair in batch] for batch in work.batches
    )
    recognises = work.known is not None
    folder = cluster.folder or engine.settings.data_directory / "ray" / store.identity
    waiting = chain.from_iterable(batches)
    parts = trajectories_by_ray(
        engine, cluster, folder / f"run-{run.id}", root, work.exploring, waiting, recognises
    )
    for part in parts:
        readable = [row for row in part if row["problem"] is None]
        others = [row for row in part if row["problem"] is not None]
        broken = {row["image"]: row["problem"] for row in others if not row["unknown"]}
        unknown = {row["image"]: row["problem"] for row in others if row["unknown"]}
        ids = [row["pair_id"] for row in readable]
        if readable and readable[0]["image_embedding"] is not None and not work.has_vectors:
            seen = np.array([row["image_embedding"] for row in readable], np.float32)
            remember_images(vectors, ids, seen)
        trajectories = [trajectory_of(row) for row in readable]
        _save(store, run, ids, trajectories, broken, unknown, reported)
        done.scored += len(readable)
        done.unreadable += sum(not row["unknown"] for row in others)
        done.unknown += sum(bool(row["unknown"]) for row in others)
        done.left_out |= unknown
        progress(work.before + done.pairs, work.total, work.stage.name)
    return done


def _begin(store: Store, run: RunRow, total: int, progress: Progress) -> int:
    """Report where the stage begins, because its first batch may take minutes; returns how many of
    the pairs already have a trajectory of the run."""
    with store.reading() as session:
        before = total - pair_queries.count_unscored(session, run.dataset_id or 0, run.id)
    if before < total:
        progress(before, total, TRAJECTORIES.name)
    return before


def _complete(
    store: Store,
    run: RunRow,
    stage: Stage,
    selections: Sequence[Mapping[str, Any]],
    workers: Workers,
    machines: Cluster | None,
    progress: Progress,
) -> int:
    """Make the first steps of all selected pairs whole; returns how many. Each selection: arguments
    of `lacking_steps`, {} for all pairs."""
    with store.reading() as session:
        lacking = {
            row
            for which in selections
            for row in trajectory_queries.lacking_steps(
                session, run.id, run.dataset_id or 0, **which
            )
        }
    ordered = sorted(lacking, key=lambda row: (row[1], row[0]))
    ids, ends = _cut(ordered, _at_once(workers))
    if not ids:
        return 0
    batches = _read(store, ids, ends)
    work = _Work(stage, exploring_of(run), batches, len(ids), has_vectors=True)
    return _trajectories(store, run, work, workers, machines, progress).scored


def _save(
    store: Store,
    run: RunRow,
    pairs: Sequence[int],
    trajectories: Sequence[Trajectory],
    broken: Mapping[str, str],
    unknown: Mapping[str, str],
    reported: set[str],
) -> None:
    """Store trajectories and problems. `broken`, `unknown`: images that could not be read or that
    the model does not know, with the reason; each is stored once (`reported`), however many
    captions it has."""
    rows = [to_row(pair, trajectory) for pair, trajectory in zip(pairs, trajectories, strict=True)]
    problems = [
        NewProblem(name, None, kind, message)
        for kind, reasons in ((UNREADABLE, broken), (UNKNOWN, unknown))
        for name, message in reasons.items()
        if name not in reported
    ]
    reported |= broken.keys() | unknown.keys()
    with store.writing() as session:
        trajectory_queries.save_trajectories(session, run.id, rows)
        dataset_queries.add_problems(session, run.dataset_id or 0, problems)


def _left_out_before(store: Store, run: RunRow) -> set[str]:
    """Pictures that are listed as unknown. They stay listed during scoring, so that a process that
    is killed does not refuse the rest of the dataset because of them."""
    with store.reading() as session:
        return dataset_queries.files_with_problem(session, run.dataset_id or 0, UNKNOWN)


def _list_left_out(store: Store, run: RunRow, left_out: Mapping[str, str]) -> None:
    """List exactly these as unknown: another model may have had a different list."""
    dataset_id = run.dataset_id or 0
    with store.writing() as session:
        if dataset_queries.files_with_problem(session, dataset_id, UNKNOWN) != left_out.keys():
            dataset_queries.clear_problems(session, dataset_id, UNKNOWN)
            problems = [NewProblem(name, None, UNKNOWN, why) for name, why in left_out.items()]
            dataset_queries.add_problems(session, dataset_id, problems)


def _at_once(workers: Workers) -> int:
    """Pairs in a batch."""
    return BATCH if workers.device.startswith("cpu") else BATCH_ON_ACCELERATOR


def _unscored(store: Store, run: RunRow, size: int) -> Iterator[list[PairRow]]:
    """Batches of pairs without a trajectory of this run."""
    with store.reading() as session:
        waiting = pair_queries.unscored_by_image(session, run.dataset_id or 0, run.id)
        ids, ends = _cut(waiting, size)
    yield from _read(store, ids, ends)


def _cut(waiting: Iterable[tuple[int, str]], size: int) -> tuple[Sequence[int], Sequence[int]]:
    """Ids of pairs and the ends of their batches. `waiting`: (id, image's path), ordered by path.

    All captions of an image are in one batch, so that it is decoded and encoded once; batches
    therefore may be larger than `size`."""
    ids, ends = array("q"), array("q")  # a few bytes per pair, for datasets of any size
    for _, group in groupby(waiting, key=lambda row: row[1]):
        ids.extend(pair_id for pair_id, _ in group)
        if len(ids) - (ends[-1] if ends else 0) >= size:
            ends.append(len(ids))
    if len(ids) > (ends[-1] if ends else 0):
        ends.append(len(ids))
    return ids, ends


def _read(store: Store, ids: Sequence[int], ends: Sequence[int]) -> Iterator[list[PairRow]]:
    """The pairs, batch by batch."""
    first = 0
    for end in ends:
        batch: list[PairRow] = []
        for part in range(first, end, AT_ONCE):
            with store.reading() as session:
                batch += pair_queries.pairs_of(session, ids[part : min(end, part + AT_ONCE)])
        if batch:  # pairs may have been removed meanwhile
            yield batch
        first = end


def _concreteness(
    store: Store, engine: Engine, dataset_id: int, total: int, progress: Progress
) -> None:
    after = done = 0
    while True:
        with store.reading() as session:
            batch = pair_queries.pairs_after(session, dataset_id, after, 500)
        if not batch:
            return
        after = batch[-1].id
        unknown = [pair for pair in batch if pair.icc is None]
        if unknown:
            scores = engine.concreteness([pair.caption for pair in unknown])
            with store.writing() as session:
                signal_queries.save_icc(
                    session, {p.id: s for p, s in zip(unknown, scores, strict=True)}
                )
        done += len(batch)
        progress(done, total, CONCRETENESS.name)
