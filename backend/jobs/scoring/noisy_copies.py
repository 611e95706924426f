"""Trajectories of captions that are not in the dataset: noisy copies for training.

Copies belong to images of the dataset, so an image is opened and encoded once for all of its
captions in a batch. Each batch is committed: after a kill the same command resumes, and retraining
reuses what the cold start has computed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from backend.engine.expectation import Expectation
from backend.engine.trajectories.exploring import Exploring
from backend.engine.trajectories.trajectory import Trajectory
from backend.errors import ImageError
from backend.jobs.scoring.image_batches import encode_opened, readable
from backend.jobs.scoring.stored_rows import expectation_row, to_row, to_trajectory
from backend.jobs.scoring.workers import Opened, Workers
from backend.loaded_models import Engine
from backend.progress import Progress, no_progress
from backend.store import Store
from db.queries import trajectory_queries
from db.queries.trajectory_queries import Copy

#: What it reports as progress.
STAGE = "Scoring injected errors"
#: Captions scored and committed together on a CPU.
BATCH: int = 48


class _Request(NamedTuple):
    """A copy whose trajectory, captioner's expectation or both are missing."""

    copy: Copy
    image_path: str
    lacks_trajectory: bool
    lacks_expectation: bool


@dataclass(frozen=True)
class _NewResults:
    """The missing results of a batch of copies; no expectations without a captioner."""

    trajectories: dict[Copy, Trajectory]
    expectations: dict[Copy, Expectation]


class TrajectoryCache:
    """Scores captions against the images of pairs, addressed by position; results are stored."""

    def __init__(
        self,
        store: Store,
        run_id: int,
        workers: Workers,
        pairs: Sequence[tuple[int, str]],
        exploring: Exploring,
        progress: Progress = no_progress,
    ) -> None:
        """`pairs`: (id, image path); `run_id`: the run that computed their trajectories;
        `exploring`: how it did, or with `whole` False if first steps are enough."""
        self._store, self._run_id = store, run_id
        self._exploring = exploring
        self._workers = workers
        self._progress = progress
        self._keys = [key for key, _ in pairs]
        self._names = [name for _, name in pairs]

    def score(self, requests: Sequence[tuple[int, str]]) -> list[Trajectory]:
        """One trajectory per (pair position, caption), in order.

        Raises ImageError, with the image's name, if one has become unreadable since the pairs were
        scored.
        """
        copies = [(self._keys[at], text) for at, text in requests]
        trajectory_of: dict[Copy, Trajectory] = {}
        task = partial(score_copies, exploring=self._exploring)
        self._progress(0, len(requests), STAGE)
        lacking = self._lacking(requests, copies, trajectory_of)
        for _, scored_copies in self._workers.map(task, lacking):
            trajectory_of |= scored_copies.trajectories
            for copy, expectation in scored_copies.expectations.items():
                trajectory_of[copy] = replace(trajectory_of[copy], expectation=expectation)
            self._save(scored_copies)
            self._progress(sum(copy in trajectory_of for copy in copies), len(requests), STAGE)
        return [trajectory_of[copy] for copy in copies]

    def _lacking(
        self,
        requests: Sequence[tuple[int, str]],
        copies: Sequence[Copy],
        trajectory_of: dict[Copy, Trajectory],
    ) -> Iterator[list[_Request]]:
        """Batches of the copies that the store lacks; what it has is added to `trajectory_of`."""
        captioner = self._workers.engine.captioner
        earlier_copies: set[Copy] = set()
        size = self._workers.batch_size(BATCH)
        for first in range(0, len(requests), size):
            positions = {
                copy: at
                for copy, (at, _) in zip(
                    copies[first : first + size], requests[first : first + size], strict=True
                )
                if copy not in earlier_copies
            }
            earlier_copies |= positions.keys()
            stored_copies = self._store.read(
                trajectory_queries.copies_of, self._run_id, list(positions)
            )
            trajectory_of |= {
                copy: to_trajectory(copy[1], row)
                for copy, row in stored_copies.items()
                if row.whole or not self._exploring.whole
            }
            batch = []
            for copy, at in positions.items():
                trajectory = trajectory_of.get(copy)
                expectation = trajectory.expectation if trajectory is not None else None
                reader = expectation.captioner if expectation is not None else ""
                lacks_expectation = captioner is not None and reader != captioner.identity
                if trajectory is None or lacks_expectation:
                    name = self._names[at]
                    batch.append(_Request(copy, name, trajectory is None, lacks_expectation))
            if batch:
                yield batch

    def _save(self, scored_copies: _NewResults) -> None:
        texts = [text for _, text in scored_copies.trajectories]
        rows = [
            to_row(key, trajectory) for (key, _), trajectory in scored_copies.trajectories.items()
        ]
        expectation_rows = {
            (key, trajectory_queries.digest(text)): expectation_row(expectation, alternatives=False)
            for (key, text), expectation in scored_copies.expectations.items()
        }
        with self._store.writing() as session:
            trajectory_queries.save_copies(session, self._run_id, texts, rows)
            trajectory_queries.save_copy_expectations(session, self._run_id, expectation_rows)


def score_copies(
    engine: Engine, batch: Sequence[_Request], pictures: Opened, exploring: Exploring
) -> _NewResults:
    """Compute the missing results of these copies. They need expectations by the same captioner as
    the dataset's own captions. Raises ImageError."""
    for name, image in pictures.items():
        if isinstance(image, str):
            raise ImageError(f"{name}: {image}")
    lacking = [request for request in batch if request.lacks_trajectory]
    names = dict.fromkeys(request.image_path for request in lacking)
    states, _ = encode_opened(engine, {name: pictures[name] for name in names})
    trajectories = engine.trajectories(
        [(states[request.image_path], request.copy[1]) for request in lacking],
        [request.copy[0] for request in lacking],
        exploring,
    )
    unread = [
        (request.copy, image)
        for request, image in readable(batch, pictures)
        if request.lacks_expectation
    ]
    expectations = engine.expectations([(image, text) for (_, text), image in unread])
    return _NewResults(
        {
            request.copy: trajectory
            for request, trajectory in zip(lacking, trajectories, strict=True)
        },
        {copy: expectation for (copy, _), expectation in zip(unread, expectations, strict=True)},
    )
