"""Measure the embedded models on scenes never seen: `python -m backend.scenes.measure`

For each seed fresh scenes are drawn; half of their captions are made wrong, one kind of noise at a
time. Reported are, as means over seeds with standard errors:

* AUC of s_0 on all pairs;
* on a test half: AUC of the detector on trajectories, trained and chosen on the other half with the
  true labels, beside its controls there: s_0 alone, and s_0 with the caption's length;
* how often the most suspect word is one that was changed (fine-grained noise), beside chance.
"""

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from backend.captions import Caption
from backend.detection.classifier import choose, fold_of
from backend.detection.cold_start import balanced
from backend.detection.features import NAMES, feature_matrix
from backend.detection.localisation import word_scores
from backend.detection.models import S_0, Linear
from backend.scenes.grammar import Description, describe
from backend.scenes.noise import BalancedNoise, noun_swap, random_swap
from backend.scenes.renderer import render
from backend.scenes.world import Scene, make_scene
from backend.scoring.loading import load_scorer
from backend.scoring.protocol import Scorer
from backend.settings import MODELS
from backend.trajectories.driver import run_trajectories
from backend.trajectories.trajectory import Trajectory

DIRECTORIES = {"blip-itm": "scenes-blip-itm", "blip-itc": "scenes-blip-itm", "clip": "scenes-clip"}
NOISES = ("random", "noun", "fine-grained")
#: Far from the seeds of training, of the demo and of the curves of training.
SEED = 3_000_000_000
PICTURE_SIZE = 192
_LENGTH = NAMES.index("words")


@dataclass(frozen=True)
class Labelled:
    """Pairs with the truth: `changed` are numbers of the words that were changed, `kinds` what
    a fine-grained error changed ("" where there is none)."""

    scenes: list[Scene]
    captions: list[str]
    wrong: NDArray[np.int64]
    changed: list[frozenset[int]]
    kinds: list[str]


def labelled_pairs(count: int, noise: str, seed: int) -> Labelled:
    """`count` fresh scenes with a caption each; every second caption is wrong."""
    lot = random.Random(SEED + 1_000_000 * seed)
    described: list[tuple[Scene, Description]] = []
    for _ in range(count):
        scene = make_scene(lot)
        described.append((scene, describe(scene, lot)))
    balanced_noise = BalancedNoise()
    captions, wrong, changed, kinds = [], [], [], []
    for index, (scene, own) in enumerate(described):
        words: frozenset[int] = frozenset()
        text, is_wrong, kind = own.text, False, ""
        if index % 2:
            if noise == "fine-grained":
                false = balanced_noise(own, scene, lot)
                if false is not None:
                    text, words, is_wrong = false.description.text, false.changed, True
                    kind = false.kind
            else:
                swap = random_swap if noise == "random" else noun_swap
                text, is_wrong = swap(index, described, lot).text, True
        captions.append(text)
        wrong.append(int(is_wrong))
        changed.append(words)
        kinds.append(kind)
    return Labelled([scene for scene, _ in described], captions, np.array(wrong), changed, kinds)


def trajectories_of(scorer: Scorer, pairs: Labelled) -> list[Trajectory]:
    """One trajectory a pair, in order."""

    def states() -> Iterator[tuple[Any, Caption]]:
        for first in range(0, len(pairs.captions), 16):
            images = [render(scene, PICTURE_SIZE) for scene in pairs.scenes[first : first + 16]]
            for k, state in enumerate(scorer.encode_images(images)):
                yield state, Caption.parse(pairs.captions[first + k])

    found = dict(run_trajectories(scorer, states()))
    return [found[index] for index in range(len(pairs.captions))]


def figures_of(pairs: Labelled, trajectories: Sequence[Trajectory], seed: int) -> dict[str, float]:
    """All figures of one noise and one seed."""
    features = feature_matrix(trajectories)
    wrong = pairs.wrong
    test = np.random.default_rng(seed).permutation(len(wrong)) < len(wrong) // 2
    train = ~test
    weights = balanced(wrong[train])
    folds = fold_of(np.arange(int(train.sum())).tolist(), seed)
    chosen = choose(features[train], wrong[train], weights, folds, labelled=True)
    detector = chosen.model.fit(features[train], wrong[train], weights)
    length = Linear("s_0 and length", (*S_0.columns, _LENGTH)).fit(
        features[train], wrong[train], weights
    )
    found = {
        "auc_s_0": float(roc_auc_score(wrong, -features[:, 0])),
        "test_auc_s_0": float(roc_auc_score(wrong[test], -features[test, 0])),
        "test_auc_s_0_and_length": float(
            roc_auc_score(wrong[test], length.log_odds(features[test]))
        ),
        "test_auc_detector": float(roc_auc_score(wrong[test], detector.log_odds(features[test]))),
    }
    hits, chance = [], []
    for trajectory, changed in zip(trajectories, pairs.changed, strict=True):
        if changed and trajectory.steps:
            scores = word_scores(trajectory)
            hits.append(int(scores.argmax()) in changed)
            chance.append(len(changed) / len(scores))
    if hits:
        found["localisation_top1"] = float(np.mean(hits))
        found["localisation_chance"] = float(np.mean(chance))
    return found


def measure(scorer: Scorer, count: int, seeds: int) -> dict[str, dict[str, list[float]]]:
    """By noise and figure: [mean, standard error] over seeds."""
    table: dict[str, dict[str, list[float]]] = {}
    for noise in NOISES:
        runs = []
        for seed in range(seeds):
            pairs = labelled_pairs(count, noise, seed)
            runs.append(figures_of(pairs, trajectories_of(scorer, pairs), seed))
        table[noise] = {
            name: [
                round(float(np.mean([run[name] for run in runs])), 4),
                round(float(np.std([run[name] for run in runs], ddof=1) / seeds**0.5), 4)
                if seeds > 1
                else float("nan"),
            ]
            for name in runs[0]
        }
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scorer", choices=sorted(DIRECTORIES), default="blip-itm")
    parser.add_argument("--pairs", type=int, default=400, help="a noise and seed")
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    scorer = load_scorer(str(MODELS / DIRECTORIES[given.scorer]), given.scorer, "cpu")
    found = measure(scorer, given.pairs, given.seeds)
    print(json.dumps({"scorer": given.scorer, "pairs": given.pairs, "seeds": given.seeds, **found},
                     indent=2))  # fmt: skip


if __name__ == "__main__":
    main()
