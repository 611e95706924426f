"""A trajectory as a row of fixed length.

TRACED takes e = [s_0 … s_T, c_1 … c_T], whose length is the caption's. Two captions of different
length then have nothing in the same column, so we read the same curves at the same *relative*
positions, t/T in {0, 0.1, …, 1}, by linear interpolation, and add what a person reads off the
curves: how much the score can be raised, how soon, and how far from the original that is.

The paper's own e stands behind these columns, padded with NaN as XGBoost and CART take it, so that
it can be chosen by name and compared. Behind it stands what a second opinion says along the same
trajectory, where the model has one (`Trajectory.second`); for others these columns are 0, in which
no model finds anything. Last stands what a captioner expects of the caption's words, where one has
read it (`engine/expectation.py`); where none has, these columns are 0, HEARD among them.

The set is fixed: figures of different runs compare the same columns. New columns go to the end, so
that a stored classifier keeps meaning the same ones.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from backend.engine.expectation import signals_of
from backend.engine.trajectories.trajectory import FloatArray, Trajectory

Matrix = NDArray[np.float64]

_EDGE = 1e-5
#: What theory says before any data: 1 rises with the probability of error, -1 falls. Wrong captions
#: match badly and improve much (TRACED §3.2). Models are held to these signs, so that
#: they cannot learn instead what merely tells injected errors from a dataset's own captions.
SIGNS: dict[str, int] = {
    "s_0": -1,
    "log-odds of s_0": -1,
    "log-odds gained until the peak": 1,
    "gain of the best step": 1,
    "gain of step 1": 1,
    "gain of step 2": 1,
    "sum of the rises": 1,
    "gain per word until the peak": 1,
    "largest deletion gain": 1,
    "second largest deletion gain": 1,
    "mean deletion gain": 1,
    "share of words whose deletion helps": 1,
    "second opinion: s_0": -1,
    "second opinion: gain of the best step": 1,
    "second opinion: gain of step 1": 1,
    "second opinion: gain until the peak of s": 1,
    "second opinion: sum of the rises": 1,
    "second opinion: largest deletion gain": 1,
    "second opinion: second largest deletion gain": 1,
    "second opinion: mean deletion gain": 1,
    "second opinion: share of words whose deletion helps": 1,
    "captioner: mean log p": -1,
    "captioner: sum of log p": -1,
    "captioner: lowest log p": -1,
    "captioner: second lowest log p": -1,
    "captioner: mean distance to the best word": 1,
    "captioner: largest distance to the best word": 1,
}
POSITIONS = np.linspace(0.0, 1.0, 11)

#: T of the longest trajectory that the paper's columns hold; what is longer is cut there.
LONGEST = 40

#: What `_deletions` reads off the gains of single deletions.
DELETIONS = (
    "largest deletion gain",
    "second largest deletion gain",
    "mean deletion gain",
    "smallest deletion gain",
    "spread of the deletion gains",
    "share of words whose deletion helps",
)
SUMMARY: tuple[str, ...] = (
    "s_0",
    "log-odds of s_0",
    "log-odds of s at the peak",
    "log-odds of s after step 1",
    "log-odds gained until the peak",
    *(f"s at {position:.0%} of the steps" for position in POSITIONS[1:]),
    *(f"c at {position:.0%} of the steps" for position in POSITIONS[1:]),
    "gain of the best step",
    "gain of step 1",
    "gain of step 2",
    "gain of the last step",
    "mean s",
    "mean c",
    "s at the peak",
    "c at the peak",
    "c after step 1",
    "position of the peak",
    "words removed until the peak",
    "sum of the rises",
    "gain per word until the peak",
    *DELETIONS,
    "words",
)
PAPER: tuple[str, ...] = (
    *(f"s_{t}" for t in range(1, LONGEST + 1)),
    *(f"c_{t}" for t in range(1, LONGEST + 1)),
)
SECOND: tuple[str, ...] = tuple(
    f"second opinion: {name}"
    for name in (
        "s_0",
        *(f"s at {position:.0%} of the steps" for position in POSITIONS[1:]),
        "gain of the best step",
        "gain of step 1",
        "gain until the peak of s",
        "mean s",
        "sum of the rises",
        "position of the peak",
        *DELETIONS,
    )
)
#: How many words a captioner has read: 0 where none was asked.
HEARD = "captioner: words"
CAPTIONER: tuple[str, ...] = (
    "captioner: mean log p",
    "captioner: sum of log p",
    "captioner: lowest log p",
    "captioner: second lowest log p",
    "captioner: mean distance to the best word",
    "captioner: largest distance to the best word",
    HEARD,
)
NAMES = SUMMARY + PAPER + SECOND + CAPTIONER
_CAPTIONER = slice(len(NAMES) - len(CAPTIONER), len(NAMES))


def feature_matrix(trajectories: Sequence[Trajectory]) -> Matrix:
    """Shape [trajectories, len(NAMES)], float64. Column 0 is s_0.

    The columns of PAPER are NaN behind a trajectory's end; all others are finite.
    """
    if not trajectories:
        return np.zeros((0, len(NAMES)))
    return np.stack(
        [
            np.r_[
                _row(trajectory),
                _padded(trajectory),
                _auxiliary(trajectory),
                _captioner(trajectory),
            ]
            for trajectory in trajectories
        ]
    )


def heard(features: Matrix) -> NDArray[np.bool_]:
    """Which rows a captioner has read, shape [rows]."""
    has_captioner: NDArray[np.bool_] = features[:, -1] > 0
    return has_captioner


def unheard(features: Matrix) -> Matrix:
    """The rows as if no captioner had read them."""
    without = features.copy()
    without[:, _CAPTIONER] = 0.0
    return without


def expanded(scores: Matrix) -> Matrix:
    """Log-odds of scores, which tell 0.001 from 0.00001; for cosines a smooth bend.

    Match probabilities of wrong captions crowd at 0, where a linear model sees one number only.
    Rises everywhere, below 0 as well (cosines).
    """
    inner = np.clip(scores, _EDGE, 1 - _EDGE)
    expanded: Matrix = np.log(inner / (1 - inner)) + 10 * np.minimum(scores, 0.0)
    return expanded


def _padded(trajectory: Trajectory) -> Matrix:
    """s_1 … s_T and c_1 … c_T (TRACED §4.3); s_0 is the summary's first column."""
    padded = np.full((2, LONGEST), np.nan)
    steps = min(LONGEST, len(trajectory.scores) - 1)
    padded[0, :steps] = trajectory.scores[1 : steps + 1]
    padded[1, :steps] = trajectory.similarities[1 : steps + 1]
    return padded.ravel()


def _auxiliary(trajectory: Trajectory) -> Matrix:
    if trajectory.auxiliary is None:
        return np.zeros(len(SECOND))
    s = trajectory.auxiliary.scores.astype(np.float64)
    gain = s - s[0]
    return np.array(
        [
            s[0],
            *np.interp(POSITIONS[1:], np.linspace(0.0, 1.0, len(s)), s),
            gain.max(),
            gain[min(1, len(s) - 1)],
            gain[trajectory.peak],
            s.mean(),
            _rises(s),
            int(np.argmax(s)) / max(1, trajectory.steps),
            *_deletions(trajectory.auxiliary.deletion_gains),
        ]
    )


def _captioner(trajectory: Trajectory) -> Matrix:
    signals = signals_of(trajectory.expectation)
    return np.array(
        [
            signals.mean, signals.sum, signals.lowest, signals.second_lowest, signals.mean_distance,
            signals.largest_distance, signals.words,
        ]
    )  # fmt: skip


def _rises(s: Matrix) -> float:
    return float(np.diff(s).clip(min=0).sum())


def _deletions(gains: FloatArray) -> tuple[float, ...]:
    """Largest, second largest, mean, smallest, spread, share that helps."""
    ordered = np.sort(gains.astype(np.float64))[::-1] if len(gains) else np.zeros(1)
    return (
        ordered[0],
        ordered[min(1, len(ordered) - 1)],
        ordered.mean(),
        ordered[-1],
        ordered.std(),
        (ordered > 0).mean(),
    )


def _row(trajectory: Trajectory) -> Matrix:
    s = trajectory.scores.astype(np.float64)
    c = trajectory.similarities.astype(np.float64)
    where = np.linspace(0.0, 1.0, len(s))
    odds = expanded(s)
    peak, steps = trajectory.peak, max(1, trajectory.steps)
    gain = s - s[0]
    return np.array(
        [
            s[0],
            odds[0],
            odds[peak],
            odds[min(1, len(odds) - 1)],
            odds[peak] - odds[0],
            *np.interp(POSITIONS[1:], where, s),
            *np.interp(POSITIONS[1:], where, c),
            gain.max(),
            gain[min(1, len(s) - 1)],
            gain[min(2, len(s) - 1)],
            gain[-1],
            s.mean(),
            c.mean(),
            s[peak],
            c[peak],
            c[min(1, len(c) - 1)],
            peak / steps,
            peak,
            _rises(s),
            gain[peak] / max(1, peak),
            *_deletions(trajectory.deletion_gains),
            len(trajectory.caption),
        ]
    )
