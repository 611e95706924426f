"""Bags for training and evaluation, and how often captions find their picture (SR, 4.1 and B.2).

    hit              s(c, own) > s(c, other) for all others in the bag; a tie is not a hit
    R@1              the share of hits, over all captions of all bags
    RD100            the same among 99 pictures sampled at random, mean of several draws
    training bags    each epoch in a random order, each picture at most once

The published scorer puts the own picture first and takes the argmax, so a tie between two copies of
a picture counts as a hit.
"""

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image

from backend.datasets.safe_files.text_files import text_of
from backend.engine.scoring.protocol import Scorer
from backend.engine.unit_vectors import unit
from backend.errors import DatasetError, SettingsError
from backend.features.specificity.picture_bags import Bag, check_size, file_name
from backend.features.specificity.retrieval import TIE

Ids = tuple[tuple[str, ...], ...]
DISTRACTORS, DRAWS = 99, 5
_TOGETHER = 64


def picture_vectors(
    scorer: Scorer,
    pictures: Iterator[Image.Image],
    report: Callable[[int], None] = lambda count: None,
) -> NDArray[np.float32]:
    """Unit vectors [pictures, d]; `report` gets the number of pictures seen so far.

    Raises SettingsError if the scorer has none.
    """
    batches: list[NDArray[np.float32]] = []
    for batch in iter(lambda: list(islice(pictures, _TOGETHER)), []):
        vectors = scorer.image_embeddings(scorer.encode_images(batch))
        if vectors is None:
            raise SettingsError(f"{scorer.info.kind} provides no vectors to compare.")
        batches.append(vectors)
        report(sum(map(len, batches)))
    return unit(np.concatenate(batches))


def training_bags(
    near: NDArray[np.int64], size: int, rng: random.Random
) -> Iterator[tuple[int, ...]]:
    """One epoch of training bags (B.2): pictures in a random order, each with its first `size` - 1
    neighbours that are not yet in a bag. `near` [n, k]: neighbours of each picture, nearest first,
    as returned by `nearest`. Pictures without enough free neighbours are skipped in this epoch.
    """
    check_size(size)
    order = list(range(len(near)))
    rng.shuffle(order)
    free = np.ones(len(near), np.bool_)
    for row in order:
        if not free[row]:
            continue
        others = near[row][free[near[row]]][: size - 1]
        if len(others) == size - 1:
            bag = (row, *others.tolist())
            free[list(bag)] = False
            yield bag


def random_bags(count: int, size: int, rng: random.Random) -> list[Bag]:
    """`count` pictures partitioned at random into bags: the baseline for mined bags."""
    check_size(size)
    order = list(range(count))
    rng.shuffle(order)
    ends = range(size, count + 1, size)
    return [Bag(tuple(order[end - size : end]), 0.0) for end in ends]


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


def scores_of(pictures: NDArray[np.float32], caption: NDArray[np.float32]) -> NDArray[np.float64]:
    """Dot products as a sum per row: a matrix product would round equal rows differently."""
    scores: NDArray[np.float64] = (pictures.astype(np.float64) * caption).sum(1)
    return scores


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
        for index, row in enumerate(members):
            for caption in order[starts[row] : starts[row + 1]]:
                scores = scores_of(pictures[members], captions[caption])
                yield int(caption), is_hit(scores[index], np.delete(scores, index))


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
            sample = rng.choice(len(pictures) - 1, count, replace=False)
            others = pictures[sample + (sample >= own_row)]
            hits += is_hit(float(scores_of(pictures[own_row : own_row + 1], caption)[0]),
                           scores_of(others, caption))  # fmt: skip
    return Recall(round(hits / draws), len(owners))


def files_of(folder: Path, sizes: Sequence[int]) -> list[Path]:
    """The files of these sizes in a folder of ours or, as 3.json, 5.json, 7.json, of TrueMatch.

    Raises DatasetError if there is none.
    """
    names = [(file_name(size), f"{size}.json") for size in sizes]
    files = [
        path
        for pair in names
        if (path := next((folder / n for n in pair if (folder / n).exists()), None)) is not None
    ]
    if not files:
        file_names = ", ".join(" or ".join(pair) for pair in names)
        raise DatasetError(f"{folder} has no bags of these sizes: it needs {file_names}.")
    return files


def read_bags(path: Path) -> Ids:
    """The bags of a file. Raises DatasetError, naming the bag, if the file is invalid."""
    try:
        bags = json.loads(text_of(path))
    except (ValueError, RecursionError) as problem:
        raise DatasetError(f"{path} is not valid JSON: {problem}.") from problem
    if not isinstance(bags, list) or not all(isinstance(bag, list) for bag in bags):
        raise DatasetError(f"{path} must hold a list of bags, each a list of ids.")
    return tuple(_bag(path, number, bag) for number, bag in enumerate(bags, 1))


def _bag(path: Path, number: int, bag: Sequence[object]) -> tuple[str, ...]:
    where = f"{path}, bag {number}"
    if not all(isinstance(member, str | int) and not isinstance(member, bool) for member in bag):
        raise DatasetError(f"{where}: ids are texts or numbers.")
    ids = tuple(str(member) for member in bag)
    if len(ids) < 2:
        raise DatasetError(f"{where}: a bag holds at least two pictures.")
    twice = next((identity for index, identity in enumerate(ids) if identity in ids[:index]), None)
    if twice is not None:
        raise DatasetError(f"{where}: it holds the picture '{twice}' twice.")
    return ids


def rows_of(path: Path, bags: Ids, row_of: Mapping[str, int]) -> list[tuple[int, ...]]:
    """The bags as rows of pictures. Raises DatasetError listing unknown ids with their bags."""
    unknown = [
        (n, member) for n, bag in enumerate(bags, 1) for member in bag if member not in row_of
    ]
    if unknown:
        examples = ", ".join(f"'{member}' (bag {number})" for number, member in unknown[:5])
        more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        raise DatasetError(f"{path}: the dataset has no picture {examples}{more}.")
    return [tuple(row_of[member] for member in bag) for bag in bags]
