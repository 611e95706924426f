"""First steps for all pairs, whole trajectories where people look."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backend.engine.detection.classifier import Calibration, Classifier
from backend.engine.detection.families import EIGHT_SIGNS, S_0, Model, NineSigns
from backend.engine.trajectories.exploring import Exploring
from backend.errors import SettingsError, TrainingError
from backend.jobs.scoring.classifiers import classifier_in_use, steps_needed_by
from backend.jobs.scoring.noisy_copies import STAGE
from backend.jobs.scoring.trajectory_stages import CompleteTrajectories
from backend.workspace import Workspace
from db.queries import pair_queries, trajectory_queries
from tests.checkpoints import drawn_folder, random_clip
from tests.fixtures.interrupting import stop_at
from tests.fixtures.sizes import Sizes
from tests.jobs.opening import OpenWorkspace, opened

COUNT = 16


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_clip(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return drawn_folder(tmp_path_factory.mktemp("data") / "pairs", COUNT, seed=4)


@pytest.fixture(scope="module")
def first_steps(tmp_path_factory: pytest.TempPathFactory, model: Path, folder: Path) -> Path:
    """The data of a workspace that has computed first steps, to copy."""
    path = tmp_path_factory.mktemp("first-steps")
    workspace = opened(path / "state", model=str(model), captioner="none")
    score(workspace, folder, "first-step")
    workspace.store.close()
    return path


@pytest.fixture
def reopened(open_workspace: OpenWorkspace, model: Path) -> OpenWorkspace:
    return partial(open_workspace, model=str(model), captioner="none")


@pytest.fixture
def ranked(reopened: OpenWorkspace, first_steps: Path) -> Workspace:
    """A workspace that has computed first steps."""
    return reopened(copy_of=first_steps)


@pytest.fixture
def workspace(reopened: OpenWorkspace) -> Workspace:
    return reopened()


def score(workspace: Workspace, folder: Path, which: str | None = None, **how: Any) -> Any:
    dataset = workspace.find_or_import(str(folder))
    how = {"suggestions": False, **how}
    return workspace.jobs.score(dataset, trajectories=which, **how)


def stored(workspace: Workspace, run: int) -> dict[int, trajectory_queries.TrajectoryRow]:
    rows = workspace.store.read(trajectory_queries.trajectories_of, run, range(1, COUNT + 1))
    return {pair_id: only for pair_id, (only,) in rows.items()}


def probabilities(workspace: Workspace) -> list[float | None]:
    with workspace.store.reading() as session:
        return [pair_queries.get_pair(session, number).p_error for number in range(1, COUNT + 1)]


def test_first_steps_rank_the_pairs_and_are_completed_in_the_same_run(
    ranked: Workspace, folder: Path
) -> None:
    workspace = ranked
    # The dataset remembers the choice: nothing is left to do.
    report = score(workspace, folder)
    assert (report.scored, report.completed, report.trajectories) == (0, 0, "first-step")
    first = stored(workspace, report.run_id)
    assert not any(row.whole for row in first.values())
    assert {len(row.scores) for row in first.values()} == {2}
    before = probabilities(workspace)
    assert None not in before
    (classifier,) = workspace.jobs.classifiers(1)
    assert classifier.kind in ("eight signs", "s_0 alone")
    view = workspace.review.open_pair(1)
    assert view.opinion.trajectory is not None
    assert not view.opinion.trajectory.whole
    assert view.opinion.reasons is not None
    assert "best gain" not in {reason.sign for reason in view.opinion.reasons.listed}

    whole = score(workspace, folder, "all")
    assert (whole.run_id, whole.scored, whole.completed) == (report.run_id, 0, COUNT)
    later = stored(workspace, report.run_id)
    for number, row in later.items():
        assert row.whole
        assert len(row.scores) == len(row.first_step_scores) + 1
        np.testing.assert_allclose(row.scores[:2], first[number].scores, atol=1e-5)
    # The classifier stays, and reads the first step of whole trajectories too.
    assert probabilities(workspace) == before
    # Another store, scored whole at once, gives the same first steps.
    assert [row.removed[0] for row in later.values()] == [row.removed[0] for row in first.values()]


def test_the_top_of_the_queue_gets_whole_trajectories(ranked: Workspace, folder: Path) -> None:
    report = score(ranked, folder, "top:25%")
    assert report.completed == COUNT // 4
    p_error = probabilities(ranked)
    whole = [number for number, row in stored(ranked, report.run_id).items() if row.whole]
    worst = sorted(range(COUNT), key=lambda i: (-(p_error[i] or 0), i))[: COUNT // 4]
    assert sorted(whole) == sorted(number + 1 for number in worst)
    limit = sorted(p or 0 for p in p_error)[-COUNT // 4 - 3]
    above = sum((p or 0) >= limit for p in p_error)
    assert score(ranked, folder, f"above:{limit}").completed == above - COUNT // 4


def test_a_killed_job_resumes_where_it_stopped(
    workspace: Workspace, folder: Path, sizes: Sizes
) -> None:
    sizes(BATCH=3)
    with pytest.raises(KeyboardInterrupt):
        score(workspace, folder, "top:50%", progress=stop_at(6, CompleteTrajectories.name))
    report = score(workspace, folder)
    assert (report.scored, report.completed, report.trajectories) == (0, 2, "top:50%")


def test_opening_a_pair_computes_its_later_steps(ranked: Workspace) -> None:
    before = ranked.review.open_pair(3)
    assert ranked.review.complete(3)
    after = ranked.review.open_pair(3)
    assert after.opinion.trajectory is not None
    assert after.opinion.trajectory.whole
    assert (after.p_error, after.opinion.suspects) == (before.p_error, before.opinion.suspects)
    assert after.fingerprint == before.fingerprint
    assert not ranked.review.complete(3), "nothing is left to compute"


def test_corrections_are_proposed_from_whole_trajectories(
    ranked: Workspace, folder: Path, sizes: Sizes
) -> None:
    limit = sorted(p or 0 for p in probabilities(ranked))[-2]
    sizes(SUGGEST_ABOVE=limit)
    report = score(ranked, folder, suggestions=True)
    wrong = {n for n, p in enumerate(probabilities(ranked), 1) if (p or 0) >= limit}
    whole = {number for number, row in stored(ranked, report.run_id).items() if row.whole}
    assert wrong == whole
    assert report.completed == len(wrong)


def test_large_datasets_get_first_steps_unless_already_scored(
    reopened: OpenWorkspace, tmp_path: Path, folder: Path, sizes: Sizes
) -> None:
    def trajectories_of(state: str, most: int, detector: str) -> str:
        sizes(FIRST_STEP_ABOVE=most)
        return str(score(reopened(tmp_path / state, detector=detector), folder).trajectories)

    assert trajectories_of("large", COUNT - 1, "best") == "first-step"
    assert trajectories_of("signs", COUNT - 1, "cart") == "all", "as it needs"
    assert trajectories_of("small", COUNT, "best") == "all"
    assert trajectories_of("small", COUNT - 1, "best") == "all", "as before"


def test_detectors_of_later_steps_are_not_trained_or_adopted_without_them(
    reopened: OpenWorkspace, folder: Path
) -> None:
    with pytest.raises(SettingsError, match="needs whole trajectories"):
        score(reopened(detector="nine signs", trajectories="first-step"), folder)
    score(reopened(detector="nine signs"), folder, "all")
    workspace = reopened()
    (earlier,) = workspace.jobs.classifiers(1)
    with workspace.store.writing() as session:  # as if pairs had been added since
        session.connection().exec_driver_sql("UPDATE trajectories SET whole = 0 WHERE pair_id < 9")
    replaced = score(workspace, folder, "first-step").detector
    assert replaced["detector"] in ("eight signs", "s_0 alone"), "only a cold start had chosen it"
    if earlier.kind != "s_0 alone":
        with pytest.raises(TrainingError, match="whole trajectories"):
            workspace.jobs.adopt(earlier.id)


@pytest.mark.parametrize(("detector", "whole"), [("best", True), ("eight signs", False)])
def test_noisy_copies_have_the_steps_that_the_detector_uses(
    reopened: OpenWorkspace, folder: Path, detector: str, whole: bool
) -> None:
    workspace = reopened(detector=detector)
    report = score(workspace, folder, "all")
    assert all(row.whole for row in stored(workspace, report.run_id).values())
    with workspace.store.reading() as session:
        rows = session.connection().exec_driver_sql("SELECT whole FROM copy_trajectories")
        assert {bool(row.whole) for row in rows} == {whole}
    classifier = classifier_in_use(workspace.store, 1)
    assert classifier is not None
    assert classifier.first_step is not whole


def test_a_detector_of_first_steps_is_trained_on_existing_whole_copies(
    reopened: OpenWorkspace, folder: Path
) -> None:
    earlier = reopened(detector="nine signs")
    kind = score(earlier, folder, "all").detector["detector"]
    before = probabilities(earlier)
    copies: list[int] = []

    def note(done: int, total: int, message: str) -> None:
        if message == STAGE:
            copies.append(done)

    workspace = reopened(detector="eight signs")
    report = score(workspace, folder, progress=note)
    assert (report.scored, report.detector["detector"]) == (0, kind)
    assert set(copies) <= {0}, "no copy is computed again"
    assert probabilities(workspace) == before, "the classifier in use stays"
    for number in range(1, 9):
        workspace.review.decide(number, 0, "drop" if number % 2 else "correct")
    workspace.jobs.adopt(workspace.jobs.run("train", 1).classifier_id)
    learnt = classifier_in_use(workspace.store, 1)
    assert learnt is not None
    assert learnt.first_step
    assert None not in probabilities(workspace)


def test_an_estimate_distinguishes_first_steps_from_whole_trajectories(
    reopened: OpenWorkspace, ranked: Workspace, folder: Path, tmp_path: Path
) -> None:
    workspace = reopened(tmp_path / "new")
    dataset = workspace.find_or_import(str(folder))
    planned = workspace.jobs.estimate(dataset, suggestions=False, trajectories="top:50%")
    assert (planned.trajectories, planned.whole) == ("top:50%", COUNT // 2)
    assert 0 < planned.whole_seconds < planned.seconds
    rest = ranked.jobs.estimate(dataset, suggestions=False, trajectories="all")
    assert (rest.pairs, rest.whole) == (0, COUNT)
    assert rest.whole_seconds > 0


@pytest.mark.parametrize("kind", ["s_0 alone", "eight signs", "nine signs"])
def test_later_steps_are_left_out_only_if_the_probability_does_not_depend_on_them(
    kind: str,
) -> None:
    models: dict[str, Model] = {
        "s_0 alone": S_0, "eight signs": EIGHT_SIGNS, "nine signs": NineSigns(),
    }  # fmt: skip
    whole = Classifier(models[kind], Calibration())
    exploring = Exploring(lazy=2)
    assert steps_needed_by(None, exploring) == exploring
    needs = kind == "nine signs"
    assert steps_needed_by(whole, exploring) == replace(exploring, whole=needs)
    assert steps_needed_by(whole, exploring, words=True) == exploring, "suspect words do"
    short = replace(whole, first_step=True)
    assert steps_needed_by(short, exploring, words=True) == replace(exploring, whole=False)
