r"""Cold start on drawn scenes described in another language, beside s_0.

    python -m research.evaluation.described_elsewhere data/wordings --language de --language zh \
        --language en --training 0 --training 1 --training 2

Pairs of which every second caption is wrong (in turn another scene's, another one's that shares a
noun, one false claim), scored by a model of `research.scenes.train_wording`; nobody labels
anything. Training K of every language is measured on the same scenes. If interrupted, the same
command goes on after the last finished training.
"""

import argparse
import json
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from backend.engine.captions import Caption
from backend.engine.detection.cold_start import cold_start
from backend.engine.detection.localisation import DEFAULT, word_scores
from backend.engine.scoring.loading import load_scorer
from backend.engine.trajectories.driver import run_trajectories
from backend.engine.trajectories.trajectory import Trajectory
from research.evaluation.labelled import SEED
from research.markdown_tables import cell, table
from research.scenes.examples import is_short, short_description
from research.scenes.noise import BalancedNoise, noun_swap, random_swap
from research.scenes.renderer import PICTURE_SIZE, render
from research.scenes.wordings import Wording, wording_of
from research.scenes.world import Scene, make_scene

#: How a caption is wrong.
KINDS = ("random", "noun", "fine")


@dataclass(frozen=True)
class DescribedCaption:
    """`changed`: indices of the words of the grammar that are wrong, None for a swap."""

    scene: Scene
    text: str
    is_wrong: bool
    kind: str = ""
    spans: frozenset[tuple[int, int]] = frozenset()


def describe(wording: Wording, count: int, seed: int) -> list[DescribedCaption]:
    rng, noise = random.Random(SEED + 1_000_000 * seed), BalancedNoise()
    scenes = [make_scene(rng) for _ in range(count)]
    true = [(scene, short_description(scene, rng, wording)) for scene in scenes]
    pairs = []
    for index, (scene, description) in enumerate(true):
        statement, kind = description, ""
        spans: frozenset[tuple[int, int]] = frozenset()
        if index % 2:
            kind = KINDS[index // 2 % len(KINDS)]
            if kind == "fine":
                false = noise(description, scene, rng)
                if false is not None and is_short(false.description, wording):
                    statement = false.description
                    spans = _changed_words(wording.text(description), wording.text(statement))
            else:
                swap = random_swap if kind == "random" else noun_swap
                statement = swap(index, true, rng)
        text = wording.text(statement)
        pairs.append(DescribedCaption(scene, text, statement is not description, kind, spans))
    return pairs


def _changed_words(before: str, after: str) -> frozenset[tuple[int, int]]:
    """The characters of the words of `after` that are not in `before`."""
    old = {word.lower() for word in Caption.parse(before).words}
    caption = Caption.parse(after)
    return frozenset(
        span
        for word, span in zip(caption.words, caption.spans, strict=True)
        if word.lower() not in old
    )


@dataclass(frozen=True)
class LanguageFigures:
    """Of one training. AUC of s_0 and of cold start, by kind of error; `low`, `high`: 95 % of their
    difference; `hits`: how often the most suspect word of one of the `located` captions with one
    false claim is a changed one; `note`: what cold start says of its training errors."""

    language: str
    training: int
    pairs: int
    s_0: dict[str, float]
    cold: dict[str, float]
    low: float
    high: float
    hits: float
    located: int
    note: str

    @property
    def gain(self) -> float:
        return self.cold["all"] - self.s_0["all"]


def evaluate_language(
    language: str, training: int, model: Path, count: int, seed: int
) -> LanguageFigures:
    """`seed`: of the pairs. Raises what loading the model of the folder `model` may raise."""
    pairs = describe(wording_of(language), count, seed)
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
        caption.spans[int(np.argmax(word_scores(trajectory, detector.classifier.words or DEFAULT)))]
        in pair.spans
        for pair, trajectory in zip(pairs, trajectories, strict=True)
        if pair.spans
        for caption in [trajectory.caption]
    ]
    return LanguageFigures(
        language, training, count, _by_kind(s_0, pairs), _by_kind(detector.p_error, pairs),
        *_interval(s_0, detector.p_error, wrong), float(np.mean(hits)), len(hits),
        str(detector.report.get("basis_note", "")),
    )  # fmt: skip


def _by_kind(scores: NDArray[np.float64], pairs: Sequence[DescribedCaption]) -> dict[str, float]:
    wrong = np.array([pair.is_wrong for pair in pairs])
    kinds = np.array([pair.kind for pair in pairs])
    figures = {"all": float(roc_auc_score(wrong, scores))}
    for kind in KINDS:
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


def markdown(results: Sequence[LanguageFigures]) -> str:
    """Mean and standard error over the trainings of each language; then each training."""
    rows, each = [], []
    english = {figures.training: figures.gain for figures in results if figures.language == "en"}
    for language in dict.fromkeys(figures.language for figures in results):
        of = [figures for figures in results if figures.language == language]
        beside = [f.gain - english[f.training] for f in of if f.training in english]
        for name, scores in (("s_0", [f.s_0 for f in of]), ("cold start", [f.cold for f in of])):
            rows.append([
                f"{language}, {name}", *(cell([s[kind] for s in scores]) for kind in scores[0]),
                *(("", "", "") if name == "s_0" else (
                    cell([f.gain for f in of]),
                    cell(beside) if language != "en" and beside else "",
                    f"{np.mean([f.hits for f in of]):.0%} of {sum(f.located for f in of)}",
                )),
            ])  # fmt: skip
        each += [
            [f.language, f.training, f.pairs, f"{f.s_0['all']:.3f}", f"{f.cold['all']:.3f}",
             f"{f.gain:+.3f} [{f.low:+.3f}, {f.high:+.3f}]", f.note]
            for f in of
        ]  # fmt: skip
    head = ["AUC", "all", "random", "shared noun", "one false claim", "gain over s_0",
            "gain, less that of English", "suspect word is a changed one"]  # fmt: skip
    below = ["language", "training", "pairs", "s_0", "cold start",
             "gain [95 %, bootstrap over pairs]", "note"]  # fmt: skip
    return f"{table(head, rows)}\n\n{table(below, each)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", type=Path, help="what train_wording wrote: LANGUAGE-seed-K")
    parser.add_argument("--language", action="append", required=True)
    parser.add_argument("--training", type=int, action="append", required=True)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=60, help="of the pairs; with training K, + K")
    args = parser.parse_args()
    results = []
    for training in args.training:
        for language in args.language:
            model, seed = args.models / f"{language}-seed-{training}", args.seed + training
            file = args.models / f"{model.name}-{args.count}-{seed}.json"
            if not file.exists():
                figures = evaluate_language(language, training, model, args.count, seed)
                file.write_text(json.dumps(asdict(figures)))
            results.append(LanguageFigures(**json.loads(file.read_text())))
            print(results[-1], flush=True)
    print(markdown(results))


if __name__ == "__main__":
    main()
