"""A trajectory as a row of fixed length.

TRACED uses e = [s_0 … s_T, c_1 … c_T], whose length depends on the caption's, so columns of
captions of different length do not correspond. We sample the same curves at the same *relative*
positions, t/T in {0, 0.1, …, 1}, by linear interpolation, and add summary statistics: how much the
score can be raised, how soon, and how far from the original that is.

The paper's own e follows these columns, padded with NaN, which XGBoost and CART accept, so that it
can be selected by name and compared. Next come columns of the auxiliary score along the same
trajectory (`Trajectory.auxiliary`), constant 0 for models without one. Then come columns of a
captioner's expectations of the caption's words (`engine/expectation.py`); all of them, including
CAPTIONER_WORD_COUNT, are 0 if no captioner has read it. Columns that were added later stand at
the end.

The set is fixed, so that metrics of different runs refer to the same columns. New columns are
appended, so that column indices in stored classifiers remain valid.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from backend.engine.trajectories.trajectory import FloatArray, Trajectory

Matrix = NDArray[np.float64]

_EDGE = 1e-5
#: Signs known a priori: 1 rises with the probability of error, -1 falls. Wrong captions match badly
#: and can be improved considerably (TRACED §3.2). Models are constrained to these signs, so that
#: they cannot learn artefacts that merely distinguish injected errors from original captions.
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
    "auxiliary score: s_0": -1,
    "auxiliary score: gain of the best step": 1,
    "auxiliary score: gain of step 1": 1,
    "auxiliary score: gain until the peak of s": 1,
    "auxiliary score: sum of the rises": 1,
    "auxiliary score: largest deletion gain": 1,
    "auxiliary score: second largest deletion gain": 1,
    "auxiliary score: mean deletion gain": 1,
    "auxiliary score: share of words whose deletion helps": 1,
    "captioner: mean log p": -1,
    "captioner: sum of log p": -1,
    "captioner: lowest log p": -1,
    "captioner: second lowest log p": -1,
    "captioner: mean distance to the best word": 1,
    "captioner: largest distance to the best word": 1,
}
POSITIONS = np.linspace(0.0, 1.0, 11)

#: Maximum T in the paper's columns: CLIP reads 75 tokens. Longer trajectories are truncated.
LONGEST = 75
#: As many steps have columns in classifiers of earlier versions; those of later steps follow at the
#: end, so that indices remain valid.
_FIRST_STEPS = 40

#: The values that `_deletions` computes from the gains of single deletions.
DELETIONS = (
    "largest deletion gain",
    "second largest deletion gain",
    "mean deletion gain",
    "smallest deletion gain",
    "spread of the deletion gains",
    "share of words whose deletion helps",
)
SUMMARY: tuple[str, ...] = (
    "s_0", "log-odds of s_0", "log-odds of s at the peak", "log-odds of s after step 1",
    "log-odds gained until the peak",
    *(f"s at {position:.0%} of the steps" for position in POSITIONS[1:]),
    *(f"c at {position:.0%} of the steps" for position in POSITIONS[1:]),
    "gain of the best step", "gain of step 1", "gain of step 2", "gain of the last step",
    "mean s", "mean c", "s at the peak", "c at the peak", "c after step 1",
    "position of the peak", "words removed until the peak", "sum of the rises",
    "gain per word until the peak", *DELETIONS, "words",
)  # fmt: skip
PAPER: tuple[str, ...] = tuple(f"{curve}_{t}" for curve in "sc" for t in range(1, LONGEST + 1))
AUXILIARY: tuple[str, ...] = tuple(
    f"auxiliary score: {name}"
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
#: The number of words that a captioner has read; 0 without a captioner.
CAPTIONER_WORD_COUNT = "captioner: words"
CAPTIONER: tuple[str, ...] = (
    "captioner: mean log p",
    "captioner: sum of log p",
    "captioner: lowest log p",
    "captioner: second lowest log p",
    "captioner: mean distance to the best word",
    "captioner: largest distance to the best word",
    CAPTIONER_WORD_COUNT,
)
#: 1/T of the sum of c_1 to c_T (TRACED, Table 4); "mean c" counts c_0 = 1, so that it depends on T.
MEAN_C = "mean c of steps 1 to T"
_EARLY = tuple(name for name in PAPER if int(name[2:]) <= _FIRST_STEPS)
_LATE = tuple(name for name in PAPER if int(name[2:]) > _FIRST_STEPS)
NAMES = (*SUMMARY, *_EARLY, *AUXILIARY, *CAPTIONER, *_LATE, MEAN_C)
#: Prefixes of names in classifiers that earlier versions stored, and their current names.
_RENAMED = {"second opinion: ": "auxiliary score: "}
_CAPTIONER = [NAMES.index(name) for name in CAPTIONER]
_HEARD = NAMES.index(CAPTIONER_WORD_COUNT)


def feature_matrix(trajectories: Sequence[Trajectory]) -> Matrix:
    """Shape [trajectories, len(NAMES)], float64. Column 0 is s_0.

    The columns of PAPER are NaN beyond a trajectory's end; all others are finite.
    """
    if not trajectories:
        return np.zeros((0, len(NAMES)))
    return np.stack([_values(trajectory) for trajectory in trajectories])


def _values(trajectory: Trajectory) -> Matrix:
    papers = _pad(trajectory)
    steps = trajectory.similarities[1:].astype(np.float64)
    values: Matrix = np.r_[
        _row(trajectory),
        papers[:, :_FIRST_STEPS].ravel(),
        _auxiliary(trajectory),
        _captioner(trajectory),
        papers[:, _FIRST_STEPS:].ravel(),
        steps.mean() if len(steps) else 1.0,
    ]
    return values


def current_name(stored_name: str) -> str:
    """The name of a column that was stored by this version or an earlier one.

    >>> current_name("second opinion: s_0"), current_name("s_0")
    ('auxiliary score: s_0', 's_0')
    """
    for before, now in _RENAMED.items():
        if stored_name.startswith(before):
            return now + stored_name.removeprefix(before)
    return stored_name


def has_expectation(features: Matrix) -> NDArray[np.bool_]:
    """Which rows a captioner has read, shape [rows]."""
    has_captioner: NDArray[np.bool_] = features[:, _HEARD] > 0
    return has_captioner


def without_expectation(features: Matrix) -> Matrix:
    """A copy of the rows with the captioner's columns set to 0."""
    without = features.copy()
    without[:, _CAPTIONER] = 0.0
    return without


def log_odds(scores: Matrix) -> Matrix:
    """Log-odds of scores, which separate 0.001 from 0.00001.

    Match probabilities of wrong captions cluster near 0, where a linear model could not distinguish
    them. Extended linearly below 0, so that it is monotonic for cosines too.
    """
    inner = np.clip(scores, _EDGE, 1 - _EDGE)
    values: Matrix = np.log(inner / (1 - inner)) + 10 * np.minimum(scores, 0.0)
    return values


def _pad(trajectory: Trajectory) -> Matrix:
    """s_1 … s_T and c_1 … c_T (TRACED §4.3), shape [2, LONGEST]; s_0 is the first column."""
    matrix = np.full((2, LONGEST), np.nan)
    steps = min(LONGEST, len(trajectory.scores) - 1)
    matrix[0, :steps] = trajectory.scores[1 : steps + 1]
    matrix[1, :steps] = trajectory.similarities[1 : steps + 1]
    return matrix


def _auxiliary(trajectory: Trajectory) -> Matrix:
    if trajectory.auxiliary is None:
        return np.zeros(len(AUXILIARY))
    s = trajectory.auxiliary.scores.astype(np.float64)
    gain = s - s[0]
    return np.array(
        [
            s[0], *np.interp(POSITIONS[1:], np.linspace(0.0, 1.0, len(s)), s),
            gain.max(), gain[min(1, len(s) - 1)], gain[trajectory.peak], s.mean(), _rises(s),
            int(np.argmax(s)) / max(1, trajectory.steps),
            *_deletions(trajectory.auxiliary.deletion_gains),
        ]
    )  # fmt: skip


def _captioner(trajectory: Trajectory) -> Matrix:
    """The values named in CAPTIONER; 0 if no word was read."""
    expectation = trajectory.expectation
    if expectation is None or not len(expectation.log_p):
        return np.zeros(len(CAPTIONER))
    log_p, distance = expectation.log_p.astype(float), expectation.distance.astype(float)
    lowest = np.sort(log_p)[[0, min(1, len(log_p) - 1)]]
    return np.array(
        [log_p.mean(), log_p.sum(), *lowest, distance.mean(), distance.max(), len(log_p)]
    )


def _rises(s: Matrix) -> float:
    return float(np.diff(s).clip(min=0).sum())


def _deletions(gains: FloatArray) -> tuple[float, ...]:
    """The values named in DELETIONS."""
    sorted_gains = np.sort(gains.astype(np.float64))[::-1] if len(gains) else np.zeros(1)
    second = sorted_gains[min(1, len(sorted_gains) - 1)]
    spread, share = sorted_gains.std(), (sorted_gains > 0).mean()
    return sorted_gains[0], second, sorted_gains.mean(), sorted_gains[-1], spread, share


def _row(trajectory: Trajectory) -> Matrix:
    s = trajectory.scores.astype(np.float64)
    c = trajectory.similarities.astype(np.float64)
    where = np.linspace(0.0, 1.0, len(s))
    odds = log_odds(s)
    peak, steps = trajectory.peak, max(1, trajectory.steps)
    gain = s - s[0]
    return np.array(
        [
            s[0], odds[0], odds[peak], odds[min(1, len(odds) - 1)], odds[peak] - odds[0],
            *np.interp(POSITIONS[1:], where, s), *np.interp(POSITIONS[1:], where, c),
            gain.max(), gain[min(1, len(s) - 1)], gain[min(2, len(s) - 1)], gain[-1],
            s.mean(), c.mean(), s[peak], c[peak], c[min(1, len(c) - 1)],
            peak / steps, peak, _rises(s), gain[peak] / max(1, peak),
            *_deletions(trajectory.deletion_gains), len(trajectory.caption),
        ]
    )  # fmt: skip
