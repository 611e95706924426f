"""Stages of scoring a dataset: what each still has to do, doing it, and what a unit of it costs,
measured on a few pairs of the dataset itself.

What remains is read from the store, so that a job that was killed resumes. Progress, time left and
estimate come from the list of stages alone (`score_dataset.stages_of`).
"""

import random
import time
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from PIL import Image

from backend.engine.claims.claim import without_repetitions
from backend.engine.claims.division import Division
from backend.engine.constants.part import ConstantPart
from backend.engine.correction import judge
from backend.engine.correction.suggestion import CorrectionContext
from backend.engine.familiarity import Familiarity
from backend.engine.trajectories.depth import Depth
from backend.engine.trajectories.trajectory import Trajectory
from backend.errors import ImageError, SettingsError
from backend.jobs.scoring.classifiers import suspects_by
from backend.jobs.scoring.image_batches import encode_opened, open_pictures
from backend.jobs.scoring.known_pictures import UNKNOWN
from backend.jobs.scoring.stored_rows import to_row
from backend.jobs.scoring.workers import Task, Workers
from backend.loaded_models import Engine
from backend.progress import Progress
from backend.store import Store
from db.queries import dataset_queries, pair_queries, trajectory_queries
from db.queries.pair_queries import PairRow
from db.queries.run_queries import RunRow

#: Number of pairs to measure.
PAIRS = 20
#: Overhead of a database row in bytes, beyond its arrays: numbers, keys, headers, index entries.
_ROW = 200


@dataclass(frozen=True)
class SampleMeasurement:
    """Trajectories of the sample's pairs, and the seconds that one of them took."""

    trajectories: Sequence[Trajectory]
    seconds: float


class Sample:
    """Pairs whose pictures can be read, with their claims; each measurement is made once, and gives
    seconds a pair. `claims`: (index of the pair, text that the models are asked about)."""

    def __init__(
        self,
        engine: Engine,
        root: Path,
        pairs: Sequence[PairRow],
        division: Division,
        constants: Sequence[ConstantPart] = (),
    ) -> None:
        """Raises ImageError if no picture is readable."""
        self._engine = engine
        began = time.monotonic()
        pictures = open_pictures(root, [pair.image_path for pair in pairs])
        states, problems = encode_opened(engine, pictures)
        self.pairs = [pair for pair in pairs if pair.image_path in states]
        if not self.pairs:
            name, why = next(iter(problems.items()))
            raise ImageError(f"{name}: {why}")
        images = {name: image for name, image in pictures.items() if isinstance(image, Image.Image)}
        self.images = [images[pair.image_path] for pair in self.pairs]
        self.states = [states[pair.image_path] for pair in self.pairs]
        self.captions = [pair.caption for pair in self.pairs]
        self.claims = [
            (index, claim.question(caption))
            for index, caption in enumerate(self.captions)
            for claim in without_repetitions(engine.claims(caption, division, constants))
        ]
        self.vectors = engine.image_embeddings(self.states)
        self._opening = (time.monotonic() - began) / len(self.pairs)
        self._measured: dict[bool, SampleMeasurement] = {}

    def seconds(self, work: Callable[[], Any]) -> float:
        """What `work` on all pairs takes for each."""
        began = time.monotonic()
        work()
        return (time.monotonic() - began) / len(self.pairs)

    def trajectories(self, whole: bool) -> SampleMeasurement:
        """Opening and encoding the pictures included; `whole`: or first steps."""
        if whole not in self._measured:
            trajectories: list[Trajectory] = []
            pairs = [(self.states[index], text) for index, text in self.claims]
            keys = [self.pairs[index].id for index, _ in self.claims]
            exploring = replace(self._engine.exploring, whole=whole)
            seconds = self.seconds(
                lambda: trajectories.extend(self._engine.trajectories(pairs, keys, exploring))
            )
            self._measured[whole] = SampleMeasurement(trajectories, self._opening + seconds)
        return self._measured[whole]

    @cached_property
    def captioner_seconds(self) -> float:
        if self._engine.captioner is None:
            return 0.0
        pairs = [(self.images[index], text) for index, text in self.claims]
        return self.seconds(lambda: self._engine.expectations(pairs))

    @property
    def claims_each(self) -> float:
        """Claims of a caption."""
        return len(self.claims) / len(self.pairs)

    @property
    def stored_bytes(self) -> float:
        """What a pair's first trajectories take in the database."""
        measurement = next(iter(self._measured.values()))
        sizes = [
            len(value)
            for trajectory in measurement.trajectories
            for value in trajectory_queries.pack_row(to_row(0, trajectory)).values()
            if isinstance(value, bytes)
        ]
        return _ROW * self.claims_each + sum(sizes) / len(self.pairs)

    def correction_seconds(self, together: int, judged_ahead: int) -> float:
        """Of the `together` claims that gain most by a deletion. The probabilities that are
        computed ahead cost a trajectory each."""
        engine, measurement = self._engine, self.trajectories(True)
        gains = [
            max(trajectory.deletion_gains, default=0.0) for trajectory in measurement.trajectories
        ]
        positions = sorted(range(len(gains)), key=lambda at: -gains[at])[:together]
        seconds = 0.0
        for part in (positions[:1], positions):  # the first run warms the model up
            began = time.monotonic()
            of_pair = [self.claims[at][0] for at in part]
            with engine.lock:
                states = engine.encode([self.images[index] for index in of_pair])
                contexts = [
                    CorrectionContext(
                        self.images[index],
                        engine.scorer.of_pair(state, self.pairs[index].id),
                        measurement.trajectories[at],
                        suspects_by(None, measurement.trajectories[at], None),
                        None,
                    )
                    for at, index, state in zip(part, of_pair, states, strict=True)
                ]
                judge.suggest_all(engine.scorer, contexts, engine.captioner)
            seconds = (time.monotonic() - began) / len(part)
        return seconds + judged_ahead * measurement.seconds / self.claims_each


@dataclass
class Scoring:
    """What the stages of one job share. `total`: pairs of the dataset. `run`: None if there is none
    yet, and for an estimate none is made. `suggestions`: whether corrections are prepared; `anew`:
    see `detect`; `familiarity`: the test for pictures that the model knows, None: it knows all;
    `division`: how captions are divided into claims; `constants`: their constant parts;
    `claims_each`: how many claims a caption has, of a sample."""

    store: Store
    engine: Engine
    dataset_id: int
    root: Path
    total: int
    depth: Depth
    run: RunRow | None
    workers: Workers
    suggestions: bool = True
    anew: bool = False
    familiarity: Familiarity | None = None
    division: Division = "whole"
    constants: tuple[ConstantPart, ...] = ()
    claims_each: float = 1.0

    @property
    def run_id(self) -> int:
        """0: there is no run yet."""
        return self.run.id if self.run is not None else 0

    @property
    def this_run(self) -> RunRow:
        assert self.run is not None, "stages run within a run"
        return self.run


class Stage(ABC):
    """One stage of scoring.

    * `name`: what it reports as progress; `part`: the field of an `Estimate` that covers it;
    * `usual_cost`: what a unit takes, relative to the trajectory of a pair, where it is not worth
      measuring;
    * `is_shared`: several processes divide it (`workers.py`).
    """

    name: ClassVar[str]
    part: ClassVar[str]
    usual_cost: ClassVar[float] = 1.0
    is_shared: ClassVar[bool] = True

    def __init__(self, scoring: Scoring) -> None:
        self.scoring = scoring
        #: Then earlier stages are done, and `remaining` is exact.
        self.has_begun = False

    @abstractmethod
    def remaining(self) -> int:
        """Units of work (pairs, or noisy copies) that the store still lacks; an estimate where they
        depend on an earlier stage."""

    def total(self) -> int:
        """Units in all, those done by earlier jobs included."""
        return self.scoring.total

    @abstractmethod
    def seconds(self, sample: Sample) -> float:
        """What a unit takes, measured on a sample of pairs."""

    def undivided_seconds(self) -> float:
        """What it takes besides its units, in one process."""
        return 0.0

    def run(self, progress: Progress) -> None:
        """Do what remains, and commit it bit by bit."""
        self.has_begun = True
        self.do(progress)

    @abstractmethod
    def do(self, progress: Progress) -> None:
        """`run`, without its bookkeeping."""


class BatchStage(Stage):
    """A stage whose units are computed and committed in batches."""

    @abstractmethod
    def batches(self) -> Iterator[Sequence[Any]]:
        """What remains, in batches that are computed and committed together."""

    @abstractmethod
    def task(self) -> Task[Any, Any]:
        """Computes a batch, in this or in another process."""

    def compute(self) -> Iterator[tuple[Sequence[Any], Any]]:
        """Each batch with its result, in the order in which they are finished."""
        return self.scoring.workers.map(self.task(), self.batches())

    @abstractmethod
    def save(self, batch: Sequence[Any], result: Any) -> None:
        """Store a batch's result; after that, a kill no longer loses it."""

    def do(self, progress: Progress) -> None:
        remaining, total, done = self.remaining(), self.total(), 0
        if remaining:  # the first batch may take minutes
            progress(max(0, total - remaining), total, self.name)
        for batch, result in self.compute():
            self.save(batch, result)
            done += len(batch)
            progress(min(max(0, total - remaining) + done, total), total, self.name)


def pairs_of_dataset(scoring: Scoring, size: int) -> Iterator[Sequence[PairRow]]:
    """All pairs with a caption, in import order, at most `size` at a time."""
    batches = scoring.store.batches(
        lambda session, after: pair_queries.pairs_after(session, scoring.dataset_id, after, size)
    )
    return ([pair for pair in batch if pair.caption] for batch in batches)


class TextStage(BatchStage):
    """A stage that reads captions only: no picture is opened, and the calling process computes."""

    part = "texts_seconds"
    usual_cost = 0.04
    is_shared = False

    def compute(self) -> Iterator[tuple[Sequence[Any], Any]]:
        task = self.task()
        return ((batch, task(self.scoring.engine, batch, {})) for batch in self.batches())


def pairs_to_measure(scoring: Scoring, anyway: bool) -> tuple[int, list[PairRow]]:
    """How many pairs will be scored, and those to measure: some of them, or of those with only
    first steps. `anyway`: those whose picture the model does not know, too. Raises SettingsError if
    there are none."""
    dataset_id, run_id = scoring.dataset_id, scoring.run_id
    with scoring.store.reading() as session:
        left_out = dataset_queries.files_with_problem(session, dataset_id, UNKNOWN)
        waiting = pair_queries.unscored_by_image(session, dataset_id, run_id)
        unscored_ids = array("q", (i for i, name in waiting if anyway or name not in left_out))
        candidates = unscored_ids
        if scoring.depth.is_whole and not unscored_ids:
            lacking = trajectory_queries.lacking_steps(session, run_id, dataset_id)
            candidates = array("q", (i for i, _ in lacking))
        if not candidates:
            raise SettingsError("All pairs of this dataset are scored with this model already.")
        sample = random.Random(0).sample(candidates, min(PAIRS, len(candidates)))
        return len(unscored_ids), pair_queries.pairs_of(session, sample)
