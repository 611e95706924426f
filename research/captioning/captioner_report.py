"""The report of training a captioner on a cleaned dataset."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class CaptionerFigures:
    """Greedy captions of held-out pictures. `trained_on`: "cleaned" or "raw"; `pairs`: number of
    training pairs; `rd100`: share that the judge retrieves among 99 random pictures (or all, if
    fewer); `bags`: R@1 in bags of similar pictures, by size; `cider`: mean CIDEr-D against the
    cleaned captions of the picture, None if it cannot be computed; `words`: mean length;
    `distinct`: different words in all; `empty`: number of captions without a word."""

    trained_on: str
    pairs: int
    rd100: float
    bags: dict[int, float]
    cider: float | None
    words: float
    distinct: int
    empty: int


@dataclass(frozen=True)
class CaptionerReport:
    """`figures`: of the captioner in `model`, trained on the cleaned dataset, then of one trained
    on the raw dataset with the same recipe, if requested. `held_out`: pictures that neither was
    trained on; `unreadable`: pictures that could not be opened."""

    dataset_id: int
    figures: tuple[CaptionerFigures, ...]
    held_out: int
    unreadable: int
    judge: str
    recipe: dict[str, Any]
    model: Path
    notes: tuple[str, ...] = ()
