"""How much of shifts, mixed-up rows and swaps `rows` finds, and what it finds where nothing is.

    python -m research.evaluation.row_alignment --rows 600 --seed 3 --cache data/rows

Drawn scenes, their true captions, the vectors of each embedded training. A share of the captions is
replaced by captions of scenes that are not in the file; of a third of the pictures there is a near
duplicate (the same scene, drawn at another size) with a caption of its own. `--cache` keeps vectors
by part, so that a long drawing goes on where it was interrupted.
"""

import argparse
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from backend.engine.scoring.loading import load_scorer
from backend.engine.scoring.protocol import Scorer
from backend.engine.unit_vectors import unit
from backend.features.rows.alignment import Run, Vectors, align, centre
from backend.features.rows.search import STRETCH
from backend.features.rows.swaps import Swap, exchanges_of
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
_SIZE, _DUPLICATE_SIZE, _BATCH, _TEXTS = 96, 88, 64, 256
#: Rows that are drawn and kept together.
_PART = 2000
#: Rows of a block, where it begins (as a share of the rows), and how many swaps there are, as a
#: share of the rows.
BLOCKS, BLOCK_AT, SWAPS = (20, 60, 200), 0.3, 0.05
#: Rows from one of many blocks to the next; ends that are off by no more are near.
_BETWEEN, _NEAR = 600, 2
#: Offsets of a whole file.
OFFSETS = (1, -1, 3, -17, 50)
#: Rows of right files in all, per training and share, each file with the rows in another order.
RIGHT_ROWS = 60_000

Order = NDArray[np.int64]


@dataclass(frozen=True)
class Drawing:
    """Vectors of pictures and their captions, and of captions of other scenes: [rows, d]."""

    pictures: Vectors
    captions: Vectors
    foreign: Vectors


def draw(training: str, rows: int, seed: int, cache: Path | None) -> Drawing:
    scorer = load_scorer(str(MODELS / training / "scenes-clip"))
    rng = random.Random(_FIRST_SEED + seed * 1_000_000)
    parts: list[Drawing] = []
    total = 0
    while total < rows:
        scenes: list[tuple[object, int]] = []
        captions, foreign = list[str](), list[str]()
        while len(captions) < _PART and total < rows:
            scene = make_scene(rng)
            for size in (_SIZE, _DUPLICATE_SIZE) if total % 6 == 0 else (_SIZE,):
                scenes.append((scene, size))
                captions.append(describe(scene, rng).text)
                total += 1
            foreign.append(describe(make_scene(rng), rng).text)
        file = cache / f"{training or '0'}-{len(parts):04d}.npz" if cache is not None else None
        if file is not None and file.exists():
            stored = np.load(file)
            parts.append(Drawing(stored["pictures"], stored["captions"], stored["foreign"]))
            continue
        parts.append(
            Drawing(
                _picture_vectors(scorer, scenes), _texts(scorer, captions), _texts(scorer, foreign)
            )
        )
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            np.savez(file, **vars(parts[-1]))
    order = rng.sample(range(rows), rows)
    pictures = np.concatenate([part.pictures for part in parts])[order]
    texts = np.concatenate([part.captions for part in parts])[order]
    return Drawing(pictures, texts, np.concatenate([part.foreign for part in parts]))


def _picture_vectors(scorer: Scorer, scenes: list[tuple[object, int]]) -> Vectors:
    vectors = []
    for start in range(0, len(scenes), _BATCH):
        images = [render(scene, size) for scene, size in scenes[start : start + _BATCH]]  # type: ignore[arg-type]
        vectors.append(np.asarray(scorer.image_embeddings(scorer.encode_images(images))))
    return unit(np.concatenate(vectors))


def _texts(scorer: Scorer, captions: list[str]) -> Vectors:
    parts = [
        np.asarray(scorer.text_embeddings(captions[start : start + _TEXTS]))
        for start in range(0, len(captions), _TEXTS)
    ]
    return unit(np.concatenate(parts))


@dataclass
class Outcome:
    """Of one file: `order`, whose caption each row has; `is_wrong`, whether it was replaced; what
    was found, and the seconds of the processor."""

    order: Order
    is_wrong: NDArray[np.bool_]
    runs: list[Run]
    swaps: list[Swap]
    seconds: float

    @property
    def share(self) -> float:
        """Share of the moved rows that a run has with their offset."""
        offsets = np.zeros(len(self.order), np.int64)
        for run in self.runs:
            offsets[run.first : run.last + 1] = run.offset or 0
        moved = self._moved
        belongs = self.order - np.arange(len(self.order))
        # The rows at the seam of a ring have captions from its other end.
        usual = int(np.median(belongs[moved])) if len(moved) else 0
        moved = moved[belongs[moved] == usual]
        return float((offsets[moved] == usual).mean()) if len(moved) else 0.0

    @property
    def ends_off(self) -> int:
        """Rows by which the findings end too early or late, the larger of both ends."""
        moved = self._moved
        if not len(moved) or not self.runs:
            return len(moved)
        return max(abs(self.runs[0].first - moved[0]), abs(self.runs[-1].last - moved[-1]))

    @property
    def _moved(self) -> Order:
        return np.flatnonzero(self.order != np.arange(len(self.order)))

    @property
    def right_swaps(self) -> int:
        return sum(
            bool(self.order[swap.first] == swap.second)
            and not self.is_wrong[[swap.first, swap.second]].any()
            for swap in self.swaps
        )

    @property
    def whole_swaps(self) -> int:
        """Swaps whose two captions are right."""
        whole = ~self.is_wrong & ~self.is_wrong[self.order]
        return int(whole[self._moved].sum()) // 2


def look(drawing: Drawing, order: Order, wrong: float, rng: np.random.Generator) -> Outcome:
    """What is found in the file whose rows have the captions of `order`. Read in stretches, as the
    program does."""
    rows = len(order)
    captions = drawing.captions[order].copy()
    is_wrong = np.zeros(rows, np.bool_)
    is_wrong[rng.choice(rows, int(wrong * rows), replace=False)] = True
    captions[is_wrong] = drawing.foreign[rng.integers(0, len(drawing.foreign), int(is_wrong.sum()))]
    outcome = Outcome(order, is_wrong, [], [], 0.0)
    begin = time.process_time()
    for places in np.array_split(np.arange(rows), -(-rows // STRETCH)):
        texts, pictures = centre(captions[places]), centre(drawing.pictures[places])
        runs, likenesses = align(texts, pictures)
        in_runs = {row for run in runs for row in range(run.first, run.last + 1)}
        rest = [row for row in range(len(places)) if row not in in_runs]
        swaps = exchanges_of(texts, pictures, likenesses, rest).swaps
        at = int(places[0])
        outcome.runs += [Run(run.first + at, run.last + at, run.offset, run.likeness,
                             run.own_likeness, run.log_chance) for run in runs]  # fmt: skip
        outcome.swaps += [Swap(s.first + at, s.second + at, s.log_chance) for s in swaps]
    outcome.seconds = time.process_time() - begin
    return outcome


def shift_rows(rows: int, by: int, block: int | None = None) -> Order:
    order = np.arange(rows)
    first = int(BLOCK_AT * rows) if block else 0
    last = first + block if block else rows
    order[first:last] = np.roll(order[first:last], by)
    return order


def exchange_rows(rows: int, rng: np.random.Generator) -> Order:
    order = np.arange(rows)
    pairs = rng.choice(rows, 2 * int(SWAPS * rows), replace=False).reshape(-1, 2)
    order[pairs] = order[pairs[:, ::-1]]
    return order


def scatter_blocks(rows: int, size: int) -> tuple[Order, Order]:
    """Blocks of one row off throughout the file, and where they begin."""
    order = np.arange(rows)
    starts = np.arange(_BETWEEN // 2, rows - size, _BETWEEN)
    for first in starts:
        order[first : first + size] = np.roll(order[first : first + size], 1)
    return order, starts


def block_lines(rows: int, seed: int, cache: Path | None, trainings: int) -> Iterator[list[str]]:
    """Of many short blocks in one file: how many are found, with which share of their rows, and how
    many of these end within `_NEAR` rows of where they do."""
    for number, training in enumerate(TRAININGS[:trainings]):
        drawing = draw(training, rows, seed, cache)
        for wrong in WRONG:
            for size in BLOCKS[:2]:
                order, starts = scatter_blocks(rows, size)
                outcome = look(drawing, order, wrong, np.random.default_rng(seed))
                shares, ends = [], []
                for first in starts.tolist():
                    runs = [run for run in outcome.runs if run.offset == -1
                            and run.first < first + size and run.last >= first]  # fmt: skip
                    # The caption of the first row belongs to the last one.
                    rows_found = sum(
                        max(0, min(run.last, first + size - 1) - max(run.first, first + 1) + 1)
                        for run in runs
                    )
                    shares.append(rows_found / (size - 1))
                    if runs:
                        ends.append(max(abs(runs[0].first - first - 1),
                                        abs(runs[-1].last - first - size + 1)))  # fmt: skip
                yield [
                    str(number), f"{wrong:.0%}", str(size), f"{len(ends)} of {len(starts)}",
                    f"{np.mean(shares):.3f}",
                    f"{np.mean(np.array(ends) <= _NEAR):.2f}" if ends else "–",
                    f"{max(ends, default=0)}",
                ]  # fmt: skip


def lines(rows: int, seed: int, cache: Path | None, trainings: int) -> Iterator[list[str]]:
    for number, training in enumerate(TRAININGS[:trainings]):
        drawing = draw(training, rows, seed, cache)
        for wrong in WRONG:
            figures = _figures(drawing, wrong, np.random.default_rng(seed))
            yield [str(number), f"{wrong:.0%}", *figures]


def _figures(drawing: Drawing, wrong: float, rng: np.random.Generator) -> list[str]:
    rows = len(drawing.captions)
    whole = [look(drawing, shift_rows(rows, by), wrong, rng) for by in OFFSETS]
    blocks = [look(drawing, shift_rows(rows, 1, size), wrong, rng) for size in BLOCKS]
    # Several small files: ten swaps are too few to tell.
    swapped = [
        look(drawing, exchange_rows(rows, rng), wrong, rng) for _ in range(max(1, 6000 // rows))
    ]
    false_count, files = 0, max(1, RIGHT_ROWS // rows)
    for _ in range(files):
        again = rng.permutation(rows)
        other = Drawing(drawing.pictures[again], drawing.captions[again], drawing.foreign)
        right = look(other, np.arange(rows), wrong, rng)
        false_count += len(right.runs) + len(right.swaps)
    right_swaps = sum(each.right_swaps for each in swapped)
    swap_count = sum(len(each.swaps) for each in swapped)
    return [
        f"{min(each.share for each in whole):.3f}",
        *(f"{each.share:.2f}, {each.ends_off}" for each in blocks),
        f"{right_swaps / max(1, sum(each.whole_swaps for each in swapped)):.2f}",
        f"{right_swaps / swap_count:.2f}" if swap_count else "–",
        f"{false_count} in {files * rows:,}",
        f"{1e6 * swapped[0].seconds / rows:,.0f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=600)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--cache", type=Path, help="A folder for the vectors, of these seeds.")
    parser.add_argument("--trainings", type=int, default=3)
    parser.add_argument("--blocks", action="store_true", help="Many short blocks in a file.")
    options = parser.parse_args()
    if options.blocks:
        titles = ("training", "wrong captions", "rows", "found", "share of their rows",
                  "ends within 2", "farthest")  # fmt: skip
        found = block_lines(options.rows, options.seed, options.cache, options.trainings)
        print(table(titles, list(found)))
        return
    head = ["training", "wrong captions", "rows found, least of five offsets",
            *(f"block of {size}: found, ends off" for size in BLOCKS),
            "swaps found", "precision", "false, right rows", "µs a row"]  # fmt: skip
    figures = lines(options.rows, options.seed, options.cache, options.trainings)
    print(table(head, list(figures)))


if __name__ == "__main__":
    main()
