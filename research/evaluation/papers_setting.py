"""TRACED's own setting, for Tables 1 and 6: the published models, the paper's explorers, detector
and noises, on one of its datasets.

Fine-grained errors are made by rules; errors by a language model, as in the paper, are those of a
noisy copy (`noise --kind fine-grained --llm`) with `--noise recorded`. What else differs from the
paper: docs/method.md.
Trajectories of a run are kept in the cache, so the same command resumes after the last complete
run.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from backend.engine.trajectories.exploring import Exploring
from backend.errors import SettingsError
from backend.progress import Progress, no_progress
from research.evaluation.evaluate import (
    EvaluationReport,
    Plan,
    draw_labelled,
    evaluate,
    load,
    summarise,
)
from research.evaluation.labelled import NOISES, RECORDED
from research.evaluation.result_tables import papers_dataset
from research.evaluation.scored import Times, measure_times, prepare

CLIP = "openai/clip-vit-base-patch32"
#: BLIP fine-tuned for retrieval exists for two of the three datasets (TRACED §4.2).
BLIP = {"flickr30k": "Salesforce/blip-itm-base-flickr", "ms-coco": "Salesforce/blip-itm-base-coco"}
#: Tokens are edited, and may be replaced by any other (A.4).
EXPLORERS = (
    Exploring("elimination", unit="token"),
    Exploring("fast-gcd", whole_words=False),
    Exploring("gcd", whole_words=False),
)
#: One caption for each picture of Flickr30k: training and validation together, and test (TRACED
#: §4.3; Karpathy's splits have 29,000, 1,014 and 1,000 pictures).
PAIRS, TEST_PAIRS = 31_000, 1_000
#: Pairs that are timed for the estimate, for each scorer and explorer.
TIMED = 4


@dataclass(frozen=True)
class Estimate:
    """Wall-clock seconds of all `runs` of `pairs` pairs, from a few timed pairs of each scorer and
    explorer; training of the detectors and runs that are cached already are not considered."""

    dataset: str
    runs: int
    pairs: int
    seconds: float
    times: list[Times]


def plans(plan: Plan, scorers: Collection[str] = (), explorers: Collection[str] = ()) -> list[Plan]:
    """The plan as the paper would run it, one for each published model.

    Dataset, number of pairs, seeds, device, precision, cache and what is compared and timed are
    those of `plan`. `scorers`, `explorers`: only these, by default all of the paper's. Raises
    SettingsError for a dataset, scorer or explorer that is not one of the paper's. With the noise
    "recorded", only the errors that the dataset records are evaluated.
    """
    dataset = papers_dataset(plan.dataset)
    if dataset is None:
        raise SettingsError(
            f"'{plan.dataset}' is not one of the paper's datasets: its name has to contain coco, "
            "flickr30k or imdb."
        )
    noises = tuple(plan.noises)
    if noises != (RECORDED,):
        noises = NOISES if dataset in BLIP else NOISES[:2]
    setting = replace(
        plan,
        explorers=[how for how in EXPLORERS if not explorers or how.name in explorers],
        noises=noises,
        detector="paper",
        captioners=("none",),
    )
    models = {"clip": CLIP, "lemon-fix": CLIP, "lemon-opt": CLIP}
    if dataset in BLIP:
        models = {"blip-itm": BLIP[dataset], "blip-itc": BLIP[dataset], **models}
    unknown = set(scorers) - set(models) | set(explorers) - {how.name for how in EXPLORERS}
    if unknown:
        raise SettingsError(
            f"The paper does not evaluate {', '.join(sorted(unknown))} on {dataset}; its scorers: "
            f"{', '.join(models)}; its explorers: {', '.join(how.name for how in EXPLORERS)}."
        )
    selection = {name: model for name, model in models.items() if not scorers or name in scorers}
    return [
        replace(setting, model=model, scorers=[name for name in selection if models[name] == model])
        for model in dict.fromkeys(selection.values())
    ]


def estimate(plans: Sequence[Plan], progress: Progress = no_progress) -> Estimate:
    """Estimated cost of all runs. Raises ModelUnavailable if a model is not on this machine, and
    the errors of reading the dataset."""
    times: list[Times] = []
    seconds, runs = 0.0, 0
    total = sum(len(plan.scorers) for plan in plans)
    for plan in plans:
        few = replace(plan, pairs=40)
        pairs = draw_labelled(few, plan.noises[0], plan.first_seed)
        of_each = len(plan.noises) * plan.seeds
        for name in plan.scorers:
            progress(len(times) // len(plan.explorers), total, f"Timing {name}")
            scorer = load(plan, name, Path())
            prepare(scorer, pairs, np.zeros(len(pairs), np.bool_))
            for exploring in plan.explorers:
                timing = measure_times(scorer, name, exploring, pairs, TIMED)
                times.append(timing)
                runs += of_each
                seconds += of_each * plan.pairs / 1000 * timing.trajectories
    return Estimate(plans[0].dataset, runs, plans[0].pairs, seconds, times)


def evaluate_as_published(
    plans: Sequence[Plan], progress: Progress = no_progress
) -> EvaluationReport:
    """All runs of all plans in one report, whose tables show the paper's figures next to ours."""
    reports = [evaluate(plan, progress) for plan in plans]
    results = [result for report in reports for result in report.results]
    return replace(reports[0], results=results, summary=summarise(results))


def in_words(estimate: Estimate) -> str:
    """The estimate in one sentence."""
    hours, minutes = divmod(round(estimate.seconds / 60), 60)
    return (
        f"{estimate.runs} runs of {estimate.pairs} pairs will take about {hours} h {minutes} min "
        f"on {estimate.times[0].device}. Interrupted, the same command resumes after the last "
        "complete run."
    )
