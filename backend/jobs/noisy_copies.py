"""Trajectories of captions that are not in the dataset: noisy copies for training.

Copies belong to images of the dataset, so an image is opened and encoded once for all of its
captions in a batch. Each batch is committed: after a kill the same command resumes, and retraining
reuses what the cold start has computed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from backend.engine.expectation import Expectation
from backend.engine.trajectories.exploring import Exploring
from backend.engine.trajectories.trajectory import Trajectory
from backend.errors import ImageError
from backend.jobs.image_batches import encode_images, open_picture
from backend.jobs.stored_expectations import to_row as expectation_row
from backend.jobs.stored_trajectories import to_row, to_trajectory
from backend.loaded_models import Engine
from backend.store import Store
from db.queries import copy_trajectories as copy_queries
from db.queries import expectations as expectation_queries
from db.queries.copy_trajectories import Copy

#: Captions scored per batch.
BATCH = 48


class TrajectoryCache:
    """Scores captions against the images of pairs, addressed by position; results are stored."""

    def __init__(
        self,
        store: Store,
        run_id: int,
        engine: Engine,
        root: Path,
        pairs: Sequence[tuple[int, str]],
        exploring: Exploring,
    ) -> None:
        """`pairs`: (id, image path); `run_id`: the run that computed their trajectories;
        `exploring`: how it did, or with `whole` False if first steps are enough."""
        self._store, self._run_id = store, run_id
        self._exploring = exploring
        self._engine = engine
        self._root = root
        self._keys = [key for key, _ in pairs]
        self._names = [name for _, name in pairs]

    def score(self, requests: Sequence[tuple[int, str]]) -> list[Trajectory]:
        """One trajectory per (pair position, caption), in order.

        Raises ImageError, with the image's name, if one has become unreadable since the pairs were
        scored.
        """
        trajectories: list[Trajectory] = []
        for first in range(0, len(requests), BATCH):
            batch = [(self._keys[at], text, at) for at, text in requests[first : first + BATCH]]
            copies = [(key, text) for key, text, _ in batch]
            with self._store.reading() as session:
                kept = copy_queries.copies_of(session, self._run_id, copies)
            known = {
                copy: to_trajectory(copy[1], row)
                for copy, row in kept.items()
                if row.whole or not self._exploring.whole
            }
            missing = {(key, text): at for key, text, at in batch if (key, text) not in known}
            known |= self._computed(missing)
            known |= self._read({(key, text): at for key, text, at in batch}, known)
            trajectories += [known[copy] for copy in copies]
        return trajectories

    def _computed(self, missing: Mapping[Copy, int]) -> dict[Copy, Trajectory]:
        """Compute and store trajectories of copies that the store does not have; `missing` maps
        each copy to the position of its pair."""
        if not missing:
            return {}
        copies = list(missing)
        names = [self._names[position] for position in missing.values()]
        states, problems = encode_images(self._engine, self._root, names)
        if problems:
            name, message = next(iter(problems.items()))
            raise ImageError(f"{name}: {message}")
        computed = self._engine.trajectories(
            [(states[name], text) for name, (_, text) in zip(names, copies, strict=True)],
            [key for key, _ in copies],
            self._exploring,
        )
        rows = [
            to_row(key, trajectory) for (key, _), trajectory in zip(copies, computed, strict=True)
        ]
        with self._store.writing() as session:
            copy_queries.save_copies(session, self._run_id, [text for _, text in copies], rows)
        return dict(zip(copies, computed, strict=True))

    def _read(
        self, positions: Mapping[Copy, int], known: Mapping[Copy, Trajectory]
    ) -> dict[Copy, Trajectory]:
        """Compute and store the missing expectations of this session's captioner. The copies need
        those of the same captioner as the dataset's own captions."""
        captioner = self._engine.captioner
        if captioner is None:
            return {}
        unread = [
            copy for copy in positions if _reader_of(known[copy].expectation) != captioner.identity
        ]
        names = {copy: self._names[positions[copy]] for copy in unread}
        opened = {name: open_picture(self._root, name) for name in dict.fromkeys(names.values())}
        if broken := [(n, reason) for n, reason in opened.items() if isinstance(reason, str)]:
            raise ImageError(f"{broken[0][0]}: {broken[0][1]}")
        computed = self._engine.expectations([(opened[names[copy]], copy[1]) for copy in unread])  # type: ignore[misc]  # pictures, as just checked
        rows = {
            (key, copy_queries.digest(text)): expectation_row(expectation, alternatives=False)
            for (key, text), expectation in zip(unread, computed, strict=True)
        }
        with self._store.writing() as session:
            expectation_queries.save_copy_expectations(session, self._run_id, rows)
        return {
            copy: replace(known[copy], expectation=expectation)
            for copy, expectation in zip(unread, computed, strict=True)
        }


def _reader_of(expectation: Expectation | None) -> str:
    return expectation.captioner if expectation is not None else ""
