"""`evaluate steps`: what do the later steps of a trajectory add, and what do they cost?

Exact trajectories are compared with their first step alone (single deletions: L questions instead
of L (L + 1) / 2 for a caption of L words) and with lazy elimination, which after the first step
only re-scores the m words whose deletion gained most (`Exploring.lazy`). Detectors are trained
on labels, the nine signs on whole trajectories and the eight signs on first steps, over the same
random halves; suspect words have their default weights.

Drawn scenes have captions of 8 to 16 words. For the comparison by length, true sentences about the
same scene are appended to some of them, so that they are longer than any in training.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from backend.engine.correction.captioner import Captioner
from backend.engine.detection.families import fit_model
from backend.engine.detection.features import feature_matrix
from backend.engine.detection.localisation import word_scores
from backend.engine.scoring.protocol import Scorer
from backend.engine.trajectories.exploring import Exploring
from backend.engine.trajectories.trajectory import Trajectory
from backend.errors import SettingsError
from backend.progress import Progress, no_progress
from research.evaluation import metrics
from research.evaluation.evaluate import SCENES, Plan, captioner_of, draw_labelled, load
from research.evaluation.labelled import SEED, LabelledPairs
from research.evaluation.labelled_detectors import choose_labelled
from research.evaluation.result_figures import test_half, training_half
from research.evaluation.scored import prepare, trajectories_of, with_captioner
from research.markdown_tables import cells, table
from research.scenes.grammar import describe

EXACT, FIRST = "exact", "first step"
#: Ranges of the number of words that the model reads: minimum and maximum.
BANDS = ((1, 7), (8, 12), (13, 20), (21, 40))
#: Random halves of the pairs on which detectors are trained and tested.
SPLITS = 10


@dataclass(frozen=True)
class StepFigures:
    """Results of one scorer and seed, for all captions or those of a range of `words`.

    * `way`: "exact", "lazy m" or "first step"; `questions`: candidates scored, relative to exact
      trajectories;
    * `auc_gain`: AUC of the best gain, wrong against right captions; `auc`: AUC of the detector;
    * `top1`: how often the most suspect word is a changed one, over captions in which those are
      known;
    * `same`: share of captions from which the same words are deleted until the exact trajectory's
      peak, over those that have one.
    """

    scorer: str
    seed: int
    way: str
    words: tuple[int, int] | None
    pairs: int
    questions: float
    auc_gain: float | None
    auc: float | None
    top1: float | None
    same: float | None


@dataclass(frozen=True)
class StepsReport:
    dataset: str
    pairs: int
    results: list[StepFigures]


def evaluate_steps(
    plan: Plan, lazies: Sequence[int] = (), progress: Progress = no_progress
) -> StepsReport:
    """Compare first steps, and lazy elimination for each m in `lazies`, with exact trajectories.

    Uses the plan's dataset, scorers, models, captioner, single noise, seeds and pairs. Raises
    SettingsError for several noises, and the errors of loading models and datasets.
    """
    if len(plan.noises) != 1:
        raise SettingsError("Steps are evaluated with one kind of noise.")
    ways = {EXACT: Exploring()} | {f"lazy {m}": Exploring(lazy=m) for m in lazies}
    results: list[StepFigures] = []
    total = len(plan.scorers) * plan.seeds
    for name in plan.scorers:
        for seed in plan.seed_numbers():
            progress(len({(r.scorer, r.seed) for r in results}), total, f"{name}, seed {seed}")
            scorer = load(plan, name, plan.folder_of(seed))
            captioner = captioner_of(plan, seed)
            pairs = draw_labelled(plan, plan.noises[0], seed)
            by_way = _ways(plan, name, seed, scorer, captioner, pairs, ways)
            results += _compare(name, seed, pairs, by_way, None, detector=True)
            several: Mapping[str, Sequence[Trajectory]] = by_way
            if plan.dataset == SCENES and lazies:
                pairs = lengthen(pairs, seed)
                several = _ways(plan, name, seed, scorer, None, pairs, ways, long=True)
            for band in BANDS:
                results += _compare(name, seed, pairs, several, band)
    progress(total, total, "Evaluated")
    return StepsReport(plan.dataset, plan.pairs, results)


def lengthen(pairs: LabelledPairs, seed: int) -> LabelledPairs:
    """Pairs of drawn scenes to whose captions 0, 1 or 2 true sentences have been appended."""
    rng = random.Random(SEED + 1_000_000 * seed + 1)
    captions = [
        " ".join([caption, *(describe(scene, rng).text for _ in range(row // 2 % 3))])
        for row, (caption, scene) in enumerate(zip(pairs.captions, pairs.scenes, strict=True))
    ]
    return replace(pairs, captions=captions, is_true=None)


def questions(words: int, lazy: int | None = None, whole: bool = True) -> int:
    """Candidates that Elimination scores for a caption of `words` words.

    >>> questions(12), questions(12, lazy=2), questions(12, whole=False)
    (78, 33, 12)
    """
    if not whole:
        return words
    return words + sum(min(length, lazy or length) for length in range(1, words))


def _ways(
    plan: Plan,
    name: str,
    seed: int,
    scorer: Scorer,
    captioner: Captioner | None,
    pairs: LabelledPairs,
    ways: Mapping[str, Exploring],
    long: bool = False,
) -> dict[str, list[Trajectory]]:
    """The pairs' trajectories computed each way; first steps are those of the exact ones."""
    prepare(scorer, pairs, test_half(pairs, seed))
    what: dict[str, Any] = {
        "dataset": plan.dataset, "noise": plan.noises[0], "seed": seed, "scorer": name,
        **({"long": True} if long else {}),
    }  # fmt: skip
    by_way = {
        way: with_captioner(
            plan.cache, what, captioner,
            trajectories_of(plan.cache, what, scorer, exploring, pairs), pairs,
        )
        for way, exploring in ways.items()
    }  # fmt: skip
    return {FIRST: [trajectory.first_step() for trajectory in by_way[EXACT]], **by_way}


def _compare(
    scorer: str,
    seed: int,
    pairs: LabelledPairs,
    by_way: Mapping[str, Sequence[Trajectory]],
    band: tuple[int, int] | None,
    detector: bool = False,
) -> list[StepFigures]:
    word_counts = np.array([len(trajectory.first_step_scores) for trajectory in by_way[EXACT]])
    low, high = band or (0, int(word_counts.max(initial=0)))
    rows = np.flatnonzero((low <= word_counts) & (word_counts <= high)).tolist()
    if not rows:
        return []
    wrong = pairs.wrong[rows]
    exact = [by_way[EXACT][row] for row in rows]
    exact_cost = sum(questions(int(word_counts[row])) for row in rows)
    figures = []
    for way, trajectories in by_way.items():
        subset = [trajectories[row] for row in rows]
        lazy = int(way.removeprefix("lazy ")) if way.startswith("lazy ") else None
        cost = sum(questions(int(word_counts[row]), lazy, way != FIRST) for row in rows)
        gains = np.array([float(t.scores.max() - t.scores[0]) for t in subset])
        figures.append(
            StepFigures(
                scorer, seed, way, band, len(rows), cost / max(1, exact_cost),
                metrics.auc(wrong, gains) if 0 < wrong.sum() < len(wrong) else None,
                _auc(pairs, trajectories, seed, way == FIRST) if detector else None,
                _top1(subset, [pairs.changed[row] for row in rows]),
                None if way == FIRST else _same(subset, exact),
            )
        )  # fmt: skip
    return figures


def _auc(pairs: LabelledPairs, trajectories: Sequence[Trajectory], seed: int, first: bool) -> float:
    """Mean AUC over random halves of the pairs; the dataset's own halves, if it has a split."""
    features = feature_matrix(trajectories)
    splits = [1000 * (split + 1) + seed for split in range(SPLITS)]
    aucs = []
    for split in [seed] if pairs.test is not None else splits:
        test = test_half(pairs, split)
        half = training_half(features, pairs.wrong, pairs.groups, test, split)
        of = (half.features, half.labels, half.weights)
        detector = "eight signs" if first else "nine signs"
        choice = choose_labelled(*of, half.folds, detector)
        odds = fit_model(choice.model, *of).log_odds(features[test])
        aucs.append(metrics.auc(pairs.wrong[test], odds))
    return float(np.mean(aucs))


def _top1(
    trajectories: Sequence[Trajectory], changed_indices: Sequence[frozenset[int]]
) -> float | None:
    hits = [
        int(word_scores(trajectory).argmax()) in words
        for trajectory, words in zip(trajectories, changed_indices, strict=True)
        if words and len(trajectory.first_step_scores) > len(words)
    ]
    return float(np.mean(hits)) if hits else None


def _same(trajectories: Sequence[Trajectory], exact: Sequence[Trajectory]) -> float | None:
    same = [
        trajectory.removed[: of.peak] == of.removed[: of.peak]
        for trajectory, of in zip(trajectories, exact, strict=True)
        if of.peak
    ]
    return float(np.mean(same)) if same else None


def markdown(report: StepsReport) -> str:
    """Means over seeds, of all captions and by the number of words; then seed by seed."""
    head = ("scorer", "words", "pairs", "steps", "questions", "AUC of the best gain",
            "AUC of the detector", "suspect top-1", "same words before the peak")  # fmt: skip
    keys = dict.fromkeys((r.scorer, r.words, r.way) for r in report.results)
    rows = []
    for scorer, words, way in sorted(keys, key=lambda key: (key[0], key[1] or (0, 0))):
        group = [r for r in report.results if (r.scorer, r.words, r.way) == (scorer, words, way)]
        length = "all" if words is None else f"{words[0]}–{words[1]}"
        figures = cells(group, "questions", "auc_gain", "auc", "top1", "same")
        rows.append([scorer, length, sum(r.pairs for r in group), way, *figures])
    by_seed = ("scorer", "seed", "steps", "AUC of the detector", "exact", "difference",
               "suspect top-1", "exact", "difference")  # fmt: skip
    return "\n\n".join([table(head, rows), table(by_seed, _by_seed(report))])


def _by_seed(report: StepsReport) -> list[list[str]]:
    of = {(r.scorer, r.seed, r.way): r for r in report.results if r.words is None}
    rows = []
    for (scorer, seed, way), figures in of.items():
        exact = of[scorer, seed, EXACT]
        if way != EXACT:
            comparison = (*_against(figures.auc, exact.auc), *_against(figures.top1, exact.top1))
            rows.append([scorer, str(seed), way, *comparison])
    return rows


def _against(value: float | None, exact: float | None) -> tuple[str, str, str]:
    if value is None or exact is None:
        return "–", "–", "–"
    return f"{value:.3f}", f"{exact:.3f}", f"{value - exact:+.3f}"
