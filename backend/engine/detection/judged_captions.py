"""Probabilities of error of captions, from those of their claims.

A caption that is one claim has the claim's probability. One of several has the chance that at least
one of those that say something is wrong (`caption_chance.py`). What verdicts on captions and claims
have taught is applied to that, and to the chance of each claim.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from backend.engine.claims.scored_caption import ScoredCaption
from backend.engine.detection.caption_chance import fit_caption_chance
from backend.engine.detection.classifier import Classifier
from backend.engine.detection.cold_start import TrainedDetector, estimated_share
from backend.engine.detection.families import Weights
from backend.engine.detection.features import Matrix, feature_matrix
from backend.engine.detection.log_odds import Calibration
from backend.engine.detection.opinion_signs import with_opinions


@dataclass(frozen=True)
class JudgedCaptions:
    """`p_error`: of each caption, [captions]; `of_claims`: of each one's claims, without a
    second model's opinion of the caption; `features`: of each one's leading claim, [captions,
    features]; `claim_features`: of each one's claims, [claims, features]."""

    p_error: Weights
    of_claims: list[Weights]
    features: Matrix
    claim_features: list[Matrix]


def judge_captions(classifier: Classifier, captions: Sequence[ScoredCaption]) -> JudgedCaptions:
    """Probabilities by a classifier, with a second model's opinions."""
    trajectories = [
        classifier.read(claim.trajectory) for caption in captions for claim in caption.claims
    ]
    features = feature_matrix(trajectories)
    return judge_claims(classifier, captions, features, classifier.log_odds(features))


def judge_claims(
    classifier: Classifier,
    captions: Sequence[ScoredCaption],
    features: Matrix,
    log_odds: Weights,
) -> JudgedCaptions:
    """The same from the features and the log-odds of all claims of all captions, in order."""
    p_claims = classifier.calibration(log_odds) if len(log_odds) else log_odds
    p_error, leading = np.zeros(len(captions)), np.zeros(len(captions), np.int64)
    of_claims: list[Weights] = []
    claim_features: list[Matrix] = []
    start = 0
    for row, caption in enumerate(captions):
        rows = start + np.array(caption.deciding)
        leading[row] = rows[np.argmax(log_odds[rows])]
        if caption.is_single or classifier.chance is None:
            p_error[row] = p_claims[leading[row]]
        else:
            (p_error[row],) = classifier.chance([log_odds[rows]])
        end = start + len(caption.claims)
        of_claims.append(p_claims[start:end])
        claim_features.append(features[start:end])
        start = end
    if classifier.update is not None and len(captions):
        p_error = classifier.update(p_error, features[leading])
        ends = np.cumsum([len(caption.claims) for caption in captions])[:-1]
        of_claims = np.split(classifier.update(p_claims, features), ends)
    signs = np.array([caption.second_opinion for caption in captions])
    p_error = with_opinions(p_error, signs, classifier.opinion_weight)
    return JudgedCaptions(p_error, of_claims, features[leading], claim_features)


def judge_cross_fitted(
    detector: TrainedDetector, captions: Sequence[ScoredCaption]
) -> JudgedCaptions:
    """Probabilities of the captions that a cold start was trained on, whose rows are their deciding
    claims, in order."""
    classifier = detector.classifier
    features = feature_matrix(
        [classifier.read(claim.trajectory) for caption in captions for claim in caption.claims]
    )
    log_odds = classifier.log_odds(features)
    rows, start = [], 0
    for caption in captions:
        rows += [start + i for i in caption.deciding]
        start += len(caption.claims)
    log_odds[rows] = detector.log_odds
    return judge_claims(classifier, captions, features, log_odds)


def with_chance(detector: TrainedDetector, rows: Sequence[Sequence[int]]) -> Classifier:
    """The classifier of a cold start with the chance of captions of several claims, learnt from the
    claims' cross-fitted log-odds. `rows`: of each caption, those of its deciding claims among the
    rows that the cold start was trained on."""
    place = {row: (caption, at) for caption, each in enumerate(rows) for at, row in enumerate(each)}
    captions = [detector.log_odds[list(each)] for each in rows]
    wrong, owners = [], []
    for owner, odds in zip(detector.copies, detector.copy_log_odds.tolist(), strict=True):
        caption, at = place.get(owner, (-1, 0))
        if caption >= 0 and len(captions[caption]) > 1:
            copy = captions[caption].copy()
            copy[at] = odds
            wrong.append(copy)
            owners.append(caption)
    several = sorted(set(owners))
    copies = np.bincount(owners, minlength=len(captions))
    # Each caption counts once, however many copies its claims have.
    weights = np.r_[np.ones(len(several)), 1 / copies[owners]] if owners else None
    chance = fit_caption_chance([captions[row] for row in several], wrong, weights)
    if chance is None:
        return detector.classifier
    share = estimated_share(chance([captions[row] for row in several]))
    caption_chance = replace(chance, calibration=Calibration(share=share))
    return replace(detector.classifier, chance=caption_chance)
