"""Does a caption find its own picture? (SR, self-retrieval)

    hit              s(c, own) > s(c, other) for all others of the bag, strictly: a tie is no hit
    R@1              the share of captions that hit, over all captions of all bags
    RD100            the same among 99 pictures sampled at random, mean of several draws
    specificity      log of the own picture's share in softmax(tau * s) among itself and its
                     neighbours: at most 0, low is generic

The published scorer puts the own picture first and takes the argmax, so that two copies of one
picture count as found; and its softmax is over tau * s, which equation (1) leaves out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Scores nearer to each other than this are a tie: what float16 vectors can tell.
TIE = 1e-4
#: Below this mean cosine a picture's neighbours are not like it: to be found among them is easy.
EASY = 0.5
#: Neighbours that a caption must tell its picture from.
NEIGHBOURS = 20
#: Where a model has no scale of its own: what CLIP and BLIP start their training from.
USUAL_SCALE = 1 / 0.07
DISTRACTORS, DRAWS = 99, 5


@dataclass(frozen=True)
class Retrieval:
    """`specificity`: a log-probability, at most 0; `rank`: 1 is found; `of`: pictures compared,
    its own included; `better`: places of the others that the caption fits as well or better, best
    first."""

    specificity: float
    rank: int
    of: int
    better: tuple[int, ...]


def retrieve(own_score: float, others: ArrayLike, scale: float) -> Retrieval:
    """The caption's own picture among others, by their scores; `scale`: tau.

    >>> found = retrieve(0.30, [0.31, 0.10], scale=100.0)
    >>> found.rank, found.better, round(found.specificity, 3)
    (2, (0,), -1.313)
    """
    scores = np.asarray(others, np.float64)
    order = np.argsort(-scores, kind="stable")
    better = tuple(int(place) for place in order if scores[place] >= own_score - TIE)
    logits = scale * np.concatenate([[own_score], scores])
    top = logits.max()
    log_share = float(logits[0] - top - np.log(np.exp(logits - top).sum()))
    return Retrieval(min(0.0, log_share), len(better) + 1, len(scores) + 1, better)


def is_hit(own_score: float, others: ArrayLike, tie: float = TIE) -> bool:
    """Whether the own picture fits better than every other, strictly."""
    scores = np.asarray(others, np.float64)
    return bool((scores < own_score - tie).all())


@dataclass(frozen=True)
class Recall:
    """A share of captions that find their picture, with its 95 % interval (Wilson)."""

    hits: int
    captions: int

    @property
    def share(self) -> float:
        return self.hits / self.captions if self.captions else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        return wilson(self.hits, self.captions)


def wilson(hits: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a share; all of [0, 1] where nothing is known."""
    if not of:
        return 0.0, 1.0
    from scipy.stats import binomtest  # half a second, and only where figures are made

    interval = binomtest(hits, of).proportion_ci(method="wilson")
    return float(interval.low), float(interval.high)


def hits_in_bags(
    bags: Sequence[Sequence[int]],
    pictures: NDArray[np.float32],
    captions: NDArray[np.float32],
    picture_of: ArrayLike,
) -> Iterator[tuple[int, bool]]:
    """(caption, hit) of every caption of every picture in the bags.

    `pictures` [n, d] and `captions` [m, d]: unit vectors, s is their dot product; `picture_of` [m]:
    the row of each caption's picture. A picture that is in two bags is asked in both.
    """
    owners = np.asarray(picture_of, np.int64)
    order = np.argsort(owners, kind="stable")
    starts = np.searchsorted(owners[order], np.arange(len(pictures) + 1))
    for bag in bags:
        members = np.asarray(bag, np.int64)
        for place, row in enumerate(members):
            for caption in order[starts[row] : starts[row + 1]]:
                scores = _scores(pictures[members], captions[caption])
                yield int(caption), is_hit(scores[place], np.delete(scores, place))


def recall_at_1(
    bags: Sequence[Sequence[int]],
    pictures: NDArray[np.float32],
    captions: NDArray[np.float32],
    picture_of: ArrayLike,
) -> Recall:
    """R@1: over all captions of all bags, not over bags. Arguments as `hits_in_bags`."""
    hits = [hit for _, hit in hits_in_bags(bags, pictures, captions, picture_of)]
    return Recall(sum(hits), len(hits))


def recall_among_random(
    pictures: NDArray[np.float32],
    captions: NDArray[np.float32],
    picture_of: ArrayLike,
    seed: int = 0,
    distractors: int = DISTRACTORS,
    draws: int = DRAWS,
) -> Recall:
    """RD100: every caption among `distractors` pictures sampled at random, `draws` times; fewer
    where there are fewer. The interval takes the draws of a caption for one: they are not
    independent, so `captions` counts captions, and `hits` is rounded from the mean of the draws."""
    rng = np.random.default_rng(seed)
    owners = np.asarray(picture_of, np.int64)
    count = min(distractors, len(pictures) - 1)
    hits = 0
    for caption, own_row in zip(captions, owners, strict=True):
        for _ in range(draws):
            drawn = rng.choice(len(pictures) - 1, count, replace=False)
            others = pictures[drawn + (drawn >= own_row)]
            hits += is_hit(float(_scores(pictures[own_row : own_row + 1], caption)[0]),
                           _scores(others, caption))  # fmt: skip
    return Recall(round(hits / draws), len(owners))


def _scores(pictures: NDArray[np.float32], caption: NDArray[np.float32]) -> NDArray[np.float64]:
    """A sum a row, not a matrix product: that one rounds equal rows differently."""
    scores: NDArray[np.float64] = (pictures.astype(np.float64) * caption).sum(1)
    return scores
