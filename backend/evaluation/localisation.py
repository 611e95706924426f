"""Do the suspect scores point at the changed words? Ours beside simpler ones and beside chance.

Of wrong captions whose changed words are known. Simpler scores are the gain of a single deletion,
the order of removal, and the gradient; `word prior` never sees an image: it has learnt, from the
captions of the other half, which words tend to be the changed ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from backend.captions import Caption
from backend.detection.localisation import word_scores
from backend.evaluation.labelled import LabelledPairs
from backend.trajectories.trajectory import Trajectory

WordScores = NDArray[np.float64]
OURS, CHANCE, PRIOR = "suspect words", "chance", "word prior"


@dataclass(frozen=True)
class HitRates:
    """`top1`: how often the highest score is a changed word's; `top3`: one of the three highest;
    `auc`: of changed against other words within a caption; means over `pairs` captions."""

    top1: float
    top3: float
    auc: float
    pairs: int


@dataclass(frozen=True)
class Localisation:
    """By way of scoring; and of ours and of chance by what was changed."""

    by_score: dict[str, HitRates]
    by_kind: dict[str, dict[str, HitRates]]


def localisation(
    pairs: LabelledPairs,
    trajectories: Sequence[Trajectory],
    test: NDArray[np.bool_],
    gradients: Sequence[WordScores] | None = None,
) -> Localisation | None:
    """None where no wrong caption's changed words are known.

    The word prior is cross-fitted on the two halves; all else is fitted to nothing.
    """
    rows = [row for row in range(len(pairs)) if _known(pairs, trajectories[row], row)]
    if len(rows) < 2:
        return None
    scored: dict[str, list[WordScores]] = {
        OURS: [word_scores(trajectories[row]) for row in rows],
        "single deletion": [_float(trajectories[row].deletion_gains) for row in rows],
        "order of removal": [_order(trajectories[row]) for row in rows],
        PRIOR: _prior(pairs, trajectories, rows, test),
    }
    if gradients is not None:
        scored["gradient"] = [
            gradients[row][: len(trajectories[row].first_step_scores)] for row in rows
        ]
    truths = [_truth(pairs, trajectories[row], row) for row in rows]
    single = {name: _rates(truths, scores) for name, scores in scored.items()}
    by_score = {name: _mean(found) for name, found in single.items()}
    chance = [_by_chance(truth) for truth in truths]
    by_score[CHANCE] = _mean(chance)
    kinds = [pairs.kinds[row] for row in rows]
    by_kind = {
        kind: {
            name: _mean([one for one, own in zip(found, kinds, strict=True) if own == kind])
            for name, found in ((OURS, single[OURS]), (PRIOR, single[PRIOR]), (CHANCE, chance))
        }
        for kind in sorted(set(kinds))
        if kind
    }
    return Localisation(by_score, by_kind)


def _known(pairs: LabelledPairs, trajectory: Trajectory, row: int) -> bool:
    if not pairs.changed[row] or not trajectory.steps:
        return False
    truth = _truth(pairs, trajectory, row)
    return bool(truth.any() and not truth.all())


def _truth(pairs: LabelledPairs, trajectory: Trajectory, row: int) -> NDArray[np.bool_]:
    read = len(trajectory.first_step_scores)
    return np.array([i in pairs.changed[row] for i in range(read)], np.bool_)


def _float(values: NDArray[np.float32]) -> WordScores:
    return values.astype(np.float64)


def _order(trajectory: Trajectory) -> WordScores:
    """Higher for words removed earlier; 0 for those that never were."""
    found = np.zeros(len(trajectory.first_step_scores))
    for place, word in enumerate(trajectory.removed):
        if word < len(found) and not found[word]:
            found[word] = 1 / (1 + place)
    return found


def _prior(
    pairs: LabelledPairs, trajectories: Sequence[Trajectory], rows: list[int],
    test: NDArray[np.bool_],
) -> list[WordScores]:  # fmt: skip
    """For each row, the words' chances of having been changed, by the words alone."""
    seen = {row: _word_features(pairs.captions[row], len(trajectories[row].first_step_scores))
            for row in rows}  # fmt: skip
    found: dict[int, WordScores] = {}
    for half in (False, True):
        own = [row for row in rows if bool(test[row]) is half]
        other = [row for row in rows if bool(test[row]) is not half]
        truth = np.concatenate(
            [np.zeros(0, np.bool_), *(_truth(pairs, trajectories[row], row) for row in other)]
        )
        if len(set(truth.tolist())) < 2:
            found |= {row: np.zeros(len(seen[row])) for row in own}
            continue
        names = DictVectorizer()
        model = LogisticRegression(C=1.0, max_iter=1000).fit(
            names.fit_transform([word for row in other for word in seen[row]]), truth
        )
        for row in own:
            found[row] = model.decision_function(names.transform(seen[row]))
    return [found[row] for row in rows]


def _word_features(caption: str, read: int) -> list[dict[str, float]]:
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
        for i in range(min(read, len(words)))
    ]


def _rates(
    truths: Sequence[NDArray[np.bool_]], scores: Sequence[WordScores]
) -> list[tuple[float, float, float]]:
    found = []
    for truth, score in zip(truths, scores, strict=True):
        order = np.argsort(-score, kind="stable")
        found.append(
            (
                float(truth[order[0]]),
                float(truth[order[:3]].any()),
                float(roc_auc_score(truth, score)),
            )
        )
    return found


def _by_chance(truth: NDArray[np.bool_]) -> tuple[float, float, float]:
    """What guessing hits: for the top three, 1 minus the chance of missing three times."""
    words, changed = len(truth), int(truth.sum())
    missed = 1.0
    for drawn in range(min(3, words)):
        missed *= max(0, words - changed - drawn) / (words - drawn)
    return changed / words, 1 - missed, 0.5


def _mean(rates: Sequence[tuple[float, float, float]]) -> HitRates:
    top1, top3, auc = np.mean(rates, axis=0).tolist()
    return HitRates(top1, top3, auc, len(rates))
