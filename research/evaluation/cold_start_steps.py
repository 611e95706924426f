"""What do the later steps of trajectories add to a cold start?

`python -m research.evaluation.cold_start_steps --scorer blip-itm --pairs 240 --first-seed 40`

Detectors are trained without labels, as a dataset's first one is (`detection.cold_start`): on whole
trajectories of the captions and of their noisy copies, and on the first steps of the same ones.
Both are compared with the ground truth of newly drawn scenes.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from backend.engine.captions import Caption
from backend.engine.correction.captioner import Captioner
from backend.engine.detection.cold_start import ColdStart, cold_start
from backend.engine.detection.localisation import word_scores
from backend.engine.scoring.protocol import Scorer
from backend.engine.trajectories.driver import run_trajectories
from backend.engine.trajectories.trajectory import Trajectory
from backend.engine.trajectories.word_expectations import with_expectations
from backend.settings import MODELS
from research.evaluation import metrics
from research.evaluation.evaluate import Plan, captioner_of, labelled, load
from research.evaluation.labelled import MADE, LabelledPairs
from research.scenes.labelled_scenes import DIRECTORIES

#: Captions scored at once.
_BATCH = 48
FIRST = (50, 100)


class Copies:
    """Scores captions on the images of the pairs; each caption of an image once."""

    def __init__(self, scorer: Scorer, captioner: Captioner | None, pairs: LabelledPairs) -> None:
        self._scorer, self._captioner, self._pairs = scorer, captioner, pairs
        self._known: dict[tuple[int, str], Trajectory] = {}

    def __call__(self, requests: Sequence[tuple[int, str]]) -> list[Trajectory]:
        missing = [request for request in dict.fromkeys(requests) if request not in self._known]
        for first in range(0, len(missing), _BATCH):
            batch = missing[first : first + _BATCH]
            images = [self._pairs.picture(row) for row, _ in batch]
            states = self._scorer.encode_images(images)
            captions = [Caption.parse(text) for _, text in batch]
            queries = zip(states, captions, strict=True)
            by_index = dict(run_trajectories(self._scorer, queries))
            trajectories = [by_index[index] for index in range(len(batch))]
            read = with_expectations(self._captioner, images, trajectories)
            self._known |= dict(zip(batch, read, strict=True))
        return [self._known[request] for request in requests]


def compare(plan: Plan, name: str, seed: int) -> dict[str, Any]:
    """Metrics of both ways for one scorer and seed of the plan."""
    pairs = labelled(plan, plan.noises[0], seed)
    score = Copies(load(plan, name, plan.folder_of(seed)), captioner_of(plan, seed), pairs)
    whole = score(list(enumerate(pairs.captions)))
    figures: dict[str, Any] = {"scorer": name, "seed": seed, "pairs": len(pairs)}
    for way, is_whole in (("whole", True), ("first_step", False)):
        made = cold_start(pairs.captions, whole, score, pairs.groups, whole=is_whole)
        figures[way] = _against_truth(pairs, whole, made)
    return figures


def _against_truth(
    pairs: LabelledPairs, trajectories: Sequence[Trajectory], made: ColdStart
) -> dict[str, Any]:
    read = [t.first_step() if made.classifier.first_step else t for t in trajectories]
    hits = [
        int(word_scores(trajectory, made.classifier.words).argmax()) in changed
        for trajectory, changed in zip(read, pairs.changed, strict=True)
        if changed and len(trajectory.first_step_scores) > len(changed)
    ]
    order = np.argsort(-made.p_error, kind="stable")
    return {
        "detector": made.report["detector"],
        "auc": round(metrics.auc(pairs.wrong, made.p_error), 4),
        "auc_s_0": round(
            metrics.auc(pairs.wrong, -np.array([t.scores[0] for t in trajectories])), 4
        ),
        "calibration_error": round(
            metrics.expected_calibration_error(pairs.wrong, made.p_error), 4
        ),
        "errors_in_first": {n: int(pairs.wrong[order[:n]].sum()) for n in FIRST if n < len(order)},
        "top1": round(float(np.mean(hits)), 4) if hits else None,
        "noisy_copies": made.report.get("noisy_copies", 0),
    }


def summary(figures: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Means over the seeds of each scorer, and of the differences (first step less whole)."""

    def mean(rows: Sequence[dict[str, Any]], value: Callable[[dict[str, Any]], float]) -> float:
        return round(float(np.mean([value(row) for row in rows])), 4)

    means = {}
    for scorer in dict.fromkeys(row["scorer"] for row in figures):
        rows = [row for row in figures if row["scorer"] == scorer]
        means[scorer] = {
            key: {
                way: mean(rows, lambda row, way=way, key=key: row[way][key])
                for way in ("whole", "first_step")
            }
            for key in ("auc", "calibration_error", "top1")
            if all(row[way][key] is not None for row in rows for way in ("whole", "first_step"))
        }
    return means


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scorer", choices=sorted(DIRECTORIES), action="append")
    parser.add_argument("--noise", choices=MADE, default="fine-grained")
    parser.add_argument("--pairs", type=int, default=240)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=40)
    parser.add_argument("--embedded", type=Path, action="append")
    args = parser.parse_args()
    plan = Plan(
        scorers=args.scorer or sorted(DIRECTORIES),
        noises=(args.noise,),
        pairs=args.pairs,
        seeds=args.seeds,
        first_seed=args.first_seed,
        embedded=args.embedded or [MODELS, MODELS / "seed-1", MODELS / "seed-2"],
        device="cpu",
    )
    figures = []
    for name in plan.scorers:
        for seed in plan.seed_numbers():
            figures.append(compare(plan, name, seed))
            print(json.dumps(figures[-1]), flush=True)
    print(json.dumps(summary(figures), indent=2))


if __name__ == "__main__":
    main()
