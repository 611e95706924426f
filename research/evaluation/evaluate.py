"""`python app.py evaluate`: dataset × noise × scorer × explorer × seeds.

Each run creates labelled pairs, computes their trajectories (or loads them from the cache), and
evaluates them (`result_figures`). The summary gives means over seeds with standard errors; the
improvement over the single score is computed per seed and noise, as in TRACED's Tables 1 and 6.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.engine.captions import Caption
from backend.engine.correction.captioner import Captioner
from backend.engine.correction.captioner_loading import load_captioner
from backend.engine.detection.features import feature_matrix
from backend.engine.scoring.loading import load_scorer
from backend.engine.scoring.protocol import ImageState, Scorer
from backend.engine.trajectories.driver import run_trajectories
from backend.engine.trajectories.exploring import Exploring
from backend.engine.trajectories.trajectory import Trajectory
from backend.errors import SettingsError
from backend.features.corrections.corrector import Corrector
from backend.features.selection.score_file import ScoreFile, read_scores
from backend.progress import Progress, no_progress
from backend.settings import MODELS
from research.evaluation import metrics
from research.evaluation.corrections import CorrectionFigures, correction_quality
from research.evaluation.labelled import (
    DIRECTORIES,
    MADE,
    NOISES,
    RECORDED,
    SCENES,
    UNFAMILIAR_SCENES,
    LabelledPairs,
    from_dataset,
    from_scenes,
)
from research.evaluation.labelled_detectors import LABELLED_DETECTORS
from research.evaluation.learning_curve import (
    CurvePoint,
    Transfer,
    UnlabelledResult,
    learning_curve,
    transfer,
    without_labels,
)
from research.evaluation.result_figures import (
    Figures,
    Run,
    TestPredictions,
    compare_detectors,
    figures_of,
    test_half,
)
from research.evaluation.scored import (
    Times,
    gradients_of,
    interventions_of,
    measure_times,
    prepare,
    score_captions,
    trajectories_of,
    with_captioner,
    word_weights_of,
)
from research.markdown_tables import Mean, mean_of

_BATCH = 16
#: Makes the scorer and the labelled pairs of a run in another process; has to be picklable.
Load = Callable[[str], tuple[Scorer, LabelledPairs]]


def trajectories_on(devices: tuple[str, ...], load: Load, exploring: Exploring) -> list[Trajectory]:
    """The trajectories of the pairs that `load(device)` returns, in order."""
    count = len(devices)
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        parts = pool.map(_share, devices, [load] * count, [exploring] * count, range(count),
                         [count] * count)  # fmt: skip
        by_row = {row: trajectory for part in parts for row, trajectory in part}
    return [by_row[row] for row in sorted(by_row)]


def _share(
    device: str, load: Load, exploring: Exploring, first: int, step: int
) -> list[tuple[int, Trajectory]]:
    """Every `step`-th pair from `first` on."""
    scorer, pairs = load(device)
    rows = range(first, len(pairs), step)

    def states() -> Iterator[tuple[ImageState, Caption]]:
        for at in range(0, len(rows), _BATCH):
            batch = rows[at : at + _BATCH]
            image_states = scorer.encode_images([pairs.picture(row) for row in batch])
            for row, state in zip(batch, image_states, strict=True):
                yield scorer.of_pair(state, row), Caption.parse(pairs.captions[row])

    return [
        (rows[place], trajectory)
        for place, trajectory in run_trajectories(scorer, states(), exploring)
    ]


#: The two variants in LEMoN's paper, and one fitted to AUC; all are the scorer "lemon" on CLIP.
LEMON = {"lemon-fix": "fix", "lemon-opt": "opt", "lemon-auc": "auc"}
#: Where the weights of suspect words come from.
WORD_WEIGHTS = ("default", "fitted")
#: The figures averaged in the summary, and their column titles.
SUMMARY_COLUMNS = {
    "auc": "AUC",
    "auc_single_score": "s_0 alone",
    "improvement_percent": "improvement %",
    "auc_score_and_length": "s_0 and length",
    "auc_both_scores": "both scores and length",
    "auc_without_second": "without auxiliary score",
    "auc_without_captioner": "without captioner",
    "auc_text_only": "text only",
    "average_precision": "average precision",
    "error_rate_at_95_recall": "errors kept at 95 % recall",
    "brier": "Brier",
    "expected_calibration_error": "calibration error",
    "effort_ratio_at_10_percent": "effort at 10 % noise / s_0's",
    "localisation_top1": "suspect top-1",
    "localisation_top3": "suspect top-3",
    "localisation_phrase_top1": "suspect phrase top-1",
    "localisation_phrase_top3": "suspect phrase top-3",
    "localisation_word_prior": "word prior",
    "localisation_chance": "chance",
}


@dataclass(frozen=True)
class Summary:
    scorer: str
    explorer: str
    noise: str
    seeds: int
    figures: dict[str, Mean]


@dataclass(frozen=True)
class EvaluationReport:
    dataset: str
    pairs: int
    detector: str
    results: list[Figures]
    summary: list[Summary]
    times: list[Times] = field(default_factory=list)
    learnt: list[CurvePoint] = field(default_factory=list)
    transfers: list[Transfer] = field(default_factory=list)
    unlabelled: list[UnlabelledResult] = field(default_factory=list)


@dataclass(frozen=True)
class Plan:
    """The settings of an evaluation. Raises SettingsError if they are invalid.

    * `dataset`: "scenes", "unfamiliar-scenes" or a path; `model`: None for the embedded ones.
    * `embedded`: folders with embedded models; seed k uses the k-th, or the last one.
    * `captioners`: one whose expectations are used, or one for each seed; none given: the embedded
      one together with embedded scorers; "none": no captioner.
    * `word_weights`: "default", or "fitted" on corrupted copies of the training half.
    * `trained_on`: also judge each noise by detectors trained on these noises.
    * `learning_curve`: also measure results by the number of labelled pairs; `cold_start`: also
      without labels, by the number of pairs.
    * `detector`: one of LABELLED_DETECTORS; `compare`: also evaluate each detector family, and
      ablations.
    * `test_pairs`: how many of the `pairs` are from the dataset's test split; None: half.
    * `devices`: several, on which the trajectories are computed in one process each.
    * `contestants`: files of others' scores or suspects, compared on the same held-out pairs.
    * `corrections`: number of wrong pairs per run that are corrected and judged, also by
      `correctors`; `times`: number of pairs timed with and without trajectories.
    """

    dataset: str = SCENES
    image_root: Path | None = None
    scorers: Sequence[str] = ("blip-itm",)
    model: str | None = None
    embedded: Sequence[Path] = (MODELS,)
    captioners: Sequence[str] = ()
    explorers: Sequence[Exploring] = (Exploring(),)
    noises: Sequence[str] = NOISES
    seeds: int = 3
    first_seed: int = 0
    pairs: int = 400
    detector: str = "best"
    compare: bool = False
    corrections: int = 0
    correctors: Sequence[Corrector] = ()
    times: int = 0
    word_weights: str = "default"
    learning_curve: bool = False
    cold_start: bool = False
    trained_on: Sequence[str] = ()
    contestants: Sequence[Path] = ()
    test_pairs: int | None = None
    devices: tuple[str, ...] = ()
    device: str | None = None
    precision: str | None = None
    cache: Path = Path("data/evaluation")

    def __post_init__(self) -> None:
        noises = {*self.noises, *self.trained_on}
        unknown = noises - {*MADE, RECORDED}
        if unknown or not self.noises:
            raise SettingsError(
                f"There is no noise {sorted(unknown)}; use {', '.join((*MADE, RECORDED))}."
            )
        if RECORDED in noises and self.dataset in (SCENES, UNFAMILIAR_SCENES):
            raise SettingsError(f"Drawn scenes have no recorded noise; use {', '.join(NOISES)}.")
        if self.contestants and set(self.noises) != {RECORDED}:
            raise SettingsError(
                "Scores of other programs are compared on errors that a dataset records: give "
                "--dataset PATH --noise recorded."
            )
        if self.detector not in LABELLED_DETECTORS:
            raise SettingsError(
                f"There is no detector '{self.detector}'; use {', '.join(LABELLED_DETECTORS)}."
            )
        if self.word_weights not in WORD_WEIGHTS:
            raise SettingsError(
                f"There are no word weights '{self.word_weights}'; use {', '.join(WORD_WEIGHTS)}."
            )
        if self.seeds < 1 or self.pairs < 40:
            raise SettingsError("An evaluation needs at least 1 seed and 40 pairs.")
        if len(self.captioners) > 1 and len(self.captioners) != self.seeds:
            raise SettingsError(
                f"{len(self.captioners)} captioners for {self.seeds} seeds: give one, or one for "
                "each seed."
            )
        if self.model is None and (missing := set(self.scorers) - {*DIRECTORIES, *LEMON}):
            raise SettingsError(
                f"There is no embedded {', '.join(sorted(missing))}; name a --model for it, or use "
                f"one of: {', '.join(sorted({*DIRECTORIES, *LEMON}))}."
            )

    def seed_numbers(self) -> range:
        return range(self.first_seed, self.first_seed + self.seeds)

    def folder_of(self, seed: int) -> Path:
        return self.embedded[min(seed - self.first_seed, len(self.embedded) - 1)]


def evaluate(plan: Plan, progress: Progress = no_progress) -> EvaluationReport:
    """Execute all runs of the plan. Propagates the errors of loading models and datasets."""
    total = len(plan.scorers) * len(plan.explorers) * len(plan.noises) * plan.seeds
    if plan.dataset not in (SCENES, UNFAMILIAR_SCENES):
        progress(0, total, f"Reading {Path(plan.dataset).name}")
        draw_labelled(plan, plan.noises[0], plan.first_seed)  # fail early on a wrong path
    results: list[Figures] = []
    times: list[Times] = []
    learnt: list[CurvePoint] = []
    transfers: list[Transfer] = []
    unlabelled: list[UnlabelledResult] = []
    for name in plan.scorers:
        scorers: dict[Path, Scorer] = {}
        for exploring in plan.explorers:
            for noise in plan.noises:
                for seed in plan.seed_numbers():
                    message = f"{name}, {exploring.name}, {noise}, seed {seed}"
                    progress(len(results), total, message)
                    folder = plan.folder_of(seed)
                    if folder not in scorers:
                        scorers = {folder: load(plan, name, folder)}
                    task = _Task(plan, name, scorers[folder], exploring, noise, seed)
                    transfers += task.transfers()
                    figures, curve, cold_starts = task.figures()
                    results.append(figures)
                    learnt += curve
                    unlabelled += cold_starts
            if plan.times:
                progress(len(results), total, f"{name}, {exploring.name}, times")
                scorer = scorers[plan.folder_of(plan.seed_numbers()[-1])]
                pairs = draw_labelled(plan, plan.noises[0], plan.first_seed)
                prepare(scorer, pairs, np.zeros(len(pairs), np.bool_))
                times.append(measure_times(scorer, name, exploring, pairs, plan.times))
    progress(total, total, "Evaluated")
    return EvaluationReport(
        plan.dataset, plan.pairs, plan.detector, results, summarise(results), times, learnt,
        transfers, unlabelled,
    )  # fmt: skip


def load(plan: Plan, name: str, folder: Path) -> Scorer:
    """The scorer `name` of the plan; `folder`: with the embedded models."""
    kind = "lemon" if name in LEMON else name
    model = plan.model or str(folder / DIRECTORIES["clip" if name in LEMON else name])
    return load_scorer(model, kind, plan.device, plan.precision)


def draw_labelled(plan: Plan, noise: str, seed: int) -> LabelledPairs:
    if plan.dataset in (SCENES, UNFAMILIAR_SCENES):
        return from_scenes(plan.pairs, noise, seed, plan.dataset == UNFAMILIAR_SCENES)
    return from_dataset(
        Path(plan.dataset), plan.image_root, plan.pairs, noise, seed, test_count=plan.test_pairs
    )


def _loaded_on(
    plan: Plan, name: str, noise: str, seed: int, device: str
) -> tuple[Scorer, LabelledPairs]:
    scorer = load(replace(plan, device=device), name, plan.folder_of(seed))
    pairs = draw_labelled(plan, noise, seed)
    prepare(scorer, pairs, test_half(pairs, seed), fit=LEMON.get(name, "fix"))
    return scorer, pairs


@dataclass(frozen=True)
class _Task:
    """One run of a plan; `name`: of the scorer."""

    plan: Plan
    name: str
    scorer: Scorer
    exploring: Exploring
    noise: str
    seed: int

    @property
    def run(self) -> Run:
        return Run(self.name, self.exploring.name, self.noise, self.seed)

    @property
    def _key(self) -> dict[str, Any]:
        return {"dataset": self.plan.dataset, "noise": self.noise, "seed": self.seed,
                "scorer": self.name}  # fmt: skip

    def transfers(self) -> list[Transfer]:
        if not self.plan.trained_on:
            return []
        by_generator = {
            generator: replace(self, noise=generator).score()
            for generator in dict.fromkeys((*self.plan.trained_on, self.noise))
        }
        return [
            transfer(
                *by_generator[self.noise], *by_generator[other], self.run, other, self.plan.detector
            )
            for other in self.plan.trained_on
        ]

    def score(self) -> tuple[LabelledPairs, list[Trajectory]]:
        plan = self.plan
        pairs = draw_labelled(plan, self.noise, self.seed)
        prepare(self.scorer, pairs, test_half(pairs, self.seed), fit=LEMON.get(self.name, "fix"))
        on_devices = None
        if len(plan.devices) > 1:
            loading = partial(_loaded_on, plan, self.name, self.noise, self.seed)
            on_devices = partial(trajectories_on, plan.devices, loading, self.exploring)
        trajectories = trajectories_of(
            plan.cache, self._key, self.scorer, self.exploring, pairs, on_devices
        )
        captioner = captioner_of(plan, self.seed)
        return pairs, with_captioner(plan.cache, self._key, captioner, trajectories, pairs)

    def figures(self) -> tuple[Figures, list[CurvePoint], list[UnlabelledResult]]:
        plan, scorer, exploring, run = self.plan, self.scorer, self.exploring, self.run
        pairs, trajectories = self.score()
        test = test_half(pairs, self.seed)
        captioner = captioner_of(plan, self.seed)
        cache, key = plan.cache, self._key
        weights = None
        if plan.word_weights == "fitted":
            weights = word_weights_of(
                cache, key, scorer, captioner, exploring, pairs, test, self.seed
            )

        def correct(
            predictions: TestPredictions, test: NDArray[np.bool_]
        ) -> dict[str, CorrectionFigures]:
            rows = np.flatnonzero(test & pairs.wrong)[: plan.corrections].tolist()
            return correction_quality(
                scorer, captioner, pairs, trajectories, rows,
                lambda batch: predictions.classifier.predict(feature_matrix(batch)).tolist(),
                exploring, plan.correctors,
            )  # fmt: skip

        figures = figures_of(
            pairs, trajectories, run, detector=plan.detector,
            gradients=gradients_of(cache, key, scorer, pairs),
            interventions=interventions_of(cache, key, scorer, pairs),
            corrections=correct if plan.corrections and any(pairs.changed) else None,
            word_weights=weights,
        )  # fmt: skip
        if plan.compare:
            minimised = None
            if exploring.name == "elimination":  # the paper's Table 5
                other = replace(exploring, direction="minimise")
                minimised = trajectories_of(cache, key, scorer, other, pairs)
            figures = compare_detectors(figures, pairs, trajectories, minimised)
        for path in plan.contestants:
            figures.auc_by_detector[path.name] = contestant_auc(read_scores(path), pairs, test)
        curve, cold_starts = [], []
        if plan.learning_curve:
            curve = learning_curve(pairs, trajectories, run, plan.detector)
        if plan.cold_start:
            copies = {**key, "copies": "cold start"}
            score = score_captions(cache, copies, scorer, captioner, exploring, pairs)
            cold_starts = without_labels(pairs, trajectories, score, run, plan.detector)
        return figures, curve, cold_starts


def contestant_auc(scores: ScoreFile, pairs: LabelledPairs, test: NDArray[np.bool_]) -> float:
    """AUC of another program's scores on the held-out pairs, on which the detectors are judged.

    Raises SettingsError if it has not scored all of them.
    """
    ids = [pair_id for pair_id, is_test in zip(pairs.ids, test, strict=True) if is_test]
    missing = [pair_id for pair_id in ids if pair_id not in scores.by_id]
    if missing and not scores.is_list:
        raise SettingsError(
            f"{len(missing)} of {len(ids)} held-out pairs have no score, '{missing[0]}' first."
        )
    sign = 1 if scores.says_wrong else -1
    values = np.array([sign * scores.by_id.get(pair_id, 0.0) for pair_id in ids])
    return metrics.auc(pairs.wrong[test], values)


def captioner_of(plan: Plan, seed: int) -> Captioner | None:
    """The captioner of a seed by the plan, or the embedded one if the scorers are embedded."""
    device = plan.device or "cpu"
    if plan.captioners:
        name = plan.captioners[(seed - plan.first_seed) % len(plan.captioners)]
        return load_captioner(name, device) if name != "none" else None
    folder = plan.folder_of(seed) / "scenes-blip-captioner"
    return load_captioner(str(folder), device) if plan.model is None else None


def summarise(results: Sequence[Figures]) -> list[Summary]:
    """Means and standard errors over seeds for each scorer, explorer and noise, in order."""
    return [
        Summary(
            *key,
            len(group),
            {name: mean for name in SUMMARY_COLUMNS if (mean := _mean(group, name))},
        )
        for key, group in by_setting(results).items()
    ]


def by_setting(results: Sequence[Figures]) -> dict[tuple[str, str, str], list[Figures]]:
    """The runs of each (scorer, explorer, noise), in order."""
    runs: dict[tuple[str, str, str], list[Figures]] = {}
    for result in results:
        runs.setdefault((result.scorer, result.explorer, result.noise), []).append(result)
    return runs


def _mean(results: Sequence[Figures], name: str) -> Mean | None:
    values = [value for result in results if (value := getattr(result, name)) is not None]
    return mean_of(values) if values else None
