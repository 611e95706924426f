"""Explains a pair's probability by the contribution of each of the nine signs to its log-odds.

In a logistic regression, a sign contributes its weight times its deviation from the average
caption's. Every classifier is stored with a backbone of nine signs (`backbone_of`): the classifier
itself if it is the nine-sign model, otherwise a nine-sign model fitted to the same labels. Where
only the first step of trajectories is known, there are eight (`families.EIGHT_SIGNS`).
Explaining a pair therefore needs neither trees nor a scorer, only stored numbers.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from backend.engine.detection.families import (
    EIGHT,
    EIGHT_SIGNS,
    NINE,
    Labels,
    Model,
    NineSigns,
    Weights,
    WithOrWithoutCaptioner,
    fit_model,
)
from backend.engine.detection.features import Matrix, feature_matrix
from backend.engine.detection.opinion_signs import USUAL_WEIGHT
from backend.engine.trajectories.trajectory import FloatArray, Trajectory

#: In the order of `families.NINE`, then the sign that is no feature.
Sign = Literal[
    "s", "auxiliary", "length", "captioner mean", "captioner lowest", "captioner distance",
    "best gain", "deletion", "auxiliary deletion", "second opinion",
]  # fmt: skip
SIGNS: tuple[Sign, ...] = get_args(Sign)[: len(NINE)]
#: A rise of the score that is worth a word.
RISE = 0.05


@dataclass(frozen=True)
class Reason:
    """One sign's contribution to the log-odds of "the caption is wrong", relative to an average
    caption of the dataset: above 0 it counts against the caption, below 0 for it.

    `value`: the sign's value as in `features`, except that "s" is s itself, not its log-odds;
    `words`: indices of the caption's words that `value` is of, and of no others.
    """

    sign: Sign
    contribution: float
    value: float
    words: tuple[int, ...] = ()


@dataclass(frozen=True)
class Reasons:
    """All reasons, the strongest first. `is_exact`: whether the probability follows from these
    signs; otherwise the classifier uses more features, and these are from its backbone."""

    listed: tuple[Reason, ...]
    is_exact: bool


@dataclass(frozen=True)
class Rise:
    """Without these words, by their indices, the score is `after` instead of `before`."""

    words: tuple[int, ...]
    before: float
    after: float


def rise_without(trajectory: Trajectory, suspects: Collection[int]) -> Rise | None:
    """What the score gains by removing suspect words, by their indices: the first that the
    trajectory removes, as long as they are among them, or else the single one without which it
    gains most. None if that is not worth a word, and for trajectories that replace words."""
    if trajectory.captions is not None:
        return None
    before, step = float(trajectory.scores[0]), 0
    while step < len(trajectory.removed) and trajectory.removed[step] in suspects:
        step += 1
    after = float(trajectory.scores[step])
    if after - before >= RISE:
        return Rise(tuple(sorted(trajectory.removed[:step])), before, after)
    gains = {word: float(trajectory.deletion_gains[word]) for word in suspects
             if word < len(trajectory.deletion_gains)}  # fmt: skip
    word = max(gains, key=lambda word: gains[word], default=None)
    if word is None or gains[word] < RISE:
        return None
    return Rise((word,), before, before + gains[word])


def backbone_of(
    model: Model, features: Matrix, labels: Labels, weights: Weights, whole: bool = True
) -> dict[str, Any]:
    """The nine-sign backbone of a fitted model, as JSON for its report; fitted to the same labels
    if the model is of another family. `whole`: False for eight signs of first steps."""
    is_exact = isinstance(
        model.model if isinstance(model, WithOrWithoutCaptioner) else model, NineSigns
    )
    signs = NineSigns() if whole else EIGHT_SIGNS
    backbone = model if is_exact else fit_model(signs, features, labels, weights)
    if isinstance(backbone, WithOrWithoutCaptioner):
        return {
            "exact": is_exact,
            "heard": backbone.model.to_json(),
            "bare": backbone.bare.to_json(),
        }
    return {"exact": is_exact, "bare": backbone.to_json()}


def reasons_of(
    trajectory: Trajectory,
    backbone: Mapping[str, Any] | None,
    captioner: str = "",
    opinion_weight: float = USUAL_WEIGHT,
) -> Reasons | None:
    """The reasons for one pair; None for a classifier that was stored without its backbone.

    `captioner`: the one the classifier was trained with; expectations of others are ignored.
    """
    if not backbone or "bare" not in backbone:
        return None
    has_expectation = (
        trajectory.expectation is not None and trajectory.expectation.captioner == captioner
    )
    use_words = has_expectation and "heard" in backbone
    signs = NineSigns.from_json(backbone["heard" if use_words else "bare"])
    columns = signs.signs.columns
    if columns == EIGHT:
        trajectory = trajectory.first_step()
    features = feature_matrix([trajectory])
    contributions = signs.contributions(features)[0]
    values = features[0, list(columns)]
    values[0] = trajectory.scores[0]
    names = [SIGNS[NINE.index(column)] for column in columns]
    reasons = [
        Reason(sign, round(float(c), 4), float(v), _words(sign, trajectory))
        for sign, c, v in zip(names, contributions, values, strict=True)
        if abs(c) > 1e-6
    ]
    if sign := trajectory.second_opinion:
        reasons.append(Reason("second opinion", round(-opinion_weight * sign, 4), sign))
    reasons.sort(key=lambda reason: -abs(reason.contribution))
    return Reasons(tuple(reasons), bool(backbone.get("exact")))


def _words(sign: Sign, trajectory: Trajectory) -> tuple[int, ...]:
    """Indices of the words that a sign concerns."""
    expectation, auxiliary = trajectory.expectation, trajectory.auxiliary
    if sign == "captioner lowest" and expectation is not None:
        return _first(-expectation.log_p)
    if sign == "captioner distance" and expectation is not None:
        return _first(expectation.distance)
    if sign == "deletion":
        return _first(trajectory.deletion_gains)
    if sign == "auxiliary deletion" and auxiliary is not None:
        return _first(auxiliary.deletion_gains)
    return ()


def _first(values: FloatArray) -> tuple[int, ...]:
    """Index of the word with the largest value, if it is above 0."""
    return (int(np.argmax(values)),) if len(values) and float(np.max(values)) > 0 else ()
