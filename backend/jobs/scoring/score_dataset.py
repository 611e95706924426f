"""Score a dataset: trajectories, concreteness, captioner expectations, detection, suggestions.

Each stage queries the store for its remaining work and commits batch by batch, so that the same
command resumes after a kill, and a second run finds nothing to do and changes nothing.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from backend.engine.claims.claim import without_repetitions
from backend.engine.claims.division import Division
from backend.engine.constants.part import ConstantPart, left_out
from backend.engine.detection.types import detector_for
from backend.errors import ImageError, ModelUnavailable
from backend.jobs import notices
from backend.jobs.scoring.captioner_stages import Descriptions, Expectations
from backend.jobs.scoring.dataset_constants import (
    ConstantChoice,
    choose_constants,
    constants_in,
    count_suspected,
    to_remember,
)
from backend.jobs.scoring.dataset_models import depth_for, division_before, division_for, remember
from backend.jobs.scoring.dataset_pairs import prepare_scorer
from backend.jobs.scoring.detect import Copies, check_detector, measure_disagreement
from backend.jobs.scoring.known_pictures import check_pictures, examine, familiarity_for
from backend.jobs.scoring.stage import (
    PAIRS,
    Sample,
    Scoring,
    Stage,
    TextStage,
    pairs_of_dataset,
    pairs_to_measure,
)
from backend.jobs.scoring.stored_claims import save_concreteness
from backend.jobs.scoring.stored_rows import scored_batches, to_claim
from backend.jobs.scoring.suggest import Corrections
from backend.jobs.scoring.trajectory_stages import (
    UNREADABLE,
    CompleteTrajectories,
    Completion,
    Trajectories,
)
from backend.jobs.scoring.vectors import Meanings
from backend.jobs.scoring.workers import Devices, Opened, Task, Workers, choose_processes
from backend.jobs.scoring_reports import ScoreReport
from backend.loaded_models import Engine
from backend.progress import LastReport, Progress, no_progress, plan
from backend.store import Store
from backend.version import VERSION
from db.queries import (
    claim_queries,
    dataset_queries,
    pair_queries,
    run_queries,
    signal_queries,
    trajectory_queries,
)
from db.queries.claim_queries import ClaimRow
from db.queries.dataset_queries import DatasetRow
from db.queries.pair_queries import PairRow
from db.queries.run_queries import RunRow

S = TypeVar("S", bound=Stage)

#: A job with at least this many pairs begins with measuring `PAIRS` of them, for the time left.
MEASURED_FROM = 50 * PAIRS
#: Captions whose concreteness is computed and committed together.
_CAPTIONS = 500

#: A pair and the claims of its caption; none: it is one claim.
_Divided = tuple[PairRow, list[ClaimRow]]


class Concreteness(TextStage):
    """ICC of every caption, and of its claims."""

    name = "Judging how concrete captions are"

    def remaining(self) -> int:
        return self.scoring.store.read(signal_queries.count_without_icc, self.scoring.dataset_id)

    def seconds(self, sample: Sample) -> float:
        return sample.seconds(lambda: self.scoring.engine.concreteness(sample.captions))

    def batches(self) -> Iterator[list[_Divided]]:
        for batch in pairs_of_dataset(self.scoring, _CAPTIONS):
            if lacking := [pair for pair in batch if pair.icc is None]:
                ids = [pair.id for pair in lacking]
                claims = self.scoring.store.read(claim_queries.claims_of, ids)
                yield [(pair, claims.get(pair.id, [])) for pair in lacking]

    def task(self) -> Task[_Divided, list[list[float]]]:
        return _concreteness

    def save(self, batch: Sequence[_Divided], result: list[list[float]]) -> None:
        """The ICC of the caption, then of its claims; a caption of several is as concrete as its
        claims are on average."""
        numbers = {
            pair.id: (
                sum(iccs) / len(iccs),
                {claim.start: icc for claim, icc in zip(claims, iccs, strict=False)},
            )
            for (pair, claims), iccs in zip(batch, result, strict=True)
        }
        self.scoring.store.write(save_concreteness, numbers)


def _concreteness(engine: Engine, batch: Sequence[_Divided], _: Opened) -> list[list[float]]:
    """The ICC of each pair's claims, or of its caption."""
    texts = [
        [to_claim(row).question(pair.caption) for row in claims] or [pair.caption]
        for pair, claims in batch
    ]
    ratings = iter(engine.concreteness([text for each in texts for text in each]))
    return [[next(ratings) for _ in each] for each in texts]


def stages_of(scoring: Scoring) -> list[Stage]:
    """The stages of scoring, in the order in which they run."""
    kinds = (
        Trajectories, Completion, Concreteness, Meanings, Expectations, Copies,
        CompleteTrajectories, Corrections, Descriptions,
    )  # fmt: skip
    proposing = (Corrections, Descriptions)
    return [kind(scoring) for kind in kinds if scoring.suggestions or kind not in proposing]


def score_dataset(
    store: Store,
    engine: Engine,
    dataset: DatasetRow,
    progress: Progress = no_progress,
    suggestions: bool = True,
    devices: Devices | None = None,
    anyway: bool = False,
    anew: bool = False,
    constant_choice: ConstantChoice | None = None,
) -> ScoreReport:
    """Run all stages on the pairs that still need them.

    `devices`: the processes that share what takes long; None: this one alone; `anyway`: also score
    pictures of a kind that the model does not know (remembered with the dataset); otherwise a few
    of them are left out, and a dataset with many is refused; `anew`: see `detect`;
    `constant_choice`: which constant parts are left out, None: as before. Raises ModelUnavailable,
    UnknownPictures, NotFound, SettingsError.
    """
    start, dataset_id = time.monotonic(), dataset.id
    if engine.captioner is None and engine.captioner_problem:  # not in an hour, nor in silence
        raise ModelUnavailable(engine.captioner_problem)
    earlier = store.read(run_queries.find_run, **run_key(engine, dataset_id))
    earlier_id = earlier.id if earlier is not None else 0
    if not anyway:
        check_pictures(store, engine, dataset, earlier_id)
    is_unfamiliar = anyway and bool(examine(store, engine, dataset, earlier_id).refusal)
    prepare_scorer(store, engine, dataset_id, progress)
    with store.reading() as session:
        # Again: somebody may have switched a constant part while the model was loaded.
        dataset = dataset_queries.get_dataset(session, dataset_id)
        total = pair_queries.count_captions(session, dataset_id)
        pairs = pair_queries.totals(session, dataset_id)[0]
        is_first = run_queries.latest_run(session, dataset_id, "score") is None
    depth = depth_for(engine.settings, pairs, is_first)
    detector_for(engine.settings.detector, depth.is_whole)  # refuse now, not in an hour
    if anew:
        check_detector(store, dataset)
    division = division_for(engine.settings, is_first)
    progress(0, 0, "Looking for constant parts")
    root, former = Path(dataset.root), constants_in(dataset.models)
    choice, constants = choose_constants(store, dataset, constant_choice)
    is_divided_anew = division != division_before(dataset) or left_out(constants) != left_out(
        former
    )
    dataset = remember(
        store, dataset, engine.settings, depth, division, to_remember(choice, constants), anyway,
        is_unfamiliar,
    )  # fmt: skip
    run = run_of(store, engine, dataset_id)
    if is_divided_anew:
        forget_other_divisions(store, engine, run, division, constants)
    with store.writing() as session:  # all images without scores are retried
        dataset_queries.clear_problems(session, dataset_id, UNREADABLE)
    familiarity = familiarity_for(engine, dataset)
    scoring = Scoring(
        store, engine, dataset_id, root, total, depth, run, Workers(engine, root), suggestions,
        anew, familiarity, division, constants,
    )  # fmt: skip
    stages = stages_of(scoring)
    first, copies = stage_in(stages, Trajectories), stage_in(stages, Copies)
    devices = choose_processes(devices, engine, first.remaining() + copies.remaining())
    seconds: dict[str, float] = {}
    if first.remaining() >= MEASURED_FROM:
        progress(0, 0, "Measuring the time")
        seconds = _expected_seconds(
            scoring, stages, len(devices.names) if devices is not None else 1
        )
    usual = {stage.name: stage.remaining() * stage.usual_cost for stage in stages}
    last_report = LastReport(plan(progress, seconds or usual, bool(seconds), ranks=Copies.name))
    with Workers(engine, root, devices, last_report.repeat) as scoring.workers:
        for stage in stages:
            if stage is copies and first.scored:  # what is set aside teaches a detector nothing
                notices.look(store, engine, dataset_id, lambda *_: last_report.repeat())
            stage.run(last_report)
    store.write(run_queries.finish_run, run.id)
    measure_disagreement(store, dataset_id)
    truncated_count = store.read(pair_queries.count_truncated, dataset_id)
    completed_count = (
        stage_in(stages, Completion).scored + stage_in(stages, CompleteTrajectories).scored
    )
    return ScoreReport(
        dataset_id=dataset_id,
        pairs=total,
        scored=first.scored,
        skipped=total - first.scored - first.unreadable - first.unknown,
        unreadable=first.unreadable,
        truncated=truncated_count,
        suggestions=stage_in(stages, Corrections).suggested if suggestions else 0,
        seconds=time.monotonic() - start,
        run_id=run.id,
        detector=copies.report,
        unknown=first.unknown,
        trajectories=depth.name,
        completed=completed_count,
        first_unreadable=tuple(first.first_unreadable),
        constants=constants,
        suspected=count_suspected(store, dataset, constants),
        former_constants=None if is_first else tuple(part.text for part in former),
    )


def forget_other_divisions(
    store: Store,
    engine: Engine,
    run: RunRow,
    division: Division,
    constants: tuple[ConstantPart, ...],
) -> None:
    """Forget the scores under the run of captions that are divided into other claims now; the other
    pairs keep theirs."""
    for pairs, captions in scored_batches(store, run):
        changed_ids = [
            pair.id
            for pair, caption in zip(pairs, captions, strict=True)
            if [(c.claim.start, c.claim.end) for c in caption.claims]
            != [
                (c.start, c.end)
                for c in without_repetitions(engine.claims(pair.caption, division, constants))
            ]
        ]
        if changed_ids:
            store.write(trajectory_queries.forget_scores, run.id, changed_ids)


def stage_in(stages: Sequence[Stage], kind: type[S]) -> S:
    """The stage of this kind."""
    return next(stage for stage in stages if type(stage) is kind)


def seconds_of(stage: Stage, units: int, sample: Sample, processes: int) -> float:
    """What `units` of the stage's work take, divided among `processes`."""
    if not units:
        return 0.0
    return units * stage.seconds(sample) / (processes if stage.is_shared else 1)


def _expected_seconds(
    scoring: Scoring, stages: Sequence[Stage], processes: int
) -> dict[str, float]:
    """The seconds of each stage, by name; {} if no sampled picture can be read."""
    _, pairs = pairs_to_measure(scoring, anyway=scoring.familiarity is None)
    try:
        sample = Sample(scoring.engine, scoring.root, pairs, scoring.division, scoring.constants)
    except ImageError:
        return {}
    scoring.claims_each = sample.claims_each
    return {
        stage.name: seconds_of(stage, stage.remaining(), sample, processes)
        + stage.undivided_seconds()
        for stage in stages
    }


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
        "code_version": VERSION,
        "parameters": {
            **exploring.parameters(),
            "limits": info.limits,
            **({"precision": info.precision} if info.precision != "float32" else {}),
            **info.parameters,
        },
    }


def run_of(store: Store, engine: Engine, dataset_id: int) -> RunRow:
    """The run of this model and these settings on this dataset: an earlier one, or a new one."""
    return store.write(run_queries.find_or_start, **run_key(engine, dataset_id))
