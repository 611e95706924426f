"""`python app.py evaluate`: dataset × noise × scorer × explorer × seeds.

Each run makes labelled pairs, takes their trajectories (from the cache, if they were asked for
before), and judges them (`figures`). The summary gives means over seeds with standard errors; the
improvement over the single score is taken at equal seed and noise, as in TRACED's Tables 1 and 6.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from backend.captions import Caption
from backend.errors import SettingsError
from backend.evaluation.figures import Figures, figures_of
from backend.evaluation.labelled import NOISES, LabelledPairs, from_dataset, from_scenes
from backend.evaluation.trajectory_cache import cached
from backend.scenes.measure import DIRECTORIES
from backend.scoring.loading import load_scorer
from backend.scoring.protocol import ImageState, Scorer
from backend.settings import MODELS
from backend.trajectories.driver import run_trajectories
from backend.trajectories.exploring import Exploring
from backend.trajectories.trajectory import Trajectory

Progress = Callable[[int, int, str], None]
#: Figures that the summary averages, and how they are called there.
TOLD = {
    "auc": "AUC",
    "auc_single_score": "s_0 alone",
    "improvement_percent": "improvement %",
    "auc_score_and_length": "s_0 and length",
    "auc_text_only": "text only",
    "average_precision": "average precision",
    "error_rate_at_95_recall": "errors kept at 95 % recall",
    "expected_calibration_error": "calibration error",
    "localisation_top1": "suspect top-1",
    "localisation_chance": "chance",
}


@dataclass(frozen=True)
class Mean:
    """Over seeds; the standard error is None for a single one."""

    mean: float
    standard_error: float | None


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
    results: list[Figures]
    summary: list[Summary]


@dataclass(frozen=True)
class Plan:
    """`dataset`: "scenes" or a path; `model` None: the embedded model of each scorer."""

    dataset: str = "scenes"
    image_root: Path | None = None
    scorers: Sequence[str] = ("blip-itm",)
    model: str | None = None
    explorers: Sequence[Exploring] = (Exploring(),)
    noises: Sequence[str] = NOISES
    seeds: int = 3
    first_seed: int = 0
    pairs: int = 400
    device: str | None = None
    precision: str | None = None
    cache: Path = Path("data/evaluation")

    def __post_init__(self) -> None:
        unknown = set(self.noises) - set(NOISES)
        if unknown or not self.noises:
            raise SettingsError(f"There is no noise {sorted(unknown)}; use {', '.join(NOISES)}.")
        if self.seeds < 1 or self.pairs < 40:
            raise SettingsError("An evaluation takes 1 seed and 40 pairs at least.")
        if self.model is None and (missing := set(self.scorers) - set(DIRECTORIES)):
            raise SettingsError(
                f"There is no embedded {', '.join(sorted(missing))}; name a --model for it, or use "
                f"one of: {', '.join(sorted(DIRECTORIES))}."
            )


def evaluate(plan: Plan, progress: Progress = lambda done, total, what: None) -> EvaluationReport:
    """All runs of the plan. Raises what loading a model or reading a dataset raises."""
    total = len(plan.scorers) * len(plan.explorers) * len(plan.noises) * plan.seeds
    results: list[Figures] = []
    for scorer in _scorers(plan):
        for exploring in plan.explorers:
            for noise in plan.noises:
                for seed in range(plan.first_seed, plan.first_seed + plan.seeds):
                    told = f"{scorer.info.kind}, {exploring.name}, {noise}, seed {seed}"
                    progress(len(results), total, told)
                    pairs = labelled(plan, noise, seed)
                    trajectories = trajectories_of(plan, scorer, exploring, pairs, noise, seed)
                    kind = scorer.info.kind
                    results.append(
                        figures_of(pairs, trajectories, kind, exploring.name, noise, seed)
                    )
    progress(total, total, "Evaluated")
    return EvaluationReport(plan.dataset, plan.pairs, results, summarise(results))


def _scorers(plan: Plan) -> Iterator[Scorer]:
    for kind in plan.scorers:
        model = plan.model or str(MODELS / DIRECTORIES[kind])
        yield load_scorer(model, kind, plan.device, plan.precision)


def labelled(plan: Plan, noise: str, seed: int) -> LabelledPairs:
    if plan.dataset == "scenes":
        return from_scenes(plan.pairs, noise, seed)
    return from_dataset(Path(plan.dataset), plan.image_root, plan.pairs, noise, seed)


def trajectories_of(
    plan: Plan, scorer: Scorer, exploring: Exploring, pairs: LabelledPairs, noise: str, seed: int
) -> list[Trajectory]:
    """One a pair, in order; images are opened as they are needed."""
    info = scorer.info
    what = {
        "dataset": plan.dataset, "noise": noise, "seed": seed, "scorer": info.kind,
        "revision": info.revision, "precision": info.precision, "explorer": exploring.name,
        **exploring.parameters(),
    }  # fmt: skip

    def make() -> list[Trajectory]:
        found = dict(run_trajectories(scorer, _asked(scorer, pairs), exploring))
        return [found[index] for index in range(len(pairs))]

    return cached(plan.cache, what, pairs.captions, make)


def _asked(scorer: Scorer, pairs: LabelledPairs) -> Iterator[tuple[ImageState, Caption]]:
    for first in range(0, len(pairs), 16):
        rows = range(first, min(first + 16, len(pairs)))
        images: list[Image.Image] = [pairs.picture(row) for row in rows]
        for row, state in zip(rows, scorer.encode_images(images), strict=True):
            yield state, Caption.parse(pairs.captions[row])


def summarise(results: Sequence[Figures]) -> list[Summary]:
    """Means and standard errors over the seeds of each scorer, explorer and noise, in order."""
    runs: dict[tuple[str, str, str], list[Figures]] = {}
    for result in results:
        runs.setdefault((result.scorer, result.explorer, result.noise), []).append(result)
    return [
        Summary(*key, len(listed), {name: mean for name in TOLD if (mean := _mean(listed, name))})
        for key, listed in runs.items()
    ]


def _mean(listed: Sequence[Figures], name: str) -> Mean | None:
    values = [value for one in listed if (value := getattr(one, name)) is not None]
    if not values:
        return None
    error = float(np.std(values, ddof=1) / len(values) ** 0.5) if len(values) > 1 else None
    return Mean(float(np.mean(values)), error)


def markdown(report: EvaluationReport) -> str:
    """The summary as a table."""
    head = ["scorer", "explorer", "noise", *TOLD.values()]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in report.summary:
        cells = [_cell(row.figures.get(name)) for name in TOLD]
        lines.append("| " + " | ".join([row.scorer, row.explorer, row.noise, *cells]) + " |")
    return "\n".join(lines)


def _cell(mean: Mean | None) -> str:
    if mean is None:
        return "–"
    if mean.standard_error is None:
        return f"{mean.mean:.3f}"
    return f"{mean.mean:.3f} ± {mean.standard_error:.3f}"
