"""The effect of bfloat16: `python -m research.bench.precision --scorer blip-itm`

Compares the embedded models in both precisions on newly drawn scenes. Random weights would not do:
their scores are so close together that rounding looks worse than it is.
"""

import argparse
import json

import numpy as np
from sklearn.metrics import roc_auc_score

from backend.engine.captions import Caption
from backend.engine.detection.localisation import word_scores
from backend.engine.scoring.loading import load_scorer
from backend.engine.trajectories.driver import run_trajectories
from backend.engine.trajectories.trajectory import Trajectory
from backend.settings import MODELS
from research.scenes.labelled_scenes import DIRECTORIES, PICTURE_SIZE, labelled_scenes
from research.scenes.renderer import render


def compare(kind: str, count: int, seed: int = 0) -> dict[str, object]:
    """AUC of s_0 and of the best gain in both precisions, and how often their choices agree."""
    pairs = labelled_scenes(count, "fine-grained", seed)
    images = [render(scene, PICTURE_SIZE) for scene in pairs.scenes]

    def trajectories(precision: str) -> list[Trajectory]:
        scorer = load_scorer(str(MODELS / DIRECTORIES[kind]), kind, "cpu", precision)
        captions = [Caption.parse(text) for text in pairs.captions]
        states = scorer.encode_images(images)
        by_row = dict(run_trajectories(scorer, zip(states, captions, strict=True)))
        return [by_row[row] for row in range(count)]

    runs = [trajectories(precision) for precision in ("float32", "bfloat16")]
    both = [pair for pair in zip(*runs, strict=True) if pair[0].steps]
    changes = np.concatenate([np.abs(a.scores[:1] - b.scores[:1]) for a, b in both])

    def share(alike: list[bool]) -> float:
        return round(float(np.mean(alike)), 3)

    return {
        "scorer": kind,
        "pairs": count,
        "auc_s_0": [
            round(float(roc_auc_score(pairs.wrong, [-t.scores[0] for t in run])), 4) for run in runs
        ],
        "auc_gain": [
            round(float(roc_auc_score(pairs.wrong, [t.scores.max() - t.scores[0] for t in run])), 4)
            for run in runs
        ],
        "median_change_of_s_0": float(np.median(changes)),
        "largest_change_of_s_0": float(changes.max()),
        "same_first_word": share([a.removed[0] == b.removed[0] for a, b in both]),
        "same_trajectory": share([a.removed == b.removed for a, b in both]),
        "same_top_suspect": share(
            [int(word_scores(a).argmax()) == int(word_scores(b).argmax()) for a, b in both]
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scorer", choices=sorted(DIRECTORIES), default="blip-itm")
    parser.add_argument("--pairs", type=int, default=400)
    args = parser.parse_args()
    print(json.dumps(compare(args.scorer, args.pairs), indent=2))


if __name__ == "__main__":
    main()
