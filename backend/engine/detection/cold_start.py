"""A detector for a dataset without labels.

Noise of three kinds is injected into copies of the dataset's own captions; these copies are wrong.
The original captions are *mostly* right, but some are the very errors we look for, so they are
treated as unlabelled, not as right (positive-unlabelled learning, Elkan and Noto 2008). If a
classifier predicts with probability p that an original is a copy, then

    p_error = share · p / (1 - p),        share: the fraction of the dataset that is wrong,

because p / (1 - p) is the ratio of the two densities. The share is estimated from the originals
that look most like injected errors, for which p_error is close to 1. Real errors are rarely quite
like injected ones, so this sets the level of p_error only roughly, whatever the share really is
(BENCHMARKS.md, "Cold starts"); the expected share of errors that is reported is the mean of
p_error, as people see it. Verdicts calibrate it.

Cross-fitted by image: no pair is scored by a classifier that has seen its image. Training pairs are
drawn by image, and all pairs of these images, also those without a noisy copy, are scored by the
model of a fold that does not contain their image. Pairs of other images are scored by the final
classifier.

The same copies, whose changed words are known, are used to fit the word weights (`word_weights`).
"""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from backend.engine.detection.classifier import (
    FOLDS,
    Calibration,
    Classifier,
    Ticker,
    calibrate,
    choose,
    fold_of,
    report_of,
    unseen_log_odds,
)
from backend.engine.detection.explanations import backbone_of
from backend.engine.detection.families import S_0, Linear, Weights, fit_model
from backend.engine.detection.features import Matrix, feature_matrix
from backend.engine.detection.localisation import DEFAULT, WordWeights
from backend.engine.detection.types import detector_for
from backend.engine.detection.word_weights import Spans, fit_word_weights
from backend.engine.languages.language import ENGLISH, Language
from backend.engine.noise.fine_grained import FineGrainedNoise, has_words
from backend.engine.noise.injection import ImageCaption, inject
from backend.engine.trajectories.trajectory import Trajectory
from backend.errors import TrainingError

#: Scores captions on the images of pairs: (pair position, caption) -> trajectory.
ScoreCaptions = Callable[[Sequence[tuple[int, str]]], list[Trajectory]]

#: Minimum number of pairs, and of noisy copies, for training.
FEWEST_PAIRS = 12
#: Target number of noisy copies: small datasets get several per caption. More do not rank better
#: (BENCHMARKS.md, "Cold starts from first steps"), and they take most of a first scoring's time.
COPIES_WANTED = 600
_SHARE_QUANTILE = 0.9
_SMALLEST_SHARE, _LARGEST_SHARE = 0.02, 0.9


@dataclass(frozen=True)
class TrainedDetector:
    """`p_error`: probability of each pair [pairs], cross-fitted for all pairs of images that were
    trained on; `classifier`: for new captions; `report`: metrics by name. `log_odds`: what the
    probabilities follow from, [pairs]; `copies`, `copy_log_odds`: the pair of each noisy copy, and
    its own log-odds, cross-fitted."""

    p_error: Weights
    classifier: Classifier
    report: dict[str, Any]
    log_odds: Weights
    copies: list[int] = field(default_factory=list)
    copy_log_odds: Weights = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class Copies:
    """Noisy copies of captions: the rows of their originals, the kinds of noise, their features,
    the fitted word weights (None: keep the default), the captioner that has read them, and the
    language of most."""

    owners: list[int]
    kinds: list[str]
    features: Matrix
    words: WordWeights | None = None
    captioner: str = ""
    language: Language = ENGLISH


def cold_start(
    captions: Sequence[str],
    trajectories: Sequence[Trajectory],
    score: ScoreCaptions,
    groups: Sequence[Hashable] | None = None,
    maximum_pairs: int = 2000,
    progress: Ticker | None = None,
    seed: int = 0,
    detector: str = "best",
    whole: bool = True,
) -> TrainedDetector:
    """Train on at most `maximum_pairs` pairs, predict all of them.

    `groups`: the image of each pair; `detector`: see `choose`; `whole`: False to use nothing beyond
    the first step of the trajectories (see `detector_for`, which may raise). A dataset that is too
    small for training is ranked by s_0 alone; the report's "basis_note" says why.
    """
    detector = detector_for(detector, whole)
    if not whole:
        trajectories, score = first_steps(trajectories), of_first_steps(score)
    originals = feature_matrix(trajectories)
    groups = list(range(len(captions))) if groups is None else list(groups)
    if len(captions) < FEWEST_PAIRS:
        return _too_small(originals, f"only {len(captions)} pairs: ranked by s_0 alone")
    try:
        copies = make_copies(captions, score, groups, maximum_pairs, seed)
    except TrainingError as problem:
        return _too_small(originals, str(problem))
    rows = sorted(set(copies.owners))
    labels = np.r_[np.zeros(len(rows), np.int64), np.ones(len(copies.owners), np.int64)]
    weights = balance_classes(labels)
    features = np.concatenate([originals[rows], copies.features])
    owner_groups = [groups[owner] for owner in (*rows, *copies.owners)]
    folds = fold_of(owner_groups, seed)
    choice = choose(features, labels, weights, folds, tick=progress, detector=detector)
    plain = calibrate(choice.out_of_fold, labels, weights)
    share = estimated_share(plain(choice.out_of_fold[: len(rows)]))
    calibration = Calibration(plain.slope, plain.offset, share)
    model = fit_model(choice.model, features, labels, weights)
    words = copies.words or DEFAULT
    classifier = Classifier(model, calibration, words, copies.captioner, first_step=not whole)
    log_odds = model.log_odds(originals)
    apart = unseen_log_odds(
        choice.model, features, labels, weights, folds, owner_groups, originals, groups
    )
    has_fold = np.isfinite(apart)
    log_odds[has_fold] = apart[has_fold]
    log_odds[rows] = choice.out_of_fold[: len(rows)]
    p_error = calibration(log_odds)
    report = {
        **report_of(choice),
        "trained_on_pairs": len(rows),
        "noisy_copies": len(copies.owners),
        "word_weights": "fitted" if copies.words is not None else "default",
        "captioner": copies.captioner,
        "backbone": backbone_of(model, features, labels, weights, whole),
        "estimated_share_wrong": round(float(p_error.mean()), 3),
        "folds": FOLDS,
        "language": copies.language.name,
    }
    if not has_words(copies.language):
        report["basis_note"] = (
            f"injected noise of the dataset's own words, as there are none of its language "
            f"({copies.language.name}), no verdicts yet"
        )
    copy_log_odds = choice.out_of_fold[len(rows) :]
    return TrainedDetector(p_error, classifier, report, log_odds, copies.owners, copy_log_odds)


def make_copies(
    captions: Sequence[str],
    score: ScoreCaptions,
    groups: Sequence[Hashable],
    maximum_pairs: int,
    seed: int,
) -> Copies:
    """Noisy copies of the captions of at most `maximum_pairs` pairs, scored on their images.

    Pairs are drawn by image (`groups`), all pairs of an image together. Raises TrainingError if the
    captions allow too little noise.
    """
    sample = drawn_by_image(groups, maximum_pairs, seed)
    pairs = [ImageCaption(str(groups[i]), captions[i]) for i in sample]
    rounds = max(1, min(3, round(COPIES_WANTED / len(sample))))
    source = FineGrainedNoise(pair.caption for pair in pairs)
    requests: list[tuple[int, str]] = []
    kinds: list[str] = []
    spans: list[Spans] = []
    for turn in range(rounds):
        noisy_captions = inject(pairs, 1.0, seed=seed + turn, source=source)
        for position, noisy in zip(sample, noisy_captions, strict=True):
            if noisy is not None:
                requests.append((position, noisy.text))
                kinds.append(noisy.kind)
                spans.append(noisy.changed if noisy.kind == "fine_grained" else ())
    if len(requests) < FEWEST_PAIRS:
        raise TrainingError("hardly any noise can be injected into these captions")
    trajectories = score(requests)
    return Copies(
        [owner for owner, _ in requests],
        kinds,
        feature_matrix(trajectories),
        fit_word_weights(trajectories, spans),
        captioner_of(trajectories),
        source.language,
    )


def drawn_by_image(groups: Sequence[Hashable], at_most: int, seed: int) -> list[int]:
    """Rows of randomly drawn images, `at_most` in total, in ascending order.

    An image is drawn with all its rows or not at all, unless it alone has more than `at_most`.
    """
    rows_of: dict[Hashable, list[int]] = {}
    for row, group in enumerate(groups):
        rows_of.setdefault(group, []).append(row)
    images = list(rows_of.values())
    sample: list[int] = []
    order = np.random.default_rng(seed).permutation(len(images)).tolist()
    for number in order:
        if len(sample) + len(images[number]) <= at_most:
            sample += images[number]
    return sorted(sample or images[order[0]][:at_most] if images else [])


def first_steps(trajectories: Sequence[Trajectory]) -> list[Trajectory]:
    """What is known of each after its first step."""
    return [trajectory.first_step() for trajectory in trajectories]


def of_first_steps(score: ScoreCaptions) -> ScoreCaptions:
    """`score`, without what it may know beyond first steps."""
    return lambda requests: first_steps(score(requests))


def captioner_of(trajectories: Sequence[Trajectory]) -> str:
    """The captioner that has read most of the captions; "" if none has."""
    names = Counter(t.expectation.captioner for t in trajectories if t.expectation is not None)
    return names.most_common(1)[0][0] if names else ""


def balance_classes(labels: np.ndarray) -> Weights:
    """Sample weights that give both classes the same total weight, with mean 1."""
    wrong = max(1, int(labels.sum()))
    right = max(1, len(labels) - wrong)
    return np.where(labels == 1, len(labels) / (2 * wrong), len(labels) / (2 * right))


def estimated_share(p: Weights) -> float:
    """Share of wrong captions among the originals, from their probabilities of being a copy.

    For the most copy-like originals share · p / (1 - p) should be 1.
    """
    ratio = p / np.maximum(1 - p, 1e-6)
    top = float(np.quantile(ratio, _SHARE_QUANTILE))
    return float(np.clip(1 / max(top, 1e-6), _SMALLEST_SHARE, _LARGEST_SHARE))


def _too_small(originals: Matrix, why: str) -> TrainedDetector:
    """A fallback that ranks by s_0 alone: the lower within the dataset, the more likely wrong."""
    s_0 = originals[:, S_0.columns[0]] if len(originals) else np.zeros(1)
    deviation = float(s_0.std()) or 1.0
    mean = (float(s_0.mean()),)
    model = Linear(S_0.kind, S_0.columns, 1.0, (), mean, (deviation,), (-1.0,), 0.0)
    classifier = Classifier(model, Calibration())
    report = {"detector": model.kind, "basis_note": why, "trained_on_pairs": len(originals)}
    log_odds = model.log_odds(originals)
    return TrainedDetector(classifier.calibration(log_odds), classifier, report, log_odds)
