"""Two rows whose captions have changed places.

A likeness alone does not tell how well a caption fits a picture: some captions fit much, some
pictures are fitted by much. So a likeness x is compared with those of the same caption to all
pictures, and with those of the same picture to all captions:

    fit(caption, picture) = log softmax of x over the pictures + log softmax of x over the captions

Two rows are a pair if each is the best partner of the other by the sum of both fits. Whether chance
makes it: where captions are merely wrong, how well that of row a fits picture b says nothing about
that of row b and picture a. So the sums that chance makes are distributed like those of two fits
taken at random, and the number of rows tried says how many of them are to be expected beyond any
limit. There have to be many more than that.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backend.features.rows.alignment import Likenesses, Values, Vectors

Indices = NDArray[np.int64]
#: The softmax is of likenesses in this share of the spread of chance.
TEMPERATURE = 0.5
#: Rows whose caption fits their own picture with a log-likelihood below this may be part of a swap.
DOUBTFUL = 1.0
#: Another row's caption is suggested for a picture that it fits at least so well.
BETTER = -5.0
#: A caption fits another row's picture better if of all pictures this one has such a share of it.
#: On drawn scenes its caption describes that picture in nine cases of ten (RESULTS.md).
SHARE_ELSEWHERE = 0.3
#: Chance is estimated by at least so many rows, if there are.
FEWEST_COMPARED = 300
#: The share of the swaps that may be chance, and files with any that are, by row.
MOST_FALSE, FALSE_FILES = 0.05, 1e-6
#: Chance makes so many more than two independent fits say: similar pictures have similar captions.
#: The fewest swaps of a file depend most on it.
SIMILAR, SIMILAR_FEW = 1.5, 3.0
#: Captions compared at once; width and least value of the bins in which fits are counted.
_BLOCK, _BIN, _LEAST = 1024, 0.1, -200.0
#: How often chance is estimated again without the swaps that were found.
_TURNS = 3


@dataclass(frozen=True)
class Swap:
    """Two rows whose captions fit each other's pictures. `log_chance`: natural logarithm of the
    number of pairs of rows that fit as well by chance, among all that were tried."""

    first: int
    second: int
    log_chance: float


@dataclass(frozen=True)
class Exchanges:
    """`swaps`: of two rows; `better` [n, 2]: rows whose picture another row's caption fits better
    than their own, and the row of the caption; `elsewhere` [n, 4]: rows whose caption fits the
    picture of another row better, that row, and the likeness of the caption to its own picture and
    to that one. Only captions that do not fit their own picture are among them; most of those of
    rows that are merely wrong are no better themselves."""

    swaps: list[Swap]
    better: Indices
    elsewhere: Values


def exchanges_of(
    captions: Vectors, pictures: Vectors, likenesses: Likenesses, rows: Sequence[int]
) -> Exchanges:
    """Which of `rows` have changed places; each row is in at most one swap. Both: centred vectors
    [rows, d] of a whole file."""
    candidates = np.array(rows, np.int64)
    if not likenesses.can_tell:
        return _no_exchanges()
    own_likeness = np.einsum("rd,rd->r", captions[candidates], pictures[candidates])
    is_doubtful = likenesses.log_likelihoods(own_likeness.astype(np.float64)) < DOUBTFUL
    candidates, own_likeness = candidates[is_doubtful], own_likeness[is_doubtful]
    if not len(candidates):
        return _no_exchanges()
    others = np.random.default_rng(0).permutation(
        np.setdiff1d(np.arange(len(captions)), candidates)
    )
    compared = np.concatenate([candidates, others[: max(0, FEWEST_COMPARED - len(candidates))]])
    temperature = TEMPERATURE * likenesses.chance
    fits = Fits(captions, pictures, compared, len(candidates), temperature)
    best = _best_partners(fits)
    swaps = _swaps_among(fits, best, candidates, len(captions))
    is_swapped = np.isin(candidates, [(swap.first, swap.second) for swap in swaps])
    is_better = (best.fit >= BETTER) & ~is_swapped
    better = np.stack([candidates, candidates[best.caption]], axis=1)[is_better]
    own, there, share = own_likeness, fits.likeness[: fits.tried], fits.share[: fits.tried]
    is_elsewhere = (share >= SHARE_ELSEWHERE) & (there > own) & ~is_swapped
    columns = [candidates, fits.picture[: fits.tried], own, there]
    return Exchanges(swaps, better, np.stack(columns, axis=1).astype(np.float64)[is_elsewhere])


def _no_exchanges() -> Exchanges:
    return Exchanges([], np.zeros((0, 2), np.int64), np.zeros((0, 4)))


@dataclass(frozen=True)
class _Best:
    """Of each row tried, by places among them: `partner`, with which both captions fit the other's
    picture best, and `both` of these fits [tried, 2]; `caption`: the row whose caption fits its
    picture best, and how well, `fit`."""

    partner: Indices
    both: Values
    caption: Indices
    fit: Values


def _swaps_among(fits: "Fits", best: _Best, candidates: Indices, rows: int) -> list[Swap]:
    first = np.arange(fits.tried)
    first = first[(best.partner[best.partner] == first) & (first < best.partner)]
    first = first[np.argsort(-best.both[first].sum(axis=1), kind="stable")]
    both = best.both[first]
    count, log_chances = 0, np.zeros(0)
    for _ in range(_TURNS):
        by_chance = fits.number_by_chance(both.sum(axis=1), both[:count])
        log_chances = np.log(SIMILAR * by_chance)
        before, count = count, _believable(log_chances, rows)
        if count == before:
            break
    pairs = zip(candidates[first], candidates[best.partner[first]], log_chances, strict=True)
    swaps = [Swap(int(a), int(b), float(log_chance)) for a, b, log_chance in pairs]
    return sorted(swaps[:count], key=lambda swap: swap.first)


class Fits:
    """How well the captions of some rows fit each other's pictures: logarithms of a probability, at
    most 0. The first `tried` of the rows may be part of a swap, the others only tell what chance
    does. `captions`, `pictures`: of all rows, [rows, d]; `temperature`: of the softmax."""

    def __init__(
        self, captions: Vectors, pictures: Vectors, rows: Indices, tried: int, temperature: float
    ) -> None:
        scaled = captions / np.float32(temperature)
        self.tried = tried
        self._captions, self._pictures = scaled[rows], pictures[rows]
        #: Of each row that was tried: the picture of another row that its caption fits best, its
        #: share of the softmax, and their likeness.
        self._of_caption, best, self.picture = _log_sums(self._captions, pictures, rows)
        self.share, self.likeness = np.exp(best - self._of_caption), best * temperature
        self._of_picture, _, _ = _log_sums(self._pictures, scaled, rows)
        self._counts = np.zeros(1 + int(-_LEAST / _BIN))

    def blocks(self) -> Iterator[tuple[int, NDArray[np.floating], NDArray[np.floating]]]:
        """For blocks of rows: the first, the fits of their captions to the pictures of all
        [block, rows], and of all captions to their pictures. Fits of other rows are counted."""
        for start in range(0, len(self._captions), _BLOCK):
            block = slice(start, start + _BLOCK)
            caption_fits = 2 * self._captions[block] @ self._pictures.T
            caption_fits -= self._of_caption[block, None] + self._of_picture
            picture_fits = 2 * self._pictures[block] @ self._captions.T
            picture_fits -= self._of_picture[block, None] + self._of_caption
            diagonal = np.arange(len(caption_fits)), np.arange(start, start + len(caption_fits))
            caption_fits[diagonal] = picture_fits[diagonal] = -np.inf
            self._count(caption_fits[np.isfinite(caption_fits)], 1)
            yield start, caption_fits, picture_fits

    def _count(self, fits: NDArray[np.floating], weight: float) -> None:
        bins = (np.clip(fits, _LEAST, 0) - _LEAST) / _BIN
        self._counts += weight * np.bincount(bins.astype(np.int64), minlength=len(self._counts))

    def number_by_chance(self, sums: Values, without: Values) -> Values:
        """How many pairs of the rows tried reach each sum of two fits by chance, shape [sums];
        `without`: fits that are no chance."""
        self._count(without.ravel(), -1)
        share = self._counts / self._counts.sum()
        self._count(without.ravel(), 1)
        share[-1] += 1 / self._counts.sum()  # what was not seen may happen
        beyond = np.cumsum(np.convolve(share, share)[::-1])[::-1]
        # The sum of two fits lies up to two bins above that of the bins' lower ends.
        bins = ((sums - 2 * _LEAST) / _BIN - 1).astype(np.int64).clip(0, len(beyond) - 1)
        return self.tried * (self.tried - 1) / 2 * beyond[bins]


def _log_sums(vectors: Vectors, others: Vectors, rows: Indices) -> tuple[Vectors, Vectors, Indices]:
    """log Σ exp of the products of each vector, that of `rows`, with those of all other rows; the
    largest product, and the row that it is with."""
    from scipy.special import logsumexp

    sums, largest = np.zeros(len(vectors), np.float32), np.zeros(len(vectors), np.float32)
    best = np.zeros(len(vectors), np.int64)
    for start in range(0, len(vectors), _BLOCK):
        products = vectors[start : start + _BLOCK] @ others.T
        products[np.arange(len(products)), rows[start : start + _BLOCK]] = -np.inf
        block = slice(start, start + len(products))
        sums[block] = logsumexp(products, axis=1)
        best[block] = products.argmax(axis=1)
        largest[block] = products[np.arange(len(products)), best[block]]
    return sums, largest, best


def _best_partners(fits: Fits) -> _Best:
    tried = fits.tried
    best = _Best(*(np.zeros(shape, kind) for shape, kind in (
        (tried, np.int64), ((tried, 2), float), (tried, np.int64), (tried, float)
    )))  # fmt: skip
    for start, caption_fits, picture_fits in fits.blocks():
        count = max(0, tried - start)
        caption_fits, picture_fits = caption_fits[:count, :tried], picture_fits[:count, :tried]
        partner, caption = (caption_fits + picture_fits).argmax(axis=1), picture_fits.argmax(axis=1)
        block, places = slice(start, start + len(caption_fits)), np.arange(len(caption_fits))
        best.partner[block], best.caption[block] = partner, caption
        best.both[block] = np.stack(
            [caption_fits[places, partner], picture_fits[places, partner]], axis=1
        )
        best.fit[block] = picture_fits[places, caption]
    return best


def _believable(log_chances: Values, rows: int) -> int:
    """How many of the swaps, the least likely by chance first, are hardly any by chance: chance
    makes at most a share of them, and so many in one of a million rows."""
    from scipy.stats import poisson

    numbers, by_chance = np.arange(1, len(log_chances) + 1), np.exp(log_chances)
    is_rare = poisson.sf(numbers - 1, SIMILAR_FEW / SIMILAR * by_chance) <= rows * FALSE_FILES
    places = np.flatnonzero(is_rare & (by_chance <= MOST_FALSE * numbers))
    return int(places[-1]) + 1 if len(places) else 0
