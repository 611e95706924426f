"""What verdicts teach, measured on the pairs that nobody has judged, and which pairs to show next.

`python -m research.evaluation.verdict_simulation FOLDER` simulates a curator on the datasets of
`verdict_worlds`: a policy shows pairs, the truth gives the verdicts and marks the wrong words, and
the detector learns from them as `train` does. Outcomes are kept in the folder's `outcomes.jsonl`:
the same command continues. The table has one row per policy, number of verdicts and kind of
dataset: means over datasets and draws with their standard deviation, and the worst change of the
AUC.
"""

import json
import math
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from backend.engine.detection.classifier import Calibration, Classifier
from backend.engine.detection.families import S_0
from backend.engine.detection.verdict_learning import InUse, JudgedPairs, learn
from backend.engine.detection.word_weights import learn_word_weights
from research.evaluation import metrics
from research.evaluation.verdict_worlds import World, saved_worlds

COUNTS = (10, 25, 50, 100, 300)
DRAWS = 6


@dataclass(frozen=True)
class Policy:
    """Which pairs are shown: the first `first` and then one in `every` drawn at random (0: none),
    the others in the order of the queue or, with `uncertain`, the nearest to 0.5 first."""

    name: str
    every: int
    first: int = 0
    uncertain: bool = False

    def select_pairs(
        self, world: World, count: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The first `count` pairs, and which of them were drawn at random."""
        value = -np.abs(world.p_error - 0.5) if self.uncertain else world.p_error
        queue = iter(np.argsort(-value, kind="stable").tolist())
        permutation = iter(rng.permutation(len(value)).tolist())
        rows: dict[int, bool] = {}
        for turn in range(1, count + 1):
            at_random = turn <= self.first or (bool(self.every) and turn % self.every == 0)
            row = next(row for row in (permutation if at_random else queue) if row not in rows)
            rows[row] = at_random
        return np.array(list(rows)), np.array(list(rows.values()))


POLICIES = (
    Policy("head only", 0),
    Policy("1 in 10 at random", 10),
    Policy("all at random", 1),
    Policy("1 in 20 at random", 20),
    Policy("1 in 5 at random", 5),
    Policy("20 at random, then 1 in 10", 10, first=20),
    Policy("uncertain, 1 in 10 at random", 10, uncertain=True),
)


@dataclass(frozen=True)
class Outcome:
    """Of one simulation. `errors`: among the verdicts. Of the pairs without a verdict, by the
    learnt detector minus by the cold start: `auc`, `average_precision`, `first` (errors among the
    first hundred), `brier`; |mean p - share of errors| before and after; whether a new order was
    learnt; in how many of the captions whose wrong words are known the most suspect word is one of
    them, before and after, NaN if there are none."""

    errors: float
    auc: float
    average_precision: float
    first: float
    brier: float
    level_before: float
    level_after: float
    is_order: float
    suspect_before: float
    suspect_after: float


def simulate(world: World, policy: Policy, count: int, seed: int) -> Outcome:
    """Judge `count` pairs of a world, learn, and measure on the others."""
    pairs = len(world.wrong)
    rows, is_random = policy.select_pairs(world, count, np.random.default_rng((seed, count)))
    labels, at_random = np.full(pairs, -1), np.zeros(pairs, np.bool_)
    labels[rows], at_random[rows] = world.wrong[rows], is_random
    judged_pairs = JudgedPairs(
        world.features, world.p_error, labels, at_random, list(range(pairs)), np.zeros(pairs),
        np.ones(pairs, np.bool_),
    )  # fmt: skip
    prior = Classifier(S_0, Calibration())  # only its probabilities are read
    learnt = learn(prior, InUse(prior, world.p_error, np.zeros(pairs, np.bool_)), judged_pairs)
    update = learnt.classifier.update
    assert update is not None
    marked_rows = [row for row in rows.tolist() if row in world.words]
    words = learn_word_weights(
        world.weights, [world.words[row] for row in marked_rows], at_random[marked_rows].tolist()
    )
    others = [words for row, words in world.words.items() if labels[row] < 0]
    rest = labels < 0
    wrong, before = world.wrong[rest], world.p_error[rest]
    after = update(world.p_error, world.features)[rest]
    share = wrong.mean()

    def first(p: NDArray[np.float64]) -> int:
        return int(wrong[np.argsort(-p, kind="stable")[:100]].sum())

    def change(metric: Callable[[metrics.Wrong, metrics.Scores], float]) -> float:
        is_defined = wrong.any() and not wrong.all()
        return metric(wrong, after) - metric(wrong, before) if is_defined else math.nan

    return Outcome(
        float(world.wrong[rows].sum()),
        change(metrics.auc),
        change(metrics.average_precision),
        first(after) - first(before),
        metrics.brier(wrong, after) - metrics.brier(wrong, before),
        abs(before.mean() - share),
        abs(after.mean() - share),
        float(learnt.report["learnt"] == "order"),
        *(
            float(np.mean([each.is_hit(weights) for each in others])) if others else math.nan
            for weights in (world.weights, words.weights)
        ),
    )


def kind_of(world: World) -> str:
    """The datasets that share a row of the table: the demo, or a noise at a rate."""
    return world.name if world.name == "demo" else world.name.split(" ", 1)[1]


def outcomes(
    worlds: Sequence[World], folder: Path, draws: int = DRAWS
) -> dict[tuple[str, str, int], list[Outcome]]:
    """Every simulation, by policy, kind of dataset and number of verdicts; those in the folder's
    `outcomes.jsonl` are not made again."""
    file = folder / "outcomes.jsonl"
    by_key: dict[tuple[str, str, int, int], Outcome] = {}
    if file.exists():
        for line in file.read_text().splitlines():
            *key, numbers = json.loads(line)
            by_key[tuple(key)] = Outcome(*numbers)
    by_kind = defaultdict(list)
    with file.open("a") as lines:
        for policy in POLICIES:
            for world in worlds:
                for count in COUNTS:
                    for seed in range(draws):
                        key = (policy.name, world.name, count, seed)
                        if key not in by_key:
                            by_key[key] = simulate(world, policy, count, seed)
                            lines.write(json.dumps([*key, astuple(by_key[key])]) + "\n")
                            lines.flush()
                        by_kind[policy.name, kind_of(world), count].append(by_key[key])
    return by_kind


def table(by_kind: Mapping[tuple[str, str, int], Sequence[Outcome]]) -> Iterator[str]:
    """The lines of the table, in Markdown."""
    yield (
        "| shown | dataset | verdicts | errors found | AUC: mean ± sd, worst | AP | first 100 "
        "| Brier | level before, after | new order | top suspect before, after |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for (policy, kind, count), alike in by_kind.items():
        numbers = np.array([astuple(outcome) for outcome in alike])
        with warnings.catch_warnings(action="ignore"):  # of what no simulation knows
            means, deviation = np.nanmean(numbers, 0), np.nanstd(numbers[:, 1])
            worst = np.nanmin(numbers[:, 1])
        errors, auc, ap, first, brier, before, after, order, suspect, learnt = means
        suspects = "–" if math.isnan(suspect) else f"{suspect:.3f}, {learnt:.3f}"
        changes = f"{auc:+.3f} ± {deviation:.3f}, {worst:+.3f} | {ap:+.3f}"
        if math.isnan(auc):  # no errors remain
            changes = "– | –"
        yield (
            f"| {policy} | {kind} | {count} | {errors:.0f} | {changes} | {first:+.1f} "
            f"| {brier:+.3f} | {before:.3f}, {after:.3f} | {order:.0%} | {suspects} |"
        )


def main(folder: Path) -> None:
    """Simulate on the worlds in a folder, and print the table."""
    for line in table(outcomes(saved_worlds(folder), folder)):
        print(line, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
