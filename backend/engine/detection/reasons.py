"""Why the probability of a pair is what it is: what each of the nine signs adds to its log-odds.

A logistic regression can be read: a sign's weight times how far it lies from that of an average
caption. Beside every classifier its backbone of nine signs is kept (`backbone_of`), which is the
classifier itself where nine signs were chosen, and what the same labels make of them otherwise.
Opening a pair so needs no trees and no model, only numbers that are stored.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from backend.engine.detection.families import (
    NINE,
    Heard,
    Labels,
    Model,
    NineSigns,
    Weights,
    fitted,
)
from backend.engine.detection.features import Matrix, feature_matrix
from backend.engine.trajectories.trajectory import FloatArray, Trajectory

#: In the order of `families.NINE`.
Sign = Literal[
    "s", "auxiliary", "length", "captioner mean", "captioner lowest", "captioner distance",
    "best gain", "deletion", "auxiliary deletion",
]  # fmt: skip
SIGNS: tuple[Sign, ...] = get_args(Sign)


@dataclass(frozen=True)
class Reason:
    """What one sign adds to the log-odds of "the caption is wrong", beside an average caption of
    the dataset: above 0 it speaks against the caption, below 0 for it.

    `value`: of the sign, as `features` has it, but s instead of its log-odds; `words`: numbers of
    the caption's words that it is about.
    """

    sign: Sign
    contribution: float
    value: float
    words: tuple[int, ...] = ()


@dataclass(frozen=True)
class Reasons:
    """All that speaks, the strongest first. `is_exact`: the probability follows from these signs;
    otherwise the classifier looks at more, and these are its backbone."""

    listed: tuple[Reason, ...]
    is_exact: bool


def backbone_of(model: Model, features: Matrix, labels: Labels, weights: Weights) -> dict[str, Any]:
    """The nine signs of a fitted model, as plain numbers for its report; fitted to the same labels
    where it is another model."""
    is_exact = isinstance(model.model if isinstance(model, Heard) else model, NineSigns)
    backbone = model if is_exact else fitted(NineSigns(), features, labels, weights)
    if isinstance(backbone, Heard):
        return {
            "exact": is_exact,
            "heard": backbone.model.to_json(),
            "bare": backbone.bare.to_json(),
        }
    return {"exact": is_exact, "bare": backbone.to_json()}


def reasons_of(
    trajectory: Trajectory, backbone: Mapping[str, Any] | None, captioner: str = ""
) -> Reasons | None:
    """Of one pair; None for a classifier that was stored without its backbone.

    `captioner`: whose word the classifier has learnt from; another's is not listened to.
    """
    if not backbone or "bare" not in backbone:
        return None
    heard = trajectory.expectation is not None and trajectory.expectation.captioner == captioner
    use_words = heard and "heard" in backbone
    signs = NineSigns.from_json(backbone["heard" if use_words else "bare"])
    features = feature_matrix([trajectory])
    contributions = signs.contributions(features)[0]
    values = features[0, list(NINE)]
    values[0] = trajectory.scores[0]
    listed = [
        Reason(sign, round(float(c), 4), float(v), _words(sign, trajectory))
        for sign, c, v in zip(SIGNS, contributions, values, strict=True)
        if abs(c) > 1e-6
    ]
    listed.sort(key=lambda reason: -abs(reason.contribution))
    return Reasons(tuple(listed), bool(backbone.get("exact")))


def _words(sign: Sign, trajectory: Trajectory) -> tuple[int, ...]:
    """The words that a sign is about."""
    expectation, auxiliary = trajectory.expectation, trajectory.auxiliary
    if sign == "captioner lowest" and expectation is not None:
        return _first(-expectation.log_p)
    if sign == "captioner distance" and expectation is not None:
        return _first(expectation.distance)
    if sign == "deletion":
        return _first(trajectory.deletion_gains)
    if sign == "auxiliary deletion" and auxiliary is not None:
        return _first(auxiliary.deletion_gains)
    if sign == "best gain":
        return tuple(dict.fromkeys(trajectory.removed[: trajectory.peak]))
    return ()


def _first(values: FloatArray) -> tuple[int, ...]:
    """The word with the largest value, if it is above 0."""
    return (int(np.argmax(values)),) if len(values) and float(np.max(values)) > 0 else ()
