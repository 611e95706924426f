"""Score a dataset: trajectories, concreteness, detection, suggestions.

Each stage reads from the store what it still has to do, and commits batch by batch. So the same
command resumes after a kill, and a second run finds nothing to do and changes nothing.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from sqlalchemy.orm import Session

from backend import memory
from backend.captions import Caption
from backend.correction import judge
from backend.correction.suggestion import Case
from backend.datasets.containers import locate
from backend.datasets.images import load_image
from backend.detection.classifier import Classifier
from backend.detection.cold_start import cold_start
from backend.detection.disagreement import rank_disagreement
from backend.detection.localisation import VISIBLE, suspect_words
from backend.detection.types import SuspectWord
from backend.engine import Engine
from backend.errors import ImageError, UnsafePath
from backend.noise.word_kinds import kind_of
from backend.pipeline import Progress, no_progress
from backend.pipeline.classifiers import classifier_in_use, judging, probabilities
from backend.pipeline.neighbours import prepare_neighbours
from backend.pipeline.noisy_copies import TrajectoryCache
from backend.pipeline.offers import to_save
from backend.pipeline.pictures import encode_opened, open_ahead
from backend.pipeline.ray_scoring import Cluster, trajectories_by_ray
from backend.pipeline.ray_worker import trajectory_of
from backend.pipeline.searching import image_file, remember_images, remember_meanings
from backend.scoring.lemon import LemonScorer
from backend.store import Store
from backend.trajectories.exploring import Exploring
from backend.trajectories.trajectory import SecondOpinion, Trajectory
from backend.version import VERSION
from backend.views import ScoreReport
from db.queries import classifiers as classifier_queries
from db.queries import concreteness as concreteness_queries
from db.queries import datasets as dataset_queries
from db.queries import detections as detection_queries
from db.queries import pairs as pair_queries
from db.queries import runs as run_queries
from db.queries import signals as signal_queries
from db.queries import suggestions as suggestion_queries
from db.queries import trajectories as trajectory_queries
from db.queries.datasets import NewProblem
from db.queries.detections import DetectionRow
from db.queries.pairs import PairRow
from db.queries.runs import RunRow
from db.queries.trajectories import TrajectoryRow

#: Pairs encoded, scored and committed together: what a kill can cost at most.
BATCH = 48

#: What the list of problems calls an image that scoring could not read.
UNREADABLE = "unreadable image"

#: Pairs read from the store together where no model is asked.
AT_ONCE = 500

#: Pairs that a cold start trains on; more brings little and costs a score each.
COLD_START_PAIRS = 2000

#: Corrections are prepared for pairs at least this likely to be wrong.
SUGGEST_ABOVE = 0.5

#: … and at most for so many, the most suspect first; the others get theirs when they are opened.
SUGGEST_AT_MOST = 1000


def score_dataset(
    store: Store,
    engine: Engine,
    dataset_id: int,
    progress: Progress = no_progress,
    suggestions: bool = True,
    cluster: Cluster | None = None,
) -> ScoreReport:
    """Bring every pair of the dataset to the end of the line. Raises ModelUnavailable, NotFound.

    `cluster`: where trajectories are computed, if not by this program itself.
    """
    started = time.monotonic()
    with store.reading() as session:
        dataset = dataset_queries.get_dataset(session, dataset_id)
        total = pair_queries.counts(session, dataset_id).total
    root = Path(dataset.root)
    prepare_neighbours(store, engine, dataset_id, progress)
    run = _run(store, engine, dataset_id)
    with store.writing() as session:  # every image that has not been scored is tried again
        dataset_queries.clear_problems(session, dataset_id, UNREADABLE)
    if cluster is None:
        scored, unreadable = _trajectories(store, engine, run, root, total, progress)
    else:
        scored, unreadable = _by_cluster(store, engine, run, root, total, cluster, progress)
    _concreteness(store, engine, dataset_id, total, progress)
    remember_meanings(store, engine, dataset_id, total, progress)
    report = _detect(store, engine, run, root, progress)
    offered = _suggestions(store, engine, run, root, progress) if suggestions else 0
    with store.writing() as session:
        run_queries.finish_run(session, run.id)
    _disagreement(store, dataset_id)
    with store.reading() as session:
        truncated = pair_queries.count_truncated(session, dataset_id)
    return ScoreReport(
        dataset_id=dataset_id,
        pairs=total,
        scored=scored,
        skipped=total - scored - unreadable,
        unreadable=unreadable,
        truncated=truncated,
        suggestions=offered,
        seconds=time.monotonic() - started,
        run_id=run.id,
        detector=report,
    )


# -------------------------------------------------------------------------------- stages


def _run(store: Store, engine: Engine, dataset_id: int) -> RunRow:
    """The run under which this very model scores this dataset: an earlier one again, or a new."""
    scorer = engine.scorer
    info = scorer.info
    exploring = replace(engine.exploring, second_opinion=bool(info.second))
    what: dict[str, Any] = {
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
            **(scorer.parameters.as_dict() if isinstance(scorer, LemonScorer) else {}),
        },
    }
    with store.writing() as session:
        found = run_queries.find_run(session, **what)
        if found is not None:
            return found
        return run_queries.start_run(session, **what, code_version=VERSION)


def _trajectories(
    store: Store, engine: Engine, run: RunRow, root: Path, total: int, progress: Progress
) -> tuple[int, int]:
    """Trajectories of all pairs that have none under this run; (scored, unreadable)."""
    scored = unreadable = 0
    told: set[str] = set()
    vectors = image_file(store, engine, run)
    for batch, opened in open_ahead(root, _unscored(store, run)):
        states, broken = encode_opened(engine, opened)
        readable = [pair for pair in batch if pair.image_path in states]
        seen = engine.image_embeddings([states[pair.image_path] for pair in readable])
        remember_images(vectors, [pair.id for pair in readable], seen)
        trajectories = engine.trajectories(
            [(states[pair.image_path], pair.caption) for pair in readable],
            [pair.id for pair in readable],
        )
        _save(store, run, [pair.id for pair in readable], trajectories, broken, told)
        scored += len(readable)
        unreadable += len(batch) - len(readable)
        progress(scored + unreadable, total, "Caption trajectories")
    return scored, unreadable


def _by_cluster(
    store: Store,
    engine: Engine,
    run: RunRow,
    root: Path,
    total: int,
    cluster: Cluster,
    progress: Progress,
) -> tuple[int, int]:
    """`_trajectories`, computed by Ray's workers."""
    scored = unreadable = 0
    told: set[str] = set()
    vectors = image_file(store, engine, run)
    folder = cluster.folder or engine.settings.data_directory / "ray" / store.identity
    waiting = (
        (pair.id, pair.image_path, pair.caption)
        for batch in _unscored(store, run)
        for pair in batch
    )
    for part in trajectories_by_ray(
        engine, cluster, folder / f"run-{run.id}", root, exploring_of(run), waiting
    ):
        readable = [row for row in part if row["problem"] is None]
        broken = {row["image"]: row["problem"] for row in part if row["problem"] is not None}
        ids = [row["pair_id"] for row in readable]
        if readable and readable[0]["image_embedding"] is not None:
            seen = np.array([row["image_embedding"] for row in readable], np.float32)
            remember_images(vectors, ids, seen)
        _save(store, run, ids, [trajectory_of(row) for row in readable], broken, told)
        scored += len(readable)
        unreadable += len(part) - len(readable)
        progress(scored + unreadable, total, "Caption trajectories")
    return scored, unreadable


def _save(
    store: Store,
    run: RunRow,
    pairs: Sequence[int],
    trajectories: Sequence[Trajectory],
    broken: Mapping[str, str],
    told: set[str],
) -> None:
    """`broken`: images that could not be read, and why; each is told once (`told`), however many
    captions it has."""
    rows = [to_row(pair, one) for pair, one in zip(pairs, trajectories, strict=True)]
    problems = [
        NewProblem(name, None, UNREADABLE, message)
        for name, message in broken.items()
        if name not in told
    ]
    told |= broken.keys()
    with store.writing() as session:
        trajectory_queries.save_trajectories(session, run.id, rows)
        dataset_queries.add_problems(session, run.dataset_id or 0, problems)


def _unscored(store: Store, run: RunRow) -> Iterator[list[PairRow]]:
    """Batches of pairs without a trajectory of this run, in import order."""
    after = 0
    while True:
        with store.reading() as session:
            batch = pair_queries.pairs_after(session, run.dataset_id or 0, after, BATCH, run.id)
        if not batch:
            return
        yield batch
        after = batch[-1].id


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
                concreteness_queries.save_icc(
                    session, {p.id: s for p, s in zip(unknown, scores, strict=True)}
                )
        done += len(batch)
        progress(done, total, "Concreteness")


def _detect(
    store: Store, engine: Engine, run: RunRow, root: Path, progress: Progress
) -> dict[str, object]:
    """Probability of error and suspect words of every pair.

    A dataset without a classifier of its own gets one by cold start; later pairs are judged by the
    classifier in use, so that a curator's adopted one is never replaced behind their back.
    """
    dataset_id = run.dataset_id or 0
    with store.reading() as session:
        active = classifier_queries.active(session, dataset_id)
        drawn = trajectory_queries.draw_scored(session, run.id, dataset_id, COLD_START_PAIRS)
        judged = active is not None and trajectory_queries.is_all_judged(session, run.id)
    if not drawn:
        return {}
    if active is not None and (judged or active.report.get("run") == run.id):
        report = dict(active.report)
    else:
        progress(0, 0, "Training the detector on injected noise")
        pairs, trajectories = scored_pairs(store, run, drawn)
        keyed = [(pair.id, pair.image_path) for pair in pairs]
        cache = TrajectoryCache(engine, root, keyed, exploring_of(run))
        result = cold_start(
            [pair.caption for pair in pairs],
            trajectories,
            cache.score,
            groups=[pair.image_path for pair in pairs],
            maximum_pairs=COLD_START_PAIRS,
            progress=progress,
            detector=engine.settings.detector,
        )
        report = {**result.report, "run": run.id, "verdicts": 0}
        with store.writing() as session:
            row = classifier_queries.add_classifier(
                session,
                dataset_id,
                name="Cold start",
                kind=result.classifier.kind,
                basis="injected",
                payload=result.classifier.to_bytes(),
                report=report,
            )
            classifier_queries.activate(session, row.id)
            # With the classifier: these are judged by others that had not seen them, and a program
            # that is killed here could not find out any more by which.
            _judge(session, run, row.id, pairs, trajectories, result.p_error.tolist())
    judge_rest(store, run)
    return report


def judge_rest(store: Store, run: RunRow) -> None:
    """Judge, by the classifier in use, what it has not judged yet of this run's trajectories.

    Somebody may adopt another while this goes on: then it is the other that judges, everything, so
    that no page ever shows one classifier's name beside another's numbers. Nothing is done if the
    classifier in use belongs to another run.
    """
    dataset_id = run.dataset_id or 0
    used: tuple[int, Classifier] | None = None
    after = 0
    while True:
        with store.reading() as session:
            active = classifier_queries.active(session, dataset_id)
            if active is None or active.report.get("run") != run.id:
                return
            if used is None or used[0] != active.id:
                payload = classifier_queries.get_payload(session, active.id)
                used, after = (active.id, Classifier.from_bytes(payload)), 0
            waiting = detection_queries.unjudged(session, run.id, active.id, after, AT_ONCE)
        if not waiting:
            return
        pairs, trajectories = scored_pairs(store, run, waiting)
        p_errors = probabilities(used[1], trajectories)
        with store.writing() as session:
            dataset_queries.lock(session, dataset_id)  # nobody adopts another meanwhile
            still = classifier_queries.active(session, dataset_id)
            if still is not None and still.id == used[0]:
                _judge(session, run, used[0], pairs, trajectories, p_errors)
        after = waiting[-1]


def _disagreement(store: Store, dataset_id: int) -> None:
    """How far the scorers that have scored the dataset differ about each pair; nothing for one."""
    with store.reading() as session:
        runs = signal_queries.scoring_runs(session, dataset_id)
        if len(runs) < 2:
            return
        scores = [signal_queries.first_scores(session, run) for run in runs]
    # Two numbers a pair and scorer: even of many millions all fit into memory.
    common = reduce(np.intersect1d, (ids for ids, _ in scores))
    if not len(common):
        return
    found = rank_disagreement([s_0[np.searchsorted(ids, common)] for ids, s_0 in scores])
    for first in range(0, len(common), 5000):
        part = slice(first, first + 5000)
        with store.writing() as session:
            signal_queries.save_disagreement(
                session, dict(zip(common[part].tolist(), found[part].tolist(), strict=True))
            )


def _suggestions(store: Store, engine: Engine, run: RunRow, root: Path, progress: Progress) -> int:
    """Corrections for the pairs most likely to be wrong that have none yet."""
    dataset_id = run.dataset_id or 0
    classifier = classifier_in_use(store, dataset_id)
    with store.reading() as session:
        likely = pair_queries.most_likely_wrong(session, dataset_id, SUGGEST_ABOVE, SUGGEST_AT_MOST)
    offered = 0
    for done, pair in enumerate(likely, 1):
        with store.reading() as session:
            known = suggestion_queries.list_suggestions(session, pair.id, run.id)
            stored = trajectory_queries.trajectories_of(session, run.id, [pair.id])
        if not known and pair.id in stored:
            try:
                image = load_image(locate(root, pair.image_path))
            except (ImageError, UnsafePath, OSError):
                continue
            p_error, trajectory = pair.p_error, to_trajectory(pair.caption, stored[pair.id])
            suspects = suspect_words(trajectory, p_error)
            offered += suggest_for(
                store, engine, run.id, pair.id, image, trajectory, suspects, p_error, classifier,
                exploring_of(run),
            )  # fmt: skip
        progress(done, len(likely), "Preparing corrections")
    return offered


# -------------------------------------------------------------------------------- shared steps


def suggest_for(
    store: Store,
    engine: Engine,
    run_id: int | None,
    pair_id: int,
    image: Image.Image,
    trajectory: Trajectory,
    suspects: tuple[SuspectWord, ...],
    p_error: float | None,
    classifier: Classifier | None,
    exploring: Exploring | None = None,
) -> int:
    """Compute and store the suggestions of one pair; returns how many."""
    with engine.lock:
        state = engine.scorer.of_pair(engine.encode([image])[0], pair_id)
        offers = judge.suggest(
            engine.scorer,
            Case(image, state, trajectory, suspects, p_error),
            engine.captioner,
            judging(classifier),
            exploring=exploring,
        )
    memory.give_back()
    with store.writing() as session:
        suggestion_queries.save_suggestions(
            session,
            [to_save(pair_id, offer, run_id) for offer in offers],
        )
    return len(offers)


def exploring_of(run: RunRow) -> Exploring:
    """How the run made its trajectories: what is compared with them must be made alike."""
    return Exploring.recorded(run.explorer, run.parameters)


def scored_pairs(
    store: Store, run: RunRow, pair_ids: Sequence[int]
) -> tuple[list[PairRow], list[Trajectory]]:
    """Those of the pairs that have a trajectory under this run, with it, in import order."""
    pairs: list[PairRow] = []
    trajectories: list[Trajectory] = []
    for first in range(0, len(pair_ids), AT_ONCE):
        part = pair_ids[first : first + AT_ONCE]
        with store.reading() as session:
            found = _with_trajectories(session, run, pair_queries.pairs_of(session, part))
        pairs += found[0]
        trajectories += found[1]
    return pairs, trajectories


def _with_trajectories(
    session: Session, run: RunRow, pairs: Sequence[PairRow]
) -> tuple[list[PairRow], list[Trajectory]]:
    rows = trajectory_queries.trajectories_of(session, run.id, [pair.id for pair in pairs])
    found = [pair for pair in pairs if pair.id in rows]
    return found, [to_trajectory(pair.caption, rows[pair.id]) for pair in found]


def scored_batches(store: Store, run: RunRow) -> Iterator[tuple[list[PairRow], list[Trajectory]]]:
    """All pairs that have a trajectory under this run, in import order, a few at a time: memory
    does not grow with the dataset."""
    after = 0
    while True:
        with store.reading() as session:
            batch = pair_queries.pairs_after(session, run.dataset_id or 0, after, AT_ONCE)
            found = _with_trajectories(session, run, batch)
        if not batch:
            return
        after = batch[-1].id
        if found[0]:
            yield found


def _judge(
    session: Session,
    run: RunRow,
    classifier_id: int,
    pairs: Sequence[PairRow],
    trajectories: Sequence[Trajectory],
    p_errors: Sequence[float],
) -> None:
    """Write p_error and suspect words; s_0 and gain as well where another run was shown before."""
    pair_queries.lock_pairs(session, [pair.id for pair in pairs])
    shown = [
        to_row(pair.id, t)
        for pair, t in zip(pairs, trajectories, strict=True)
        if (pair.s_0, pair.gain) != (float(t.scores[0]), float(t.scores.max()) - float(t.scores[0]))
    ]
    trajectory_queries.save_trajectories(session, run.id, shown)
    batch = [
        (
            pair,
            DetectionRow(
                pair.id,
                p_error,
                tuple((s.start, s.end, s.score) for s in suspect_words(trajectory, p_error)),
                run.id,
                classifier_id,
            ),
        )
        for pair, trajectory, p_error in zip(pairs, trajectories, p_errors, strict=True)
    ]
    detection_queries.save_detections(session, [row for _, row in batch])
    signal_queries.save_suspect_words(
        session, {pair.id: _most_suspect(pair.caption, row) for pair, row in batch}
    )


def _most_suspect(caption: str, row: DetectionRow) -> tuple[str | None, str | None]:
    """The word by which a pair is found beside others, and its kind; None if none is suspect."""
    start, end, score = max(row.suspects, key=lambda one: one[2], default=(0, 0, 0.0))
    if score < VISIBLE:
        return None, None
    word = caption[start:end].lower()
    return word, kind_of(word)


def to_row(pair_id: int, trajectory: Trajectory) -> TrajectoryRow:
    return TrajectoryRow(
        pair_id,
        trajectory.scores,
        trajectory.similarities,
        trajectory.removed,
        trajectory.first_step_scores,
        trajectory.truncated,
        trajectory.captions,
        (second.scores, second.first_step_scores) if (second := trajectory.second) else None,
    )


def to_trajectory(caption: str, row: TrajectoryRow) -> Trajectory:
    return Trajectory(
        Caption.parse(caption),
        row.scores,
        row.similarities,
        tuple(row.removed),
        row.first_step_scores,
        row.truncated,
        row.captions,
        SecondOpinion(*row.second) if row.second else None,
    )


def to_suspects(row: DetectionRow) -> tuple[SuspectWord, ...]:
    return tuple(SuspectWord(*suspect) for suspect in row.suspects)
