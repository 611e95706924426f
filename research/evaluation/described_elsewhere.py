"""Cold start on drawn scenes described in another language, beside s_0.

`python -m research.evaluation.described_elsewhere de data/wordings/de-seed-0 --seed 20`: pairs of
which every second caption is wrong (in turn another scene's, another one's that shares a noun, one
false claim), scored by a model of `research.scenes.train_wording`; nobody labels anything.
"""

import argparse
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from backend.engine.captions import Caption
from backend.engine.detection.cold_start import TrainedDetector, cold_start
from backend.engine.detection.localisation import DEFAULT, word_scores
from backend.engine.scoring.loading import load_scorer
from backend.engine.trajectories.driver import run_trajectories
from backend.engine.trajectories.trajectory import Trajectory
from research.evaluation.labelled import SEED
from research.scenes.examples import is_short, short_description
from research.scenes.noise import BalancedNoise, noun_swap, random_swap
from research.scenes.renderer import PICTURE_SIZE, render
from research.scenes.wordings import Wording, wording_of
from research.scenes.world import Scene, make_scene


@dataclass(frozen=True)
class Described:
    """`changed`: indices of the words of the grammar that are wrong, None for a swap."""

    scene: Scene
    text: str
    is_wrong: bool
    kind: str = ""
    spans: frozenset[tuple[int, int]] = frozenset()


def described(wording: Wording, count: int, seed: int) -> list[Described]:
    rng, noise = random.Random(SEED + 1_000_000 * seed), BalancedNoise()
    scenes = [make_scene(rng) for _ in range(count)]
    true = [(scene, short_description(scene, rng, wording)) for scene in scenes]
    pairs = []
    for index, (scene, description) in enumerate(true):
        statement, kind = description, ""
        spans: frozenset[tuple[int, int]] = frozenset()
        if index % 2:
            kind = ("random", "noun", "fine")[index // 2 % 3]
            if kind == "fine":
                false = noise(description, scene, rng)
                if false is not None and is_short(false.description, wording):
                    statement = false.description
                    spans = _changed(wording.text(description), wording.text(statement))
            else:
                swap = random_swap if kind == "random" else noun_swap
                statement = swap(index, true, rng)
        text = wording.text(statement)
        pairs.append(Described(scene, text, statement is not description, kind, spans))
    return pairs


def _changed(before: str, after: str) -> frozenset[tuple[int, int]]:
    """The characters of the words of `after` that are not in `before`."""
    old = {word.lower() for word in Caption.parse(before).words}
    parsed = Caption.parse(after)
    return frozenset(
        span
        for word, span in zip(parsed.words, parsed.spans, strict=True)
        if word.lower() not in old
    )


@dataclass(frozen=True)
class LanguageFigures:
    """AUC of s_0 and of cold start, by kind of error; `hits`: how often the most suspect word of a
    caption with one false claim is a changed one."""

    s_0: dict[str, float]
    cold: dict[str, float]
    hits: float
    detector: TrainedDetector
    interval: tuple[float, float]


def evaluate_language(language: str, model: Path, count: int, seed: int) -> LanguageFigures:
    pairs = described(wording_of(language), count, seed)
    scorer = load_scorer(str(model), "blip-itm", "cpu")
    states = scorer.encode_images([render(pair.scene, PICTURE_SIZE) for pair in pairs])

    def score(requests: Sequence[tuple[int, str]]) -> list[Trajectory]:
        queries = (
            (scorer.of_pair(states[row], row), Caption.parse(text)) for row, text in requests
        )
        by_index = dict(run_trajectories(scorer, queries))
        return [by_index[index] for index in range(len(requests))]

    trajectories = score([(row, pair.text) for row, pair in enumerate(pairs)])
    detector = cold_start([pair.text for pair in pairs], trajectories, score, seed=seed)
    s_0 = -np.array([float(trajectory.scores[0]) for trajectory in trajectories])
    wrong = np.array([pair.is_wrong for pair in pairs])
    hits = [
        parsed.spans[int(np.argmax(word_scores(trajectory, detector.classifier.words or DEFAULT)))]
        in pair.spans
        for pair, trajectory in zip(pairs, trajectories, strict=True)
        if pair.spans
        for parsed in [trajectory.caption]
    ]
    return LanguageFigures(
        _by_kind(s_0, pairs), _by_kind(detector.p_error, pairs), float(np.mean(hits)), detector,
        _interval(s_0, detector.p_error, wrong),
    )  # fmt: skip


def _by_kind(scores: NDArray[np.float64], pairs: Sequence[Described]) -> dict[str, float]:
    wrong = np.array([pair.is_wrong for pair in pairs])
    kinds = np.array([pair.kind for pair in pairs])
    figures = {"all": float(roc_auc_score(wrong, scores))}
    for kind in ("random", "noun", "fine"):
        rows = ~wrong | (kinds == kind)
        figures[kind] = float(roc_auc_score(wrong[rows], scores[rows]))
    return figures


def _interval(
    before: NDArray[np.float64], after: NDArray[np.float64], wrong: NDArray[np.bool_]
) -> tuple[float, float]:
    """95 % of the difference of AUC, by a paired bootstrap over pairs."""
    rng = np.random.default_rng(0)
    gains = []
    for _ in range(2000):
        rows = rng.integers(0, len(wrong), len(wrong))
        if wrong[rows].any() and not wrong[rows].all():
            now = roc_auc_score(wrong[rows], after[rows])
            gains.append(now - roc_auc_score(wrong[rows], before[rows]))
    low, high = np.quantile(gains, (0.025, 0.975))
    return float(low), float(high)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("language")
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--count", type=int, default=240)
    parser.add_argument("--seed", type=int, default=20)
    args = parser.parse_args()
    for number, model in enumerate(args.models):
        figures = evaluate_language(args.language, model, args.count, args.seed + number)
        print(args.language, model.name, "s_0", figures.s_0, "cold start", figures.cold)
        print("gain", figures.cold["all"] - figures.s_0["all"], figures.interval, "hits",
              figures.hits, figures.detector.report, flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
