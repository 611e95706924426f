"""BagCurri (SR, section 4.2 and appendix B): which bags of similar pictures each step trains on.

A step's batch consists of disjoint bags; larger bags hold more pictures that a caption must tell
apart, and the curriculum goes from small ones to large ones. The paper plots its schedule (figure
5); the numbers below are those of the authors' configuration, as shares of the steps, since we
train for fewer. Training bags are formed again each epoch. An epoch ends when no full batch is
left, or when the size changes, so that within an epoch each picture occurs at most once.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from backend.errors import SettingsError
from backend.features.specificity.picture_bags import LARGEST
from research.bags_and_recall import training_bags

#: (size, share of the steps), in the order of training.
SHARES: tuple[tuple[int, float], ...] = (
    (2, 0.15), (3, 0.25), (5, 0.10), (7, 0.10), (10, 0.10), (15, 0.15), (20, 0.15),
)  # fmt: skip
#: The size of "bags" that are batches of random pictures.
RANDOM = 1


@dataclass(frozen=True)
class Batch:
    """`bags`: rows of pictures, each bag's query first; `epoch` counts from 0."""

    bags: tuple[tuple[int, ...], ...]
    epoch: int

    @property
    def rows(self) -> list[int]:
        """All pictures of the batch, bag by bag."""
        return [row for bag in self.bags for row in bag]

    @property
    def size(self) -> int:
        """Pictures in a bag."""
        return len(self.bags[0])


def bag_curriculum(steps: int) -> list[int]:
    """The size of the bags at each of `steps` steps (BagCurri), never decreasing.

    >>> bag_curriculum(20)
    [2, 2, 2, 3, 3, 3, 3, 3, 5, 5, 7, 7, 10, 10, 15, 15, 15, 20, 20, 20]
    """
    # Cumulative shares: the parts sum to `steps` however they are rounded.
    ends = [round(steps * end) for end in np.cumsum([share for _, share in SHARES])]
    sizes = [size for size, _ in SHARES]
    return [sizes[int(np.searchsorted(ends, step, side="right"))] for step in range(steps)]


def batches(
    near: NDArray[np.int64], batch: int, sizes: Sequence[int], seed: int
) -> Iterator[Batch]:
    """One batch of at most `batch` pictures for each of `sizes`; a pure function of its arguments,
    so an interrupted training continues with the same batches.

    `near` [n, k]: neighbours of each picture, nearest first (`specificity.bags.nearest`); `sizes`:
    pictures per bag at each step, `RANDOM` for random batches. Raises SettingsError if a batch
    is too small for a bag of some size, or the pictures are too few for one batch.
    """
    check_sizes(len(near), batch, sizes)
    epoch = -1
    for size, group in groupby(sizes):
        steps, done = len(list(group)), 0
        while done < steps:
            epoch += 1
            before = done
            for bags in _batches_of_epoch(near, batch // size, size, seed, epoch):
                if done == steps:
                    break
                yield Batch(bags, epoch)
                done += 1
            if done == before:
                raise SettingsError(
                    f"{len(near)} pictures do not form a batch of {batch // size} bags of {size}: "
                    "their neighbours overlap. More pictures or smaller batches are needed."
                )


def check_sizes(pictures: int, batch: int, sizes: Sequence[int]) -> None:
    """Raise SettingsError if batches of bags of these sizes cannot be made."""
    for size in sorted(set(sizes)):
        if not RANDOM <= size <= LARGEST:
            raise SettingsError(f"A bag holds at most {LARGEST} pictures, not {size}.")
        if batch // size < 1 or batch < 2:
            raise SettingsError(f"A batch of {batch} pictures is too small for a bag of {size}.")
    if pictures < batch:
        raise SettingsError(f"A batch needs {batch} pictures; there are {pictures}.")


def _batches_of_epoch(
    near: NDArray[np.int64], count: int, size: int, seed: int, epoch: int
) -> Iterator[tuple[tuple[int, ...], ...]]:
    rng = random.Random(f"bags {seed} {epoch}")
    bags: Iterator[tuple[int, ...]]
    if size == RANDOM:
        order = list(range(len(near)))
        rng.shuffle(order)
        bags = iter([(row,) for row in order])
    else:
        bags = training_bags(near, size, rng)
    waiting: list[tuple[int, ...]] = []
    for bag in bags:
        waiting.append(bag)
        if len(waiting) == count:
            yield tuple(waiting)
            waiting = []
