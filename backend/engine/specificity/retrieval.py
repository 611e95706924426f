"""Does a caption find its own picture? (SR, self-retrieval)

    hit              s(c, own) > s(c, other) for all others in the bag; a tie is not a hit
    R@1              the share of hits, over all captions of all bags
    RD100            the same among 99 pictures sampled at random, mean of several draws
    specificity      log-probability of the own picture under softmax(tau * s) over itself and its
                     neighbours: at most 0; low values mean a generic caption

The published scorer puts the own picture first and takes the argmax, so a tie between two copies of
a picture counts as a hit; and its softmax is over tau * s, although equation (1) omits tau.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Scores closer than this are ties: the resolution of float16 vectors.
TIE = 1e-4
#: Below this mean cosine a picture's neighbours are dissimilar, which makes retrieval easy.
EASY = 0.5
#: Neighbours that a caption must tell its picture from.
NEIGHBOURS = 20
#: Scale of models that have none of their own: the initial value in CLIP's and BLIP's training.
USUAL_SCALE = 1 / 0.07
DISTRACTORS, DRAWS = 99, 5


@dataclass(frozen=True)
class Retrieval:
    """`specificity`: a log-probability, at most 0; `rank`: 1 means retrieved; `of`: number of
    pictures compared, including its own; `better`: indices of the others that the caption fits as
    well or better, best first."""

    specificity: float
    rank: int
    of: int
    better: tuple[int, ...]


def retrieve(own_score: float, others: ArrayLike, scale: float) -> Retrieval:
    """Rank the caption's own picture among others by their scores; `scale`: tau.

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
    """Whether the own picture scores higher than every other by more than `tie`."""
    scores = np.asarray(others, np.float64)
    return bool((scores < own_score - tie).all())


@dataclass(frozen=True)
class Recall:
    """The share of captions that retrieve their picture, with its 95 % interval (Wilson)."""

    hits: int
    captions: int

    @property
    def share(self) -> float:
        return self.hits / self.captions if self.captions else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        return wilson(self.hits, self.captions)


def wilson(hits: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a share; [0, 1] if `of` is 0."""
    if not of:
        return 0.0, 1.0
    from scipy.stats import binomtest  # takes half a second to import

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
    the row of each caption's picture. A picture in two bags is evaluated in both.
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
    """R@1, averaged over captions, not over bags. Arguments as for `hits_in_bags`."""
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
    """RD100: retrieval among `distractors` (or all, if fewer) pictures sampled at random, `draws`
    times for every caption. Draws of a caption are not independent, so for the interval they count
    as one: `captions` counts captions, and `hits` is the mean over the draws, rounded."""
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
    """Dot products as a sum per row: a matrix product would round equal rows differently."""
    scores: NDArray[np.float64] = (pictures.astype(np.float64) * caption).sum(1)
    return scores
