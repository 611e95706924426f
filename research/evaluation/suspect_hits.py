"""Do the suspect scores point at the changed words? Compared with simpler scores and with chance.

Computed on wrong captions whose changed words are known. The simpler scores are the gain of a
single deletion, the order of removal, and the gradient. `word prior` never sees an image: it learns
from the captions of the other half which words tend to be the changed ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from backend.engine.captions import Caption
from backend.engine.detection.localisation import DEFAULT, WordWeights, word_scores
from backend.engine.english.phrases import whole_phrases
from backend.engine.trajectories.trajectory import Trajectory
from research.evaluation.labelled import LabelledPairs

WordScores = NDArray[np.float64]
OURS, CHANCE, PRIOR = "suspect words", "chance", "word prior"
INTERVENTION = "phrase intervention"
CAPTIONER = "captioner's word"
_BY_KIND = (OURS, INTERVENTION, PRIOR, CHANCE)


@dataclass(frozen=True)
class HitRates:
    """Means over `pairs` captions. `top1`: how often a changed word has the highest score; `top3`:
    one of the three highest; `auc`: of changed against other words within a caption;
    `phrase_top1`, `phrase_top3`: the same if any word of a changed word's phrase counts
    (`whole_phrases`)."""

    top1: float
    top3: float
    auc: float
    pairs: int
    phrase_top1: float = 0.0
    phrase_top3: float = 0.0


@dataclass(frozen=True)
class Localisation:
    """Hit rates by scoring method; for some methods also by the kind of word changed."""

    by_score: dict[str, HitRates]
    by_kind: dict[str, dict[str, HitRates]]


def localisation(
    pairs: LabelledPairs,
    trajectories: Sequence[Trajectory],
    test: NDArray[np.bool_],
    gradients: Sequence[WordScores] | None = None,
    interventions: Sequence[WordScores] | None = None,
    weights: WordWeights = DEFAULT,
) -> Localisation | None:
    """Hit rates of all methods; None if fewer than two captions have known changed words.

    The word prior is cross-fitted on the two halves given by `test`; nothing else is fitted here.
    """
    truth_by_row: dict[int, NDArray[np.bool_]] = {}
    for row, trajectory in enumerate(trajectories):
        words = range(len(trajectory.first_step_scores))
        truth = np.array([word in pairs.changed[row] for word in words], np.bool_)
        if trajectory.steps and truth.any() and not truth.all():
            truth_by_row[row] = truth
    if len(truth_by_row) < 2:
        return None
    subset = [trajectories[row] for row in truth_by_row]
    by_method: dict[str, list[WordScores]] = {
        OURS: [word_scores(trajectory, weights) for trajectory in subset],
        "single deletion": [t.deletion_gains.astype(np.float64) for t in subset],
        "order of removal": [_order(trajectory) for trajectory in subset],
        PRIOR: _prior(pairs.captions, truth_by_row, test),
    }
    if all(trajectory.expectation is not None for trajectory in subset):
        by_method[CAPTIONER] = [_surprise(trajectory) for trajectory in subset]
    for name, values in (("gradient", gradients), (INTERVENTION, interventions)):
        if values is not None:
            by_method[name] = [values[row][: len(truth)] for row, truth in truth_by_row.items()]
    phrases = [_in_its_phrase(pairs.captions[row], truth) for row, truth in truth_by_row.items()]
    truths = list(zip(truth_by_row.values(), phrases, strict=True))
    hits = {
        name: np.array([_rates(*truth, of) for truth, of in zip(truths, scores, strict=True)])
        for name, scores in by_method.items()
    }
    hits[CHANCE] = np.array(
        [(*_by_chance(truth), *_by_chance(phrase)[:2]) for truth, phrase in truths]
    )
    kinds = np.array([pairs.kinds[row] for row in truth_by_row])
    by_kind = {
        kind: {name: _mean(hits[name][kinds == kind]) for name in _BY_KIND if name in hits}
        for kind in sorted(set(kinds.tolist()))
        if kind
    }
    return Localisation({name: _mean(rates) for name, rates in hits.items()}, by_kind)


def _in_its_phrase(caption: str, truth: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mask of the changed words and all words that share a phrase with one."""
    spans = Caption.parse(caption).spans[: len(truth)]
    mask = truth.copy()
    for start, end in whole_phrases(caption):
        inside = np.array([a < end and start < b for a, b in spans], np.bool_)
        if (inside & truth).any():
            mask |= inside
    return mask


def _surprise(trajectory: Trajectory) -> WordScores:
    """Minus the captioner's log-probability of each word; -1 (lowest) for words it did not read."""
    assert trajectory.expectation is not None
    surprises = np.full(len(trajectory.first_step_scores), -1.0)
    surprise = -trajectory.expectation.log_p[: len(surprises)].astype(np.float64)
    surprises[: len(surprise)] = surprise
    return surprises


def _order(trajectory: Trajectory) -> WordScores:
    """Higher for words removed earlier; 0 for words never removed."""
    ranks = np.zeros(len(trajectory.first_step_scores))
    for index, word in enumerate(trajectory.removed):
        if word < len(ranks) and not ranks[word]:
            ranks[word] = 1 / (1 + index)
    return ranks


def _prior(
    captions: Sequence[str], truth_by_row: dict[int, NDArray[np.bool_]], test: NDArray[np.bool_]
) -> list[WordScores]:
    """For each row of `truth_by_row`, the log-odds that each word was changed, by text alone."""
    features = {
        row: _word_features(captions[row], len(truth)) for row, truth in truth_by_row.items()
    }
    by_row: dict[int, WordScores] = {}
    for half in (False, True):
        half_rows = [row for row in truth_by_row if bool(test[row]) is half]
        other = [row for row in truth_by_row if bool(test[row]) is not half]
        truth = np.concatenate([np.zeros(0, np.bool_), *(truth_by_row[row] for row in other)])
        if len(set(truth.tolist())) < 2:
            by_row |= {row: np.zeros(len(features[row])) for row in half_rows}
            continue
        names = DictVectorizer()
        model = LogisticRegression(C=1.0, max_iter=1000).fit(
            names.fit_transform([word for row in other for word in features[row]]), truth
        )
        for row in half_rows:
            by_row[row] = model.decision_function(names.transform(features[row]))
    return [by_row[row] for row in truth_by_row]


def _word_features(caption: str, limit: int) -> list[dict[str, float]]:
    words = [word.lower() for word in Caption.parse(caption).words]
    around = ["", *words, ""]
    return [
        {
            f"word {words[i]}": 1.0,
            f"before {around[i]}": 1.0,
            f"after {around[i + 2]}": 1.0,
            "place": i / max(1, len(words) - 1),
            "words": len(words) / 10,
        }
        for i in range(min(limit, len(words)))
    ]


def _rates(
    truth: NDArray[np.bool_], phrase: NDArray[np.bool_], score: WordScores
) -> tuple[float, float, float, float, float]:
    """top-1, top-3, AUC, phrase top-1, phrase top-3 of one caption."""
    order = np.argsort(-score, kind="stable")
    return (
        float(truth[order[0]]),
        float(truth[order[:3]].any()),
        float(roc_auc_score(truth, score)),
        float(phrase[order[0]]),
        float(phrase[order[:3]].any()),
    )


def _by_chance(truth: NDArray[np.bool_]) -> tuple[float, float, float]:
    """Expected top-1, top-3 and AUC of random guessing; top-3 is 1 - P(all three guesses miss)."""
    words, positives = len(truth), int(truth.sum())
    miss_rate = 1.0
    for draw in range(min(3, words)):
        miss_rate *= max(0, words - positives - draw) / (words - draw)
    return positives / words, 1 - miss_rate, 0.5


def _mean(rates: NDArray[np.float64]) -> HitRates:
    top1, top3, auc, *phrase = rates.mean(0).tolist()
    return HitRates(top1, top3, auc, len(rates), *phrase)
