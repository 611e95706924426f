"""How long verdicts wait while another classifier is adopted: `python app.py bench --adopt 200000`

On a generated dataset one thread adopts a classifier, one gives verdicts without a pause, and one
opens pairs and compares the classifier that their page names with the probability that it shows.
"""

import random
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count

import numpy as np

from backend.engine.detection.classifier import Calibration, Classifier
from backend.engine.detection.families import BY_THEORY
from backend.engine.detection.features import feature_matrix
from backend.jobs.stored_trajectories import scored_pairs
from backend.progress import Progress, no_progress
from backend.settings import load_settings
from backend.workspace import Workspace
from db.queries import classifiers, runs, trajectories
from db.queries.runs import RunRow
from research.bench.generated_store import generate

#: Pairs that the candidate is trained on.
_TRAINED_ON = 400


@dataclass(frozen=True)
class Adopting:
    """Times in seconds. `switched`: until the new ranking was in use; `whole`: until its suspect
    words were as well. `median_wait`, `longest_wait`: of a verdict, until it was confirmed;
    `median_before`, `longest_before`: the same while nothing was adopted. `mixed`: pages, of those
    `read`, that named one classifier and showed the number of the other."""

    pairs: int
    switched: float
    whole: float
    verdicts: int
    median_wait: float
    longest_wait: float
    median_before: float
    longest_before: float
    read: int
    mixed: int

    def table(self) -> str:
        return (
            f"{self.pairs:,} pairs\n"
            f"new ranking in use after  {self.switched:8.1f} s\n"
            f"suspect words as well     {self.whole:8.1f} s\n"
            f"{self.verdicts} verdicts meanwhile: median wait {1000 * self.median_wait:.0f} ms, "
            f"longest {1000 * self.longest_wait:.0f} ms\n"
            f"without adopting: median {1000 * self.median_before:.0f} ms, "
            f"longest {1000 * self.longest_before:.0f} ms\n"
            f"{self.read} pages read, {self.mixed} with the number of another classifier"
        )


def bench_adopting(pairs: int, url: str | None, progress: Progress = no_progress) -> Adopting:
    """Generate a store (in a temporary folder, or at `url`) and measure it."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace(load_settings({"data_directory": folder, "database": url}))
        try:
            dataset_id = generate(workspace.store, pairs, progress=progress)
            return measure_adopting(workspace, dataset_id, progress)
        finally:
            workspace.store.close()


def measure_adopting(
    workspace: Workspace,
    dataset_id: int,
    progress: Progress = no_progress,
    alone: float = 20.0,
) -> Adopting:
    """Adopt a candidate trained on random labels while others work. `alone`: seconds for which they
    work before."""
    run, total = _run(workspace, dataset_id), workspace.summary(dataset_id).total
    with workspace.store.reading() as session:
        ids = trajectories.draw_scored(session, run.id, dataset_id, total)
    candidate = _candidate(workspace, dataset_id, run, ids)
    pages = _Pages(workspace, random.Random(1).sample(ids, min(50, len(ids))))
    is_done = threading.Event()
    switched: list[float] = []
    began = time.monotonic()

    def adopt() -> None:
        workspace.jobs.adopt(candidate, progress)

    def read() -> None:
        while not is_done.is_set():
            if pages.read() and not switched:
                switched.append(time.monotonic() - began)

    with ThreadPoolExecutor(3) as pool:
        deciding = pool.submit(_decide, workspace, ids, is_done)
        reading = pool.submit(read)
        try:
            time.sleep(alone)
            began = time.monotonic()
            pool.submit(adopt).result()
        finally:
            whole = time.monotonic() - began
            is_done.set()
        given = deciding.result()
        reading.result()
    before = [wait for at, wait in given if at < began] or [0.0]
    waits = [wait for at, wait in given if at >= began] or [0.0]
    return Adopting(
        len(ids), min([*switched, whole]), whole, len(waits),
        float(np.median(waits)), max(waits), float(np.median(before)), max(before),
        pages.count, pages.mixed(),
    )  # fmt: skip


def _run(workspace: Workspace, dataset_id: int) -> RunRow:
    with workspace.store.reading() as session:
        run = runs.latest_run(session, dataset_id, "score")
    assert run is not None
    return run


def _candidate(workspace: Workspace, dataset_id: int, run: RunRow, ids: list[int]) -> int:
    rng = np.random.default_rng(0)
    _, scored = scored_pairs(workspace.store, run, ids[:_TRAINED_ON])
    labels = np.arange(len(scored)) % 2
    model = BY_THEORY.fit(feature_matrix(scored), rng.permutation(labels), np.ones(len(labels)))
    classifier = Classifier(model, Calibration())
    with workspace.store.writing() as session:
        return classifiers.add_classifier(
            session, dataset_id, name="Candidate", kind=classifier.kind, basis="verdicts",
            payload=classifier.to_bytes(), report={"run": run.id, "verdicts": _TRAINED_ON},
        ).id  # fmt: skip


def _decide(
    workspace: Workspace, ids: list[int], is_done: threading.Event
) -> list[tuple[float, float]]:
    """Give verdicts until `is_done` is set; returns start and duration of each, in seconds."""
    rng, waits = random.Random(2), list[tuple[float, float]]()
    for number in count():
        if is_done.is_set():
            return waits
        pair_id = rng.choice(ids)
        version = workspace.review.open_pair(pair_id).version
        began = time.monotonic()
        workspace.review.decide(pair_id, version, "drop" if number % 2 else "correct")
        waits.append((began, time.monotonic() - began))
    raise AssertionError("the numbers never end")


class _Pages:
    """Pages of some pairs, read repeatedly."""

    def __init__(self, workspace: Workspace, ids: list[int]) -> None:
        self._workspace = workspace
        self._ids = ids
        self._before = {pair_id: self._shown(pair_id) for pair_id in ids}
        self._later: dict[int, set[tuple[str, float | None]]] = {}
        self.count = 0

    def read(self) -> bool:
        """Read one page; returns whether it names another classifier than at first."""
        pair_id = self._ids[self.count % len(self._ids)]
        self.count += 1
        shown = self._shown(pair_id)
        self._later.setdefault(pair_id, set()).add(shown)
        return shown[0] != self._before[pair_id][0]

    def mixed(self) -> int:
        """Number of pages that showed neither the state before nor the present one."""
        return sum(
            len(shown - {self._before[pair_id], self._shown(pair_id)})
            for pair_id, shown in self._later.items()
        )

    def _shown(self, pair_id: int) -> tuple[str, float | None]:
        view = self._workspace.review.open_pair(pair_id)
        return view.basis, view.p_error
