"""Cost of selecting from a large dataset: `python app.py bench --select 1000000`

Each selection runs as the user's command would, in a separate process: processor time, including
imports, and peak memory. No model is run; captions, matches and phrases are generated.
"""

import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from backend.bundled import IS_CHECKOUT
from backend.engine.english import word_lists
from backend.engine.english.phrases import KINDS
from backend.progress import Progress, no_progress
from backend.settings import DEMO
from backend.store import Store, open_database
from db.queries import datasets, pairs, phrase_scores, runs
from db.queries import trajectories as trajectory_queries
from db.queries.pairs import NewPair
from db.queries.phrase_scores import PhraseRow
from db.queries.trajectories import TrajectoryRow
from research.bench.generated_store import image_names
from research.bench.process_cost import cost_of

_BATCH = 5000
_NAME = "generated"
_NOUNS = [noun for nouns in word_lists.NOUNS.values() for noun in nouns]
_ADJECTIVES = sorted(word_lists.ADJECTIVES)
_PHRASES = 4
#: The measured variants: arguments after `select NAME`.
_WAYS: tuple[tuple[str, ...], ...] = (
    ("--dry-run",),
    ("--by", "worst", "--dry-run"),
    ("--align", "0.8", "--least-phrases", "2", "--dry-run"),
)


@dataclass(frozen=True)
class SelectionCost:
    """One command. `processor_seconds`: user and system time; `peak_mebibytes`: peak resident
    memory as counted by the kernel; `kept`: number of pairs selected."""

    arguments: str
    processor_seconds: float
    peak_mebibytes: float
    kept: int


@dataclass(frozen=True)
class SelectionSpeed:
    pairs: int
    costs: tuple[SelectionCost, ...]

    def table(self) -> str:
        lines = [
            f"{self.pairs:,} generated pairs",
            f"{'select …':42}{'processor s':>12}{'peak MiB':>10}{'kept':>10}",
        ]
        lines += [
            f"{c.arguments:42}{c.processor_seconds:12.1f}{c.peak_mebibytes:10.0f}{c.kept:10,}"
            for c in self.costs
        ]
        return "\n".join(lines)


def bench_selection(
    count: int, url: str | None = None, progress: Progress = no_progress
) -> SelectionSpeed:
    """Generate a store of `count` pairs (in a temporary folder, or at `url`) and select from it."""
    with tempfile.TemporaryDirectory() as folder:
        database = url or f"sqlite:///{folder}/traced.db"
        store = open_database(database)
        try:
            generate_supported(store, count, progress=progress)
        finally:
            store.close()
        costs = []
        for number, way in enumerate(_WAYS):
            progress(number, len(_WAYS), "Selecting")
            costs.append(_cost(way, database, folder))
    return SelectionSpeed(count, tuple(costs))


def generate_supported(
    store: Store, count: int, seed: int = 0, progress: Progress = no_progress
) -> int:
    """Create a dataset of `count` pairs with match, support and phrases; return its id."""
    with store.writing() as session:
        dataset = datasets.create_dataset(session, _NAME, f"generated:{count}", str(DEMO))
        scored, supported = (
            runs.start_run(
                session, kind=kind, dataset_id=dataset.id, scorer_kind="clip", model=_NAME,
                revision=str(seed), explorer="elimination", parameters={}, code_version="0",
            )
            for kind in ("score", "support")
        )  # fmt: skip
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    last = done = 0
    for batch in _batches(count, rng):
        with store.writing() as session:
            pairs.add_pairs(session, dataset.id, batch)
        with store.reading() as session:
            ids = [row.id for row in pairs.pairs_after(session, dataset.id, last, len(batch))]
        matches, attributions = numbers.random(len(ids)), numbers.normal(size=(len(ids), _PHRASES))
        with store.writing() as session:
            trajectory_queries.save_trajectories(
                session,
                scored.id,
                [
                    TrajectoryRow(i, np.array([s], np.float32), np.ones(1, np.float32), (),
                                  np.zeros(0, np.float32))
                    for i, s in zip(ids, matches, strict=True)
                ],
            )  # fmt: skip
            phrase_scores.save_phrase_scores(
                session,
                supported.id,
                {i: _phrases(row) for i, row in zip(ids, attributions.tolist(), strict=True)},
            )
            means, least = attributions.mean(1).tolist(), attributions.min(1).tolist()
            phrase_scores.save_support(session, dict(zip(ids, zip(means, least, strict=True),
                                                         strict=True)))  # fmt: skip
        last = ids[-1]
        done += len(ids)
        progress(done, count, "Making pairs")
    with store.writing() as session:
        for run in (scored, supported):
            runs.finish_run(session, run.id)
    return dataset.id


def _batches(count: int, rng: random.Random) -> Iterator[list[NewPair]]:
    images = image_names()
    for first in range(0, count, _BATCH):
        yield [
            NewPair(f"pair-{number:09d}", images[number % len(images)], _caption(rng),
                    "test" if number % 10 == 0 else "train", _NAME, number)
            for number in range(first, min(count, first + _BATCH))
        ]  # fmt: skip


def _caption(rng: random.Random) -> str:
    """A random caption; a few thousand distinct words occur, as in captions of photographs."""
    return (
        f"A {rng.choice(word_lists.COLOURS)} {rng.choice(_NOUNS)} "
        f"{rng.choice(word_lists.RELATIONS)} {rng.choice(word_lists.NUMBERS)} "
        f"{rng.choice(_ADJECTIVES)} {rng.choice(_NOUNS)}s at the "
        f"{rng.choice(word_lists.IN_PLACES)} {chr(97 + rng.randrange(26))}{rng.randrange(2000)}."
    )


def _phrases(attributions: Sequence[float]) -> list[PhraseRow]:
    return [
        PhraseRow(2 * n, 2 * n + 1, 2 * n, 2 * n + 1, n % len(KINDS), value, 0.0, value)
        for n, value in enumerate(attributions)
    ]


def _cost(way: Sequence[str], database: str, folder: str) -> SelectionCost:
    arguments = ["select", _NAME, *way, "--split", "all", "--db", database, "--json"]
    # An installed wheel calls the command line's module otherwise.
    module = "app" if IS_CHECKOUT else "traced_curator.command_line"
    cost = cost_of(f"from {module} import app as run", arguments, folder)
    return SelectionCost(
        " ".join(way), cost.processor_seconds, cost.peak_mebibytes, int(cost.answer["kept"])
    )
