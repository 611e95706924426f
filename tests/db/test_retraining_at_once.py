"""Concurrent scoring, retraining, adoption and verdicts: displayed probabilities always come from
the classifier in use, and no request is refused."""

import random
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy.engine import make_url

from backend.engine.detection.features import feature_matrix
from backend.jobs import retrain
from backend.jobs.scoring import detect
from backend.jobs.scoring.classifiers import classifier_in_use
from backend.jobs.scoring.stored_rows import scored_batches
from backend.settings import MODELS, load_settings
from backend.workspace import Workspace
from research.scenes import demo
from tests.fixtures.interrupting import stop_at
from tests.fixtures.sizes import Sizes
from tests.fixtures.small_cold_start import small_cold_start
from tests.fixtures.stores import fresh_database
from tests.jobs.opening import pairs_of, scoring_of

__all__ = ["small_cold_start"]  # used by every test

#: Pairs that are scored first; the others are added later.
FIRST, ALL = 16, 21
#: How many of the first pairs have a verdict.
JUDGED = 10
#: How often each thread repeats its work.
ROUNDS = 6


@dataclass(frozen=True)
class Prepared:
    """A scored dataset with verdicts and a candidate, and pairs in its `source` that are not yet
    imported. Tests change copies of the `state` and of the database."""

    source: Path
    state: Path
    url: str


def opened(state: Path, url: str) -> Workspace:
    return Workspace(
        load_settings(
            {
                "data_directory": str(state), "database": url, "author": "Ada",
                "model": str(MODELS / "scenes-clip"), "detector": "nine signs",
            },
            {},
        )
    )  # fmt: skip


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def prepared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Prepared]:
    folder = tmp_path_factory.mktemp("prepared")
    source, state = folder / "pairs", folder / "state"
    with ExitStack() as databases:
        if request.param == "sqlite":
            url = f"sqlite:///{state}/traced.db"
        else:
            server = request.getfixturevalue("postgresql_server")
            url = databases.enter_context(fresh_database(server))
        demo.write(source, ALL, 0, 96, seed=8)
        table = source / "metadata.jsonl"
        lines = table.read_text("utf-8").splitlines(keepends=True)
        table.write_text("".join(lines[:FIRST]), "utf-8")
        workspace = opened(state, url)
        dataset = workspace.jobs.import_dataset(source).dataset_id
        workspace.jobs.score(dataset, suggestions=False)
        for number, pair_id in enumerate(pair_ids(workspace)[:JUDGED]):
            workspace.review.decide(pair_id, 0, "drop" if number % 2 else "correct")
        workspace.jobs.run("train", dataset)
        workspace.store.close()
        table.write_text("".join(lines), "utf-8")
        yield Prepared(source, state, url)


@pytest.fixture
def workspace(
    request: pytest.FixtureRequest, prepared: Prepared, tmp_path: Path
) -> Iterator[Workspace]:
    """A copy of what was prepared, which the test may change."""
    state = tmp_path / "state"
    shutil.copytree(prepared.state, state)
    with ExitStack() as databases:
        url = f"sqlite:///{state}/traced.db"
        if not prepared.url.startswith("sqlite"):
            server = request.getfixturevalue("postgresql_server")
            template = make_url(prepared.url).database or ""
            url = databases.enter_context(fresh_database(server, template))
        workspace = opened(state, url)
        yield workspace
        workspace.store.close()


def pair_ids(workspace: Workspace) -> list[int]:
    return [pair.id for pair in pairs_of(workspace)]


def check_shown(workspace: Workspace, scored: int) -> None:
    """Check that every pair has the probability given by the classifier in use."""
    classifier = classifier_in_use(workspace.store, 1)
    assert classifier is not None
    assert [classifier.active for classifier in workspace.jobs.classifiers(1)].count(True) == 1
    ((listed, captions),) = scored_batches(workspace.store, scoring_of(workspace))
    trajectories = [caption.claims[0].trajectory for caption in captions]
    assert len(listed) == scored
    shown = np.array([pair.p_error for pair in listed], float)
    np.testing.assert_allclose(shown, classifier.predict(feature_matrix(trajectories)), atol=1e-6)


@pytest.mark.parametrize("adopts", [False, True], ids=["score", "adopt"])
def test_adoption_and_scoring_at_once_end_with_one_classifier(
    workspace: Workspace, prepared: Prepared, monkeypatch: pytest.MonkeyPatch, adopts: bool
) -> None:
    """Either comes between the other's computation and its writing."""
    candidate = workspace.jobs.classifiers(1)[0].id
    workspace.jobs.import_dataset(prepared.source)
    acts: list[Callable[[], Any]] = [
        lambda: workspace.jobs.score(1, suggestions=False),
        lambda: workspace.jobs.adopt(candidate),
    ]
    module, name = (retrain, "rank_pairs") if adopts else (detect, "judge_captions")
    compute, between = getattr(module, name), iter([acts[not adopts]])

    def compute_and_be_overtaken(*given: Any, **named: Any) -> Any:
        computed = compute(*given, **named)
        if (other := next(between, None)) is not None:
            other()
        return computed

    monkeypatch.setattr(module, name, compute_and_be_overtaken)
    acts[adopts]()
    assert workspace.jobs.classifiers(1)[0].active
    check_shown(workspace, ALL)


@pytest.fixture
def small_steps(sizes: Sizes) -> None:
    """Rankings are written three pairs at a time."""
    sizes(FIRST=3, MOST=3, FEWEST=3)


Shown = set[tuple[str, int, float | None]]


def shown(workspace: Workspace) -> Shown:
    """The classifier, the pair and its probability as shown on the pages of all pairs."""
    opened = [workspace.review.open_pair(pair_id) for pair_id in pair_ids(workspace)]
    return {(view.opinion.basis, view.pair_id, view.p_error) for view in opened}


def test_pages_never_mix_rankings_and_verdicts_are_possible_meanwhile(
    workspace: Workspace, small_steps: None
) -> None:
    candidate, waiting = workspace.jobs.classifiers(1)[0].id, iter(pair_ids(workspace)[JUDGED:])
    before, seen, is_done = shown(workspace), Shown(), threading.Event()

    def read() -> None:
        while True:
            seen.update(shown(workspace))
            if is_done.is_set():
                return

    def decide(done: int, total: int, message: str) -> None:
        if message == "Ranking" and (pair_id := next(waiting, None)) is not None:
            workspace.review.decide(pair_id, 0, "drop", author="Ben")
            assert shown(workspace) == before

    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read)
        try:
            workspace.jobs.adopt(candidate, decide)
        finally:
            is_done.set()
        reading.result()
    after = shown(workspace)
    assert {basis for basis, _, _ in before}.isdisjoint(basis for basis, _, _ in after)
    assert seen <= before | after
    assert next(waiting, None) is None, "a verdict after each of the steps"
    check_shown(workspace, FIRST)


def test_an_interrupted_adoption_resumes(workspace: Workspace, small_steps: None) -> None:
    candidate, before = workspace.jobs.classifiers(1)[0].id, shown(workspace)
    with pytest.raises(KeyboardInterrupt):
        workspace.jobs.adopt(candidate, stop_at(6))
    assert shown(workspace) == before
    totals: list[int] = []
    workspace.jobs.adopt(
        candidate, lambda _, total, message: totals.append(total) if message == "Ranking" else None
    )
    assert set(totals) == {FIRST - 6}, "what was written is not written again"
    check_shown(workspace, FIRST)


@pytest.mark.nightly
def test_concurrent_verdicts_undo_training_and_adoption(workspace: Workspace) -> None:
    """In eight threads. On PostgreSQL transactions that write many pairs could deadlock, and one of
    them would be refused."""
    ids, first = pair_ids(workspace), workspace.jobs.classifiers(1)
    ready = threading.Barrier(8)

    def judge(author: str) -> None:
        rng = random.Random(author)
        ready.wait()
        for _ in range(ROUNDS):
            chosen = rng.sample(ids[JUDGED:], FIRST - JUDGED)  # in the order of the clicks
            seen = [(pair, workspace.review.open_pair(pair).verdict.version) for pair in chosen]
            workspace.review.decide_many(seen, rng.choice(["drop", "correct"]), author=author)
            if rng.random() < 0.4:
                workspace.review.undo(1, author=author)

    def adopt(turn: int) -> None:
        ready.wait()
        for number in range(ROUNDS):
            workspace.jobs.adopt(first[(turn + number) % 2].id)

    def train() -> None:
        ready.wait()
        workspace.jobs.run("train", 1)

    with ThreadPoolExecutor(8) as pool:
        work = [pool.submit(judge, f"curator {number}") for number in range(4)]
        work += [pool.submit(adopt, turn) for turn in range(2)]
        work += [pool.submit(train) for _ in range(2)]
        for task in work:
            task.result()
    names = [classifier.name for classifier in workspace.jobs.classifiers(1)]
    assert len(names) == len(set(names)) == 4
    check_shown(workspace, FIRST)
    decided = sum(pair.decision is not None for pair in pairs_of(workspace))
    assert workspace.review.counts(1).reviewed == decided
