"""How much of shifts, mixed-up blocks and swaps `rows` finds, and what it finds where nothing is.

    python -m research.evaluation.row_alignment --rows 600 --seed 3

Drawn scenes, their true captions, the vectors of each embedded training. A share of the captions is
replaced by captions of scenes that are not in the file; of a third of the pictures there is a near
duplicate (the same scene, drawn at another size) with a caption of its own.
"""

import argparse
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backend.engine.duplicate_groups import unit
from backend.engine.scoring.loading import load_scorer
from backend.features.rows.alignment import (
    Vectors,
    band_of,
    centre,
    measure,
    runs_of,
)
from backend.features.rows.swaps import swaps_of
from backend.settings import MODELS
from research.markdown_tables import table
from research.scenes.grammar import describe
from research.scenes.renderer import render
from research.scenes.world import make_scene

TRAININGS = ("", "seed-1", "seed-2")
#: Shares of the captions that belong to no picture.
WRONG = (0.0, 0.2, 0.5)
#: Does not overlap with the seeds of the trainings and other evaluations.
_FIRST_SEED = 5_000_000_000
_SIZE, _DUPLICATE_SIZE, _BATCH = 96, 88, 64
#: Rows of a block, where it begins (as a share of the rows), and how many swaps there are, as a
#: share of the rows.
BLOCK, BLOCK_AT, SWAPS = 60, 0.3, 0.05
#: Right files per training and share, each with the rows in another order.
RIGHT_FILES = 10


@dataclass(frozen=True)
class Drawing:
    """Vectors of pictures and their captions, and of captions of other scenes: [rows, d]."""

    pictures: Vectors
    captions: Vectors
    foreign: Vectors


def draw(training: str, rows: int, seed: int) -> Drawing:
    scorer = load_scorer(str(MODELS / training / "scenes-clip"))
    rng = random.Random(_FIRST_SEED + seed * 1_000_000)
    images, captions, foreign = [], [], []
    while len(images) < rows:
        scene = make_scene(rng)
        for size in (_SIZE, _DUPLICATE_SIZE) if len(images) % 6 == 0 else (_SIZE,):
            images.append(render(scene, size))
            captions.append(describe(scene, rng).text)
        foreign.append(describe(make_scene(rng), rng).text)
    order = rng.sample(range(rows), rows)
    vectors = [
        scorer.image_embeddings(scorer.encode_images(images[start : start + _BATCH]))
        for start in range(0, len(images), _BATCH)
    ]
    pictures = unit(np.concatenate([np.asarray(each) for each in vectors]))[order]
    texts = unit(scorer.text_embeddings([captions[row] for row in order]))
    return Drawing(pictures, texts, unit(scorer.text_embeddings(foreign)))


def shift_all(order: NDArray[np.int64], rng: np.random.Generator) -> None:
    order[:] = np.roll(order, 1)


def shift_block(order: NDArray[np.int64], rng: np.random.Generator) -> None:
    first = int(BLOCK_AT * len(order))
    order[first : first + BLOCK] = np.roll(order[first : first + BLOCK], 1)


def exchange(order: NDArray[np.int64], rng: np.random.Generator) -> None:
    rows = rng.choice(len(order), 2 * int(SWAPS * len(order)), replace=False).reshape(-1, 2)
    order[rows] = order[rows[:, ::-1]]


def figures(
    drawing: Drawing, wrong: float, change: Callable[..., None], rng: np.random.Generator
) -> tuple[float, float, int, int, int, int]:
    """Share of the moved rows that a run has with their offset, rows by which it ends too early or
    late, runs; swaps found, right ones, and those whose two captions are right."""
    rows = len(drawing.captions)
    order = np.arange(rows)
    change(order, rng)
    captions = drawing.captions[order].copy()
    replaced_rows = rng.choice(rows, int(wrong * rows), replace=False)
    captions[replaced_rows] = drawing.foreign[rng.integers(0, len(drawing.foreign),
                                                           len(replaced_rows))]  # fmt: skip
    texts, pictures = centre(captions), centre(drawing.pictures)
    band = band_of(texts, pictures)
    likenesses = measure(band)
    runs = runs_of(band, likenesses)
    offsets = np.zeros(rows, np.int64)
    for run in runs:
        offsets[run.first : run.last + 1] = run.offset or 0
    moved = np.flatnonzero(order - np.arange(rows) == -1)
    share = float((offsets[moved] == -1).mean()) if len(moved) else 0.0
    off = 0
    if len(moved) and runs:
        off = max(abs(runs[0].first - moved[0]), abs(runs[-1].last - moved[-1]))
    rest = np.flatnonzero(offsets == 0).tolist()
    swaps = swaps_of(texts, pictures, likenesses, rest)
    right = sum(order[swap.first] == swap.second for swap in swaps)
    is_replaced = np.isin(np.arange(rows), replaced_rows)
    whole = (order != np.arange(rows)) & ~is_replaced & ~is_replaced[order]
    return share, float(off), len(runs), len(swaps), int(right), int(whole.sum()) // 2


def lines(rows: int, seed: int) -> Iterator[list[str]]:
    for number, training in enumerate(TRAININGS):
        drawing = draw(training, rows, seed)
        for wrong in WRONG:
            rng = np.random.default_rng(seed)
            whole = figures(drawing, wrong, shift_all, rng)
            block = figures(drawing, wrong, shift_block, rng)
            swapped = figures(drawing, wrong, exchange, rng)
            false_count = 0
            for _ in range(RIGHT_FILES):
                again = rng.permutation(rows)
                other = Drawing(drawing.pictures[again], drawing.captions[again], drawing.foreign)
                right = figures(other, wrong, lambda order, rng: None, rng)
                false_count += right[2] + right[3]
            yield [
                str(number), f"{wrong:.0%}", f"{whole[0]:.3f}", f"{block[0]:.3f}",
                f"{block[1]:.0f}",
                f"{swapped[4] / max(1, swapped[5]):.2f}",
                f"{swapped[4] / swapped[3]:.2f}" if swapped[3] else "–",
                f"{false_count} in {RIGHT_FILES * rows:,}",
            ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=600)
    parser.add_argument("--seed", type=int, default=3)
    options = parser.parse_args()
    head = ["training", "wrong captions", "rows found, file off by one", f"block of {BLOCK}",
            "its ends off by", "swaps found", "precision", "false, right rows"]  # fmt: skip
    print(table(head, list(lines(options.rows, options.seed))))


if __name__ == "__main__":
    main()
