"""A synthetic store of any size for benchmarks.

    python -m research.bench.generated_store PAIRS [--db URL]

Pairs the demo dataset's pictures with captions from a large vocabulary and plausible random
scores. No model is run; only sizes and orderings matter here. Pairs are generated and written in
batches, so memory use does not grow with their number.
"""

import argparse
import random
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from backend.engine.captions import Caption
from backend.engine.detection.localisation import suspect_words
from backend.engine.english import word_lists
from backend.engine.english.word_kinds import kind_of
from backend.engine.trajectories.trajectory import Trajectory
from backend.progress import Progress, no_progress
from backend.settings import DEMO, load_settings
from backend.store import Store, open_database
from db.queries import classifier_queries, dataset_queries, detections, pairs, runs, signals
from db.queries import trajectories as trajectory_queries
from db.queries.detections import DetectionRow
from db.queries.pairs import NewPair
from db.queries.trajectories import TrajectoryRow

_BATCH = 5000
_NOUNS = [noun for nouns in word_lists.NOUNS.values() for noun in nouns]


def generate(
    store: Store,
    count: int,
    name: str = "generated",
    seed: int = 0,
    progress: Progress = no_progress,
) -> int:
    """Create a dataset of `count` scored pairs; return its id."""
    images = image_names()
    with store.writing() as session:
        dataset = dataset_queries.create_dataset(session, name, f"generated:{count}", str(DEMO))
        run = runs.start_run(
            session,
            kind="score",
            dataset_id=dataset.id,
            scorer_kind="clip",
            model="generated",
            revision=str(seed),
            explorer="elimination",
            parameters={},
            code_version="0",
        )
        classifier = classifier_queries.add_classifier(
            session, dataset.id, name="Generated", kind="s_0 alone", basis="injected",
            payload=b"{}", report={"run": run.id},
        )  # fmt: skip
        classifier_queries.activate(session, classifier.id)
    last = done = 0
    for batch in _batches(count, images, seed):
        with store.writing() as session:
            pairs.add_pairs(session, dataset.id, [pair for pair, _, _, _ in batch])
        with store.reading() as session:
            rows = pairs.pairs_after(session, dataset.id, last, len(batch))
            last = rows[-1].id
        _write(store, run.id, classifier.id, [row.id for row in rows], batch)
        done += len(batch)
        progress(done, count, "Making pairs")
    with store.writing() as session:
        runs.finish_run(session, run.id)
    return dataset.id


def image_names() -> list[str]:
    """The demo dataset's pictures, as paths relative to its folder."""
    return sorted(f"images/{path.name}" for path in (DEMO / "images").iterdir())


_Made = tuple[NewPair, Trajectory, float, float]


def _batches(count: int, images: list[str], seed: int) -> Iterator[list[_Made]]:
    rng = random.Random(seed)
    numbers = np.random.default_rng(seed)
    for first in range(0, count, _BATCH):
        yield [
            _made(number, images[number % len(images)], rng, numbers)
            for number in range(first, min(count, first + _BATCH))
        ]


def _made(number: int, image: str, rng: random.Random, numbers: np.random.Generator) -> _Made:
    text = (
        f"A {rng.choice(word_lists.COLOURS)} {rng.choice(_NOUNS)} "
        f"{rng.choice(word_lists.RELATIONS)} {rng.choice(word_lists.NUMBERS)} "
        f"{rng.choice(_NOUNS)}s at the {rng.choice(word_lists.IN_PLACES)}."
    )
    caption = Caption.parse(text)
    length = len(caption.words)
    s = numbers.beta(2, 2) + np.cumsum(numbers.normal(0, 0.05, length + 1))
    trajectory = Trajectory(
        caption,
        s.astype(np.float32),
        np.linspace(1, 0, length + 1, dtype=np.float32),
        tuple(numbers.permutation(length).tolist()),
        (s[0] + numbers.normal(0, 0.05, length)).astype(np.float32),
    )
    split = "test" if number % 10 == 0 else "train"
    pair = NewPair(f"pair-{number:09d}", image, text, split, "generated", number)
    return pair, trajectory, float(numbers.beta(0.5, 1.5)), float(numbers.beta(5, 2))


def _write(
    store: Store, run_id: int, classifier_id: int, ids: list[int], batch: list[_Made]
) -> None:
    with store.writing() as session:
        trajectory_queries.save_trajectories(
            session,
            run_id,
            [
                TrajectoryRow(i, t.scores, t.similarities, t.removed, t.first_step_scores)
                for i, (_, t, _, _) in zip(ids, batch, strict=True)
            ],
        )
        rows, words = [], {}
        for i, (_, trajectory, p_error, _) in zip(ids, batch, strict=True):
            suspects = tuple((w.start, w.end, w.score) for w in suspect_words(trajectory, p_error))
            rows.append(DetectionRow(i, p_error, suspects, run_id, classifier_id))
            start, end, _ = max(suspects, key=lambda span: span[2])
            word = trajectory.caption.text[start:end].lower()
            words[i] = (word, kind_of(word))
        detections.save_detections(session, rows)
        signals.save_suspect_words(session, words)
        signals.save_icc(session, {i: icc for i, (_, _, _, icc) in zip(ids, batch, strict=True)})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs", type=int)
    parser.add_argument("--db", default=None)
    parser.add_argument("--data", type=Path, default=None, help="folder of the store")
    args = parser.parse_args()
    settings = load_settings({"database": args.db, "data_directory": args.data})
    store = open_database(settings.database_url)
    began = time.monotonic()
    generate(store, args.pairs)
    seconds = time.monotonic() - began
    print(f"{args.pairs} pairs in {seconds:.0f} s, {args.pairs / seconds:.0f} a second")


if __name__ == "__main__":
    main()
