"""Whose caption is it? Rows whose captions belong to the pictures of other rows.

Captions and pictures have vectors in one space, `c_i` and `v_i`, both with their means taken off.
`c_i · v_(i+k)` is the likeness of row i's caption and the picture k rows further. Where captions
stand in their own rows it is high for k = 0, where they are shifted for another k, and around 0 for
all others. A single caption may be wrong, or fit a picture by chance; a run of rows with one offset
is neither.

So each file is read as a hidden Markov model. Its states are the offsets, and *nowhere*; a row says
for each offset how likely its likeness is that of a caption and its own picture:

    log((1 - wrong) · match(x) / chance(x) + wrong)

with the share `wrong` of captions that belong to no picture, and 0 for *nowhere*. Changing the
state costs `PENALTY` and the logarithm of the number of offsets and rows tried, so that chance
makes no finding. The offsets are those up to 50 rows and, where captions fit no picture nearby, all
others at which some of them do. Worked example, three offsets, costs of 3 for a change:

    row                0     1     2     3     4     5
    as it stands      +5    +5    -1    -1    -1    +5
    one further       -1    -1    +5    +5    +5    -1
    best path          0     0     1     1     1     0    30 - 2 · 3 = 24 instead of 12 for staying

Chance is normal with the spread of likenesses far from the diagonal, match is fitted to the offset
that fits best. A path is no finding if the captions do not fit clearly better there than where they
stand (`CLEARLY`): neighbouring pictures may show one scene.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import exp, log

import numpy as np
from numpy.typing import NDArray

from backend.engine.unit_vectors import unit

Vectors = NDArray[np.float32]
Values = NDArray[np.float64]

#: Offsets that are tried, in rows.
FARTHEST = 50
OFFSETS = tuple(range(-FARTHEST, FARTHEST + 1))
#: Log-likelihood that a change of the state costs, beyond the number of states and rows tried.
PENALTY = 12.0
#: Fewest rows of a file that are looked at, and of a finding.
FEWEST_ROWS, FEWEST_FOUND = 50, 5
#: A finding's captions are nearer to the pictures of their new rows than to those of their own by
#: at least this share of a match.
CLEARLY = 0.15
#: Within a run captions are taken to be wrong at most this often: a file whose blocks stand in
#: another order fits no offset well, and each would do for all rows if most may be wrong.
_WRONG_WITHIN = 0.3
#: What it costs to leave a run where its rows do not fit, and to go on with it.
_GAP_PENALTY = 10.0
#: Rows read at once.
_BLOCK = 8192
#: The share of captions that belong to no picture is taken to be at least and at most this.
_LEAST_WRONG, _MOST_WRONG = 0.05, 0.8
#: The spread of a match is taken to be at least this share of that of chance.
_LEAST_SPREAD = 0.5
#: The mean likeness at an offset is that of so many rows: in a short file, a few rows at a far one
#: would fit best by chance.
_FEWEST_MEANT = 20
#: A match is at least so many spreads above chance, or the vectors tell nothing.
FEWEST_SPREADS = 1.0
#: For offsets beyond `FARTHEST`, so many rows together are compared with all pictures; they belong
#: to one at which their mean likeness is so many standard errors above 0. Of all that are found, so
#: many are tried.
_WINDOW, _FAR_ERRORS, _MOST_FAR = 32, 7.0, 50


@dataclass(frozen=True)
class Likenesses:
    """What likenesses say. `chance`: their spread between captions and pictures of other rows;
    `match`, `spread`: mean and spread of those between captions and their own pictures; `wrong`:
    the share of captions that belong to no picture."""

    chance: float
    match: float
    spread: float
    wrong: float

    @property
    def can_tell(self) -> bool:
        """Whether a match differs from chance at all."""
        return self.match >= FEWEST_SPREADS * self.chance

    def log_likelihoods(self, likeness: Values) -> Values:
        """Of belonging together against chance; at least log(wrong). NaN (there is no such row):
        the same as chance among wrong captions."""
        ratio = (
            np.log(self.chance / self.spread)
            - 0.5 * ((likeness - self.match) / self.spread) ** 2
            + 0.5 * (likeness / self.chance) ** 2
        )
        # Far above both means chance seems likelier again, because its spread is larger.
        ratio = np.where(likeness >= self.match, np.maximum(ratio, self._ratio_at_match), ratio)
        sure = np.exp(np.clip(np.nan_to_num(ratio, nan=-50.0), -50, 30))
        return np.log((1 - self.wrong) * sure + self.wrong)

    @property
    def _ratio_at_match(self) -> float:
        return log(self.chance / self.spread) + 0.5 * (self.match / self.chance) ** 2


@dataclass(frozen=True)
class Run:
    """Rows `first` to `last` (from 0, both included) of a file in one state.

    * `offset`: where their captions belong: that of row i to the picture of row i + offset; None:
      to none of the rows nearby.
    * `likeness`, `own_likeness`: mean likeness of the captions to the pictures at the offset and
      to those that they stand with.
    * `log_chance`: natural logarithm of a bound for the probability of such a run by chance,
      corrected for the number of offsets and rows tried.
    """

    first: int
    last: int
    offset: int | None
    likeness: float
    own_likeness: float
    log_chance: float

    @property
    def rows(self) -> int:
        return self.last - self.first + 1

    @property
    def chance(self) -> float:
        """Probability of such a run by chance, at most."""
        return exp(min(0.0, self.log_chance))


def centre(vectors: Vectors) -> Vectors:
    """Unit vectors of how these differ from their mean, shape [rows, d]. What differs little, such
    as a caption that fits most pictures, counts as much as what differs a lot."""
    return unit(vectors - vectors.mean(0, keepdims=True))


def align(
    captions: Vectors, pictures: Vectors, meanwhile: Callable[[], None] = lambda: None
) -> tuple[list[Run], Likenesses]:
    """The runs of a file, and what its likenesses say; where captions fit no picture nearby, those
    farther off are compared, too. Both: centred vectors [rows, d]. `meanwhile`: called again and
    again; what it raises ends the work."""
    band = band_of(captions, pictures)
    likenesses = measure(band)
    runs = runs_of(band, likenesses)
    misfits = [run for run in runs if run.offset is None]
    rows = [row for run in misfits for row in range(run.first, run.last + 1)]
    if not likenesses.can_tell:
        rows = list(range(len(band)))
    far = far_offsets(captions, pictures, likenesses.chance, rows, meanwhile)
    if not far:
        return runs, likenesses
    band = np.concatenate([band, band_of(captions, pictures, far)], axis=1)
    likenesses = measure(band)
    return runs_of(band, likenesses, (*OFFSETS, *far)), likenesses


def band_of(captions: Vectors, pictures: Vectors, offsets: Sequence[int] = OFFSETS) -> Values:
    """Likeness of each row's caption to the picture at each offset, shape [rows, offsets]; NaN
    where there is no such row. Both: centred vectors [rows, d]."""
    rows = len(captions)
    values = np.full((rows, len(offsets)), np.nan)
    for column, offset in enumerate(offsets):
        first, last = max(0, -offset), min(rows, rows - offset)
        for start in range(first, last, _BLOCK):
            end = min(start + _BLOCK, last)
            values[start:end, column] = np.einsum(
                "rd,rd->r", captions[start:end], pictures[start + offset : end + offset]
            )
    return values


def far_offsets(
    captions: Vectors,
    pictures: Vectors,
    chance: float,
    rows: Sequence[int],
    meanwhile: Callable[[], None] = lambda: None,
) -> list[int]:
    """Offsets beyond `FARTHEST` where captions of these rows belong, best first: what was left out
    or put in moves all that follow. Vectors as in `band_of`; `chance`: spread of likenesses between
    captions and pictures of other rows; `meanwhile`: as of `align`."""
    count = len(captions)
    best = np.zeros(2 * count - 1)  # by offset + count - 1
    for start in range(0, len(rows), _WINDOW):
        meanwhile()
        window = rows[start : start + _WINDOW]
        sums = np.zeros(len(best))
        for row, likeness in zip(window, captions[list(window)] @ pictures.T, strict=True):
            sums[count - 1 - row : 2 * count - 1 - row] += likeness
        best = np.maximum(best, sums / np.sqrt(len(window)) / chance)
    best[count - 1 - FARTHEST : count + FARTHEST] = 0
    order = np.argsort(-best)[:_MOST_FAR]
    return (order[best[order] >= _FAR_ERRORS] - count + 1).tolist()


def measure(band: Values) -> Likenesses:
    """What a file's likenesses [rows, offsets] say; the match is that of the offset at which
    most captions fit."""
    counts = (~np.isnan(band)).sum(axis=0)
    band = band[:, counts >= min(_FEWEST_MEANT, counts.max())]
    best = int(np.nansum(band, axis=0).argmax())
    others = np.delete(band, best, axis=1)
    # Of most offsets: several captions of one picture, or similar neighbours, fill a few of them.
    spread = float(np.median(np.nanstd(others, axis=0))) or 1e-9
    own_likeness = band[:, best][~np.isnan(band[:, best])]
    wrong, match, match_spread = 0.5, float(own_likeness.max(initial=spread)) / 2, spread
    if own_likeness.mean() > 0:
        match = float(np.quantile(own_likeness, 0.75))
    for _ in range(30):  # expectation and maximisation of a mixture with a known first part
        near = (
            (1 - wrong) / match_spread * np.exp(-0.5 * ((own_likeness - match) / match_spread) ** 2)
        )
        far = wrong / spread * np.exp(-0.5 * (own_likeness / spread) ** 2)
        share = near / np.maximum(near + far, 1e-300)
        weight = float(share.sum())
        if weight < 1:
            break
        match = float((share * own_likeness).sum() / weight)
        match_spread = float(np.sqrt((share * (own_likeness - match) ** 2).sum() / weight))
        match_spread = max(match_spread, _LEAST_SPREAD * spread)
        wrong = float(np.clip(1 - weight / len(own_likeness), _LEAST_WRONG, _MOST_WRONG))
    return Likenesses(spread, match, match_spread, wrong)


def best_path(evidence: Values, penalty: float) -> NDArray[np.int16]:
    """The likeliest state of each row, shape [rows]. `evidence`: log-likelihoods [rows, states];
    `penalty`: what a change of the state costs (Viterbi 1967)."""
    rows, states = evidence.shape
    score = evidence[0].copy()
    changed = np.zeros((rows, states), np.bool_)
    best_before = np.zeros(rows, np.int16)
    for row in range(1, rows):
        best = int(score.argmax())
        best_before[row] = best
        from_best = score[best] - penalty
        np.less(score, from_best, out=changed[row])
        np.maximum(score, from_best, out=score)
        score += evidence[row]
    path = np.zeros(rows, np.int16)
    path[-1] = int(score.argmax())
    for row in range(rows - 1, 0, -1):
        path[row - 1] = best_before[row] if changed[row, path[row]] else path[row]
    return path


def runs_of(band: Values, likenesses: Likenesses, offsets: Sequence[int] = OFFSETS) -> list[Run]:
    """The runs of a file whose captions do not stand in their own rows, in order. `band`: as by
    `band_of` with these offsets, of which 0 is one; `likenesses`: what they say of this dataset."""
    rows = len(band)
    if rows < FEWEST_ROWS or not likenesses.can_tell:
        return []
    # Far offsets were chosen from all that there are.
    tried = log(rows * (len(OFFSETS) if len(offsets) == len(OFFSETS) else 2 * rows))
    within = replace(likenesses, wrong=min(likenesses.wrong, _WRONG_WITHIN))
    evidence = np.concatenate([within.log_likelihoods(band), np.zeros((rows, 1))], axis=1)
    path = best_path(evidence, PENALTY + tried)
    stay, nowhere = offsets.index(0), len(offsets)
    runs = []
    for first, end in _constant_parts(path):
        state = int(path[first])
        if state == stay:
            continue
        # Rows amid the run that belong to no picture nearby.
        fits = best_path(evidence[first:end, [state, nowhere]], _GAP_PENALTY) == 0
        for start, stop in _constant_parts(fits):
            part = slice(first + start, first + stop)
            state_of_part = state if fits[start] else nowhere
            gain = float((evidence[part, state_of_part] - evidence[part, stay]).sum())
            if stop - start < FEWEST_FOUND or gain < PENALTY + tried:
                continue
            own_likeness = float(np.nanmean(band[part, stay]))
            offset, likeness = None, own_likeness
            if state_of_part != nowhere:
                offset = offsets[state_of_part]
                likeness = float(np.nanmean(band[part, state_of_part]))
            run = Run(part.start, part.stop - 1, offset, likeness, own_likeness, tried - gain)
            if run.offset is None or run.likeness - run.own_likeness >= CLEARLY * likenesses.match:
                runs.append(run)
    return runs


def _constant_parts(values: NDArray[np.generic]) -> list[tuple[int, int]]:
    """The parts of equal values one after another, each with its first place and the one behind
    its last."""
    ends = [*(np.flatnonzero(values[1:] != values[:-1]) + 1).tolist(), len(values)]
    return list(zip([0, *ends[:-1]], ends, strict=True))
