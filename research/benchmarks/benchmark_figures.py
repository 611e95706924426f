"""Figures of a benchmark with bootstrap intervals, and the differences of two judges.

Each figure is a function of weights, one a caption: how often each was drawn. All captions of a
group are drawn together (Field and Welsh 2007), because those of one picture are not independent.
Two judges are compared under the same draws, so that what is common to both cancels.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from research.benchmarks.benchmark import Content
from research.evaluation.suspect_hits import WordScores

Numbers = NDArray[np.float64]
Mask = NDArray[np.bool_]
#: A figure for weights [captions]; NaN where it is undefined.
Measure = Callable[[Numbers], float]

REPETITIONS = 1000
#: Groups below which an interval is marked as unreliable.
FEW_GROUPS = 50
_CHUNK = 64


@dataclass(frozen=True)
class Estimate:
    """A figure and its 95 % interval; `low` and `high` are None where it cannot be had."""

    value: float
    low: float | None
    high: float | None

    def __str__(self) -> str:
        """
        >>> str(Estimate(0.8123, 0.7, 0.9)), str(Estimate(0.5, None, None))
        ('.812 [.700, .900]', '.500 [–]')
        """
        if self.low is None or self.high is None:
            return f"{short(self.value)} [–]"
        return f"{short(self.value)} [{short(self.low)}, {short(self.high)}]"


@dataclass(frozen=True)
class Judgement:
    """What a judge says of the captions of a benchmark.

    * `scores` [captions]: the higher, the more likely right;
    * `suspects`: for each caption the suspicion of each of its words, shape [words], higher is more
      suspect; None if the judge says nothing of words;
    * `settings`: what it takes to compute it again.
    """

    name: str
    scores: Numbers
    settings: str
    suspects: Sequence[WordScores] | None = None


def short(value: float, digits: int = 3) -> str:
    """
    >>> short(0.5), short(-0.25, 2), short(1.0), short(math.nan)
    ('.500', '-.25', '1.000', '–')
    """
    return "–" if math.isnan(value) else f"{value:.{digits}f}".replace("0.", ".", 1)


class Sampling:
    """The draws of a bootstrap over groups, the same for all figures and judges of a run."""

    def __init__(self, groups: Sequence[str], seed: int = 0, repetitions: int = REPETITIONS):
        names, self._group_of = np.unique(np.array(groups), return_inverse=True)
        self.groups, self._seed, self._repetitions = len(names), seed, repetitions

    def weights(self) -> Iterator[Numbers]:
        """How often each caption was drawn, once for each repetition."""
        random = np.random.default_rng(self._seed)
        share = np.full(self.groups, 1 / self.groups)
        for first in range(0, self._repetitions, _CHUNK):
            size = min(_CHUNK, self._repetitions - first)
            for counts in random.multinomial(self.groups, share, size):
                yield counts[self._group_of].astype(np.float64)

    def estimates(self, measures: Sequence[Measure]) -> list[Estimate]:
        """Each figure with the middle 95 % of its repetitions."""
        repetitions = self.repetitions_of(measures)
        whole = np.ones(len(self._group_of))
        return [
            estimate_of(measure(whole), repetitions[:, index])
            for index, measure in enumerate(measures)
        ]

    def repetitions_of(self, measures: Sequence[Measure]) -> Numbers:
        """Shape [repetitions, figures]."""
        return np.array(
            [[measure(weights) for measure in measures] for weights in self.weights()]
        ).reshape(-1, len(measures))


def estimate_of(value: float, replicates: Numbers) -> Estimate:
    """`replicates` [repetitions]: NaN in those in which the figure was undefined, which are left
    out; an interval of fewer than half of them is none."""
    values = replicates[~np.isnan(replicates)]
    if math.isnan(value) or len(values) < max(2, len(replicates) / 2):
        return Estimate(value, None, None)
    low, high = np.quantile(values, (0.025, 0.975))
    return Estimate(value, float(low), float(high))


def auc(wrong: Mask, scores: Numbers) -> Measure:
    """Probability that a right caption scores higher than a wrong one; ties count half."""
    _, place = np.unique(scores, return_inverse=True)

    def measure(weights: Numbers) -> float:
        of_wrong = np.bincount(place, weights * wrong)
        of_right = np.bincount(place, weights * ~wrong)
        above = of_right.sum() - np.cumsum(of_right)
        return _ratio((of_wrong * (above + of_right / 2)).sum(), of_wrong.sum() * of_right.sum())

    return measure


def average_precision(wrong: Mask, scores: Numbers) -> Measure:
    """Of the wrong captions, the most suspicious first; ties at once, as in scikit-learn."""
    _, place = np.unique(scores, return_inverse=True)

    def measure(weights: Numbers) -> float:
        of_wrong = np.bincount(place, weights * wrong)
        every = np.cumsum(np.bincount(place, weights))
        precision = np.cumsum(of_wrong) / np.maximum(every, 1e-12)
        return _ratio((of_wrong * precision).sum(), of_wrong.sum())

    return measure


def f1(wrong: Mask, predictions: Mask) -> Measure:
    def measure(weights: Numbers) -> float:
        both = (weights * (wrong & predictions)).sum()
        return _ratio(2 * both, (weights * wrong).sum() + (weights * predictions).sum())

    return measure


def share(hits: Mask, rows: NDArray[np.int64]) -> Measure:
    """The share of hits; `rows` [hits]: the caption whose weight each has."""

    def measure(weights: Numbers) -> float:
        return _ratio((weights[rows] * hits).sum(), weights[rows].sum())

    return measure


def called_wrong(wrong: Mask, suspicion: Numbers, groups: Sequence[str]) -> Mask:
    """What is called wrong: from the threshold up that is best on the other half of the groups, so
    that no caption takes part in choosing its own threshold."""
    names, group_of = np.unique(np.array(groups), return_inverse=True)
    half = np.random.default_rng(0).permutation(len(names)) % 2 == 0
    is_first = half[group_of]
    predictions = np.zeros(len(wrong), np.bool_)
    for side in (True, False):
        other = is_first != side
        predictions[~other] = suspicion[~other] >= _best_threshold(wrong[other], suspicion[other])
    return predictions


def _best_threshold(wrong: Mask, suspicion: Numbers) -> float:
    """The threshold of the highest F1; above all values without a wrong one."""
    if not wrong.any():
        return math.inf
    order = np.argsort(-suspicion, kind="stable")
    hits = np.cumsum(wrong[order])
    scores = 2 * hits / (np.arange(1, len(wrong) + 1) + wrong.sum())
    thresholds = suspicion[order]
    last_of_tie = np.append(thresholds[1:] != thresholds[:-1], True)
    return float(thresholds[np.argmax(np.where(last_of_tie, scores, -1.0))])


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole > 0 else math.nan


def measures_of(content: Content, judgement: Judgement) -> dict[str, Measure]:
    """Every figure that can be had of all captions, by its name."""
    items, scores = content.items, judgement.scores
    wrong = np.array([item.is_wrong for item in items])
    groups = [item.group for item in items]
    figures: dict[str, Measure] = {
        "AUC": auc(wrong, scores),
        "average precision": average_precision(wrong, scores),
        "F1": f1(wrong, called_wrong(wrong, -scores, groups)),
    }
    for name in dict.fromkeys(c.figure for c in content.comparisons):
        figures[name] = _hits(content, scores, name)
    return figures | _word_measures(content, judgement)


def _hits(content: Content, scores: Numbers, figure: str, kind: str | None = None) -> Measure:
    comparisons = [c for c in content.comparisons if c.figure == figure and kind in (None, c.kind)]
    hits = [all(scores[high] > scores[low] for high, low in c.orders) for c in comparisons]
    rows = [c.orders[0][0] for c in comparisons]
    return share(np.array(hits, np.bool_), np.array(rows, np.int64))


def _word_measures(content: Content, judgement: Judgement) -> dict[str, Measure]:
    """Of the words of captions in which wrong ones are marked: whether the most suspect is one, and
    F1 of all words."""
    if judgement.suspects is None:
        return {}
    rows, hits = [], []
    word_rows, is_wrong, suspicion = [], [], []
    for row, (item, of_words) in enumerate(zip(content.items, judgement.suspects, strict=True)):
        if item.wrong_words is None or not len(of_words):
            continue
        if item.wrong_words:
            rows.append(row)
            hits.append(int(np.argmax(of_words)) in item.wrong_words)
        word_rows += [row] * len(of_words)
        is_wrong += [word in item.wrong_words for word in range(len(of_words))]
        suspicion += of_words.tolist()
    if not rows:
        return {}
    of_caption = np.array(word_rows, np.int64)
    wrong = np.array(is_wrong, np.bool_)
    groups = [content.items[row].group for row in word_rows]
    by_word = f1(wrong, called_wrong(wrong, np.array(suspicion), groups))
    return {
        "top suspect word": share(np.array(hits, np.bool_), np.array(rows, np.int64)),
        "F1 by word": lambda weights: by_word(weights[of_caption]),
    }


def measures_by_kind(content: Content, scores: Numbers) -> dict[str, tuple[int, int, Measure]]:
    """For each kind of error: its captions, those of them that are wrong, and the benchmark's first
    figure of comparisons, or AUC where nothing is compared. Right captions without a kind belong to
    all kinds."""
    kinds = sorted({item.kind for item in content.items if item.kind})
    figure = content.comparisons[0].figure if content.comparisons else ""
    result: dict[str, tuple[int, int, Measure]] = {}
    of_item = np.array([item.kind for item in content.items])
    wrong = np.array([item.is_wrong for item in content.items])
    for kind in kinds:
        rows = (of_item == kind) | ((of_item == "") & ~wrong)
        if figure:
            measure = _hits(content, scores, figure, kind)
        else:
            of_kind = auc(wrong[rows], scores[rows])

            def measure(weights: Numbers, rows: Mask = rows, of_kind: Measure = of_kind) -> float:
                return of_kind(weights[rows])

        is_kind = of_item == kind
        result[kind] = int(is_kind.sum()), int((wrong & is_kind).sum()), measure
    return result


def pairs_to_tell_apart(difference: float, deviation: float, pairs: int) -> int | None:
    """How many more pairs would tell two judges apart: so that a difference of this size lies
    outside the 95 % interval in four of five samples. `deviation`: standard error of the difference
    with `pairs` pairs, which falls with their square root. None if no number would.

    >>> pairs_to_tell_apart(0.05, 0.05, 100)
    685
    >>> pairs_to_tell_apart(0.5, 0.05, 100), pairs_to_tell_apart(0.0, 0.05, 100)
    (0, None)
    """
    if not abs(difference) > 1e-6 or math.isnan(deviation):
        return None
    total = pairs * ((1.96 + 0.8416) * deviation / difference) ** 2
    return max(0, math.ceil(total) - pairs)
