"""A synthetic store of any size for benchmarks.

    python -m research.bench.generated_store PAIRS [--claims N] [--db URL]

Pairs the demo dataset's pictures with captions from a large vocabulary and plausible random
scores. No model is run; only sizes and orderings matter here. Pairs are generated and written in
batches, so memory use does not grow with their number.
"""

import argparse
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from backend.engine.captions import Caption
from backend.engine.detection.localisation import suspect_words
from backend.engine.english import word_lists
from backend.engine.english.word_kinds import kind_of
from backend.engine.trajectories.trajectory import Trajectory
from backend.jobs.scoring.stored_rows import save_scored
from backend.progress import Progress, no_progress
from backend.settings import DEMO, load_settings
from backend.store import Store, open_database
from db.queries import (
    claim_queries,
    classifier_queries,
    dataset_queries,
    detection_queries,
    pair_queries,
    run_queries,
    signal_queries,
)
from db.queries.claim_queries import ClaimRow
from db.queries.detection_queries import DetectionRow
from db.queries.pair_queries import NewPair
from db.queries.trajectory_queries import TrajectoryRow

_BATCH = 5000
#: Captions of several claims are put together from so many sentences: writing new ones for each
#: would take longer than storing them.
_SENTENCES = 50_000
_NOUNS = [noun for nouns in word_lists.NOUNS.values() for noun in nouns]


def generate(
    store: Store,
    count: int,
    name: str = "generated",
    seed: int = 0,
    progress: Progress = no_progress,
    claims: int = 1,
) -> int:
    """Create a dataset of `count` scored pairs, whose captions have so many `claims`, each a
    sentence; return its id."""
    images = image_names()
    with store.writing() as session:
        dataset = dataset_queries.create_dataset(session, name, f"generated:{count}", str(DEMO))
        run = run_queries.start_run(
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
    for batch in _batches(count, images, seed, claims):
        with store.writing() as session:
            pair_queries.add_pairs(session, dataset.id, [entry.pair for entry in batch])
        with store.reading() as session:
            rows = pair_queries.pairs_after(session, dataset.id, last, len(batch))
            last = rows[-1].id
        _write(store, run.id, classifier.id, [row.id for row in rows], batch)
        done += len(batch)
        progress(done, count, "Making pairs")
    with store.writing() as session:
        run_queries.finish_run(session, run.id)
    return dataset.id


def image_names() -> list[str]:
    """The demo dataset's pictures, as paths relative to its folder."""
    return sorted(f"images/{path.name}" for path in (DEMO / "images").iterdir())


#: A sentence's trajectory and chance of being wrong.
_Sentence = tuple[Trajectory, float]


class _Claim(NamedTuple):
    """A claim of a caption, by its first character."""

    start: int
    trajectory: Trajectory
    p_error: float


class _GeneratedPair(NamedTuple):
    pair: NewPair
    claims: list[_Claim]
    icc: float

    def places(self) -> list[tuple[int, int | None]]:
        """Where each claim begins and ends, as trajectories are stored."""
        if len(self.claims) == 1:
            return [(0, None)]
        return [
            (each.start, each.start + len(each.trajectory.caption.text)) for each in self.claims
        ]


def _batches(
    count: int, images: list[str], seed: int, claims: int
) -> Iterator[list[_GeneratedPair]]:
    rng = random.Random(seed)
    numbers = np.random.default_rng(seed)
    sentences: list[_Sentence] = []
    if claims > 1:
        sentences = [_sentence(rng, numbers) for _ in range(min(count * claims, _SENTENCES))]

    def sentence() -> _Sentence:
        return rng.choice(sentences) if sentences else _sentence(rng, numbers)

    for first in range(0, count, _BATCH):
        yield [
            _generate(
                number,
                images[number % len(images)],
                [sentence() for _ in range(claims)],
                float(numbers.beta(5, 2)),
            )
            for number in range(first, min(count, first + _BATCH))
        ]


def _generate(number: int, image: str, sentences: list[_Sentence], icc: float) -> _GeneratedPair:
    text = ""
    claims: list[_Claim] = []
    for trajectory, p_error in sentences:
        text += " " * bool(text)
        claims.append(_Claim(len(text), trajectory, p_error))
        text += trajectory.caption.text
    split = "test" if number % 10 == 0 else "train"
    extra = {"width": 160 + number * 7919 % 1800}
    pair = NewPair(f"pair-{number:09d}", image, text, split, "generated", number, extra)
    return _GeneratedPair(pair, claims, icc)


def _sentence(rng: random.Random, numbers: np.random.Generator) -> _Sentence:
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
    return trajectory, float(numbers.beta(0.5, 1.5))


def _write(
    store: Store, run_id: int, classifier_id: int, ids: list[int], batch: list[_GeneratedPair]
) -> None:
    trajectories: list[TrajectoryRow] = []
    claim_rows: dict[int, list[ClaimRow]] = {}
    numbers: dict[tuple[int, int], dict[str, float]] = {}
    rows: list[DetectionRow] = []
    words: dict[int, tuple[str, str]] = {}
    for i, entry in zip(ids, batch, strict=True):
        places = entry.places()
        for (start, end), (_, t, p_error) in zip(places, entry.claims, strict=True):
            trajectories.append(
                TrajectoryRow(
                    i, t.scores, t.similarities, t.removed, t.first_step_scores,
                    start=start, end=end,
                )
            )  # fmt: skip
            if end is not None:
                numbers[i, start] = {"p_error": p_error, "icc": entry.icc}
        claim_rows[i] = [
            ClaimRow(i, start, end, "sentence") for start, end in places if end is not None
        ]
        leading = max(entry.claims, key=lambda claim: claim.p_error)
        suspects = tuple(
            (leading.start + word.start, leading.start + word.end, word.score)
            for word in suspect_words(leading.trajectory, leading.p_error)
        )
        rows.append(DetectionRow(i, leading.p_error, suspects, run_id, classifier_id))
        start, end, _ = max(suspects, key=lambda span: span[2])
        word = entry.pair.caption[start:end].lower()
        words[i] = (word, kind_of(word))
    with store.writing() as session:
        save_scored(session, run_id, trajectories, claim_rows)
        claim_queries.save_numbers(session, numbers)
        detection_queries.save_detections(session, rows)
        signal_queries.save_suspect_words(session, words)
        signal_queries.save_icc(session, dict(zip(ids, (each.icc for each in batch), strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs", type=int)
    parser.add_argument("--claims", type=int, default=1, help="sentences of a caption")
    parser.add_argument("--db", default=None)
    parser.add_argument("--data", type=Path, default=None, help="folder of the store")
    args = parser.parse_args()
    settings = load_settings({"database": args.db, "data_directory": args.data})
    store = open_database(settings.database_url)
    began = time.monotonic()
    generate(store, args.pairs, claims=args.claims)
    seconds = time.monotonic() - began
    print(f"{args.pairs} pairs in {seconds:.0f} s, {args.pairs / seconds:.0f} a second")


if __name__ == "__main__":
    main()
