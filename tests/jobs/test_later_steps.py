"""First steps for all pairs, whole trajectories where people look."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backend.engine.detection.classifier import Calibration, Classifier
from backend.engine.detection.families import EIGHT_SIGNS, S_0, Model, NineSigns
from backend.engine.trajectories.exploring import Exploring
from backend.errors import SettingsError, TrainingError
from backend.jobs.classifiers import classifier_in_use, steps_needed_by
from backend.jobs.noisy_copies import STAGE
from backend.jobs.trajectory_stages import Whole
from backend.settings import load_settings
from backend.workspace import Workspace
from db.queries import classifier_queries, pairs, trajectories
from tests.checkpoints import drawn_folder, random_clip
from tests.fixtures.interrupting import stop_at
from tests.fixtures.sizes import Sizes

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
    opened = reopened(path, model)
    score(opened, folder, "first-step")
    opened.store.close()
    return path


@pytest.fixture
def ranked(first_steps: Path, tmp_path: Path, model: Path) -> Iterator[Workspace]:
    """A workspace that has computed first steps."""
    shutil.copytree(first_steps / "state", tmp_path / "state")
    opened = reopened(tmp_path, model)
    yield opened
    opened.store.close()


@pytest.fixture
def workspace(tmp_path: Path, model: Path) -> Iterator[Workspace]:
    opened = reopened(tmp_path, model)
    yield opened
    opened.store.close()


def reopened(path: Path, model: Path, **settings: object) -> Workspace:
    given = {"data_directory": str(path / "state"), "model": str(model), "captioner": "none"}
    return Workspace(load_settings({**given, **settings}, {}))


def score(workspace: Workspace, folder: Path, which: str | None = None, **how: Any) -> Any:
    dataset = workspace.find_or_import(str(folder))
    how = {"suggestions": False, **how}
    return workspace.jobs.score(dataset, trajectories=which, **how)


def stored(workspace: Workspace, run: int) -> dict[int, trajectories.TrajectoryRow]:
    with workspace.store.reading() as session:
        return trajectories.trajectories_of(session, run, range(1, COUNT + 1))


def probabilities(workspace: Workspace) -> list[float | None]:
    with workspace.store.reading() as session:
        return [pairs.get_pair(session, number).p_error for number in range(1, COUNT + 1)]


def test_first_steps_rank_the_pairs_and_are_completed_in_the_same_run(
    workspace: Workspace, folder: Path
) -> None:
    report = score(workspace, folder, "first-step")
    assert (report.scored, report.completed, report.trajectories) == (COUNT, 0, "first-step")
    first = stored(workspace, report.run_id)
    assert not any(row.whole for row in first.values())
    assert {len(row.scores) for row in first.values()} == {2}
    ranked = probabilities(workspace)
    assert None not in ranked
    assert report.detector["detector"] in ("eight signs", "s_0 alone")
    view = workspace.review.open_pair(1)
    assert view.trajectory is not None
    assert not view.trajectory.whole
    assert view.reasons is not None
    assert "best gain" not in {reason.sign for reason in view.reasons.listed}

    # The dataset remembers the choice: nothing is left to do.
    again = score(workspace, folder)
    assert (again.scored, again.completed, again.trajectories) == (0, 0, "first-step")

    whole = score(workspace, folder, "all")
    assert (whole.run_id, whole.scored, whole.completed) == (report.run_id, 0, COUNT)
    later = stored(workspace, report.run_id)
    for number, row in later.items():
        assert row.whole
        assert len(row.scores) == len(row.first_step_scores) + 1
        np.testing.assert_allclose(row.scores[:2], first[number].scores, atol=1e-5)
    # The classifier stays, and reads the first step of whole trajectories too.
    assert probabilities(workspace) == ranked
    # Another store, scored whole at once, gives the same first steps.
    assert [row.removed[0] for row in later.values()] == [row.removed[0] for row in first.values()]


def test_the_top_of_the_queue_gets_whole_trajectories(workspace: Workspace, folder: Path) -> None:
    report = score(workspace, folder, "top:25%")
    assert report.completed == COUNT // 4
    p_error = probabilities(workspace)
    whole = [number for number, row in stored(workspace, report.run_id).items() if row.whole]
    worst = sorted(range(COUNT), key=lambda i: (-(p_error[i] or 0), i))[: COUNT // 4]
    assert sorted(whole) == sorted(number + 1 for number in worst)
    limit = sorted(p or 0 for p in p_error)[-COUNT // 4 - 3]
    above = sum((p or 0) >= limit for p in p_error)
    assert score(workspace, folder, f"above:{limit}").completed == above - COUNT // 4


def test_a_killed_job_resumes_where_it_stopped(
    workspace: Workspace, folder: Path, sizes: Sizes
) -> None:
    sizes(BATCH=3)
    with pytest.raises(KeyboardInterrupt):
        score(workspace, folder, "top:50%", progress=stop_at(6, Whole.name))
    report = score(workspace, folder)
    assert (report.scored, report.completed, report.trajectories) == (0, 2, "top:50%")


def test_opening_a_pair_computes_its_later_steps(ranked: Workspace) -> None:
    before = ranked.review.open_pair(3)
    assert ranked.review.complete(3)
    after = ranked.review.open_pair(3)
    assert after.trajectory is not None
    assert after.trajectory.whole
    assert (after.p_error, after.suspects) == (before.p_error, before.suspects)
    assert after.fingerprint == before.fingerprint
    assert not ranked.review.complete(3), "nothing is left to compute"


def test_corrections_are_proposed_from_whole_trajectories(
    workspace: Workspace, folder: Path, sizes: Sizes
) -> None:
    score(workspace, folder, "first-step")
    limit = sorted(p or 0 for p in probabilities(workspace))[-2]
    sizes(SUGGEST_ABOVE=limit)
    report = score(workspace, folder, suggestions=True)
    wrong = {n for n, p in enumerate(probabilities(workspace), 1) if (p or 0) >= limit}
    whole = {number for number, row in stored(workspace, report.run_id).items() if row.whole}
    assert wrong == whole
    assert report.completed == len(wrong)


def test_large_datasets_get_first_steps_unless_already_scored(
    tmp_path: Path, model: Path, folder: Path, sizes: Sizes
) -> None:
    sizes(FIRST_STEP_ABOVE=COUNT - 1)
    for detector, which in (("best", "first-step"), ("logistic", "all")):
        opened = reopened(tmp_path / detector, model, detector=detector)
        assert score(opened, folder).trajectories == which
        opened.store.close()
    sizes(FIRST_STEP_ABOVE=COUNT)
    opened = reopened(tmp_path / "small", model)
    assert score(opened, folder).trajectories == "all"
    sizes(FIRST_STEP_ABOVE=COUNT - 1)
    assert score(opened, folder).trajectories == "all", "as before"
    opened.store.close()


def test_detectors_of_later_steps_are_not_trained_or_adopted_without_them(
    workspace: Workspace, tmp_path: Path, model: Path, folder: Path
) -> None:
    opened = reopened(tmp_path, model, detector="logistic", trajectories="first-step")
    with pytest.raises(SettingsError, match="needs whole trajectories"):
        score(opened, folder)
    opened.store.close()
    opened = reopened(tmp_path, model, detector="nine signs")
    score(opened, folder, "all")
    opened.store.close()
    with workspace.store.reading() as session:
        (earlier,) = classifier_queries.list_classifiers(session, 1)
    with workspace.store.writing() as session:  # as if pairs had been added since
        session.connection().exec_driver_sql("UPDATE trajectories SET whole = 0 WHERE pair_id < 9")
    replaced = score(workspace, folder, "first-step").detector
    assert replaced["detector"] in ("eight signs", "s_0 alone"), "only a cold start had chosen it"
    if earlier.kind != "s_0 alone":
        with pytest.raises(TrainingError, match="whole trajectories"):
            workspace.jobs.adopt(earlier.id)


def copies_are_whole(workspace: Workspace) -> set[bool]:
    with workspace.store.reading() as session:
        rows = session.connection().exec_driver_sql("SELECT whole FROM copy_trajectories")
        return {bool(whole) for (whole,) in rows}


@pytest.mark.parametrize(("detector", "whole"), [("best", True), ("eight signs", False)])
def test_noisy_copies_have_the_steps_that_the_detector_uses(
    tmp_path: Path, model: Path, folder: Path, detector: str, whole: bool
) -> None:
    opened = reopened(tmp_path, model, detector=detector)
    report = score(opened, folder, "all")
    assert all(row.whole for row in stored(opened, report.run_id).values())
    assert copies_are_whole(opened) == {whole}
    classifier = classifier_in_use(opened.store, 1)
    assert classifier is not None
    assert classifier.first_step is not whole
    opened.store.close()


def test_a_detector_of_first_steps_is_trained_on_existing_whole_copies(
    tmp_path: Path, model: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = reopened(tmp_path, model, detector="nine signs")
    kind = score(earlier, folder, "all").detector["detector"]
    ranked = probabilities(earlier)
    earlier.store.close()

    copies: list[int] = []

    def note(done: int, total: int, message: str) -> None:
        if message == STAGE:
            copies.append(done)

    workspace = reopened(tmp_path, model, detector="eight signs")
    report = score(workspace, folder, progress=note)
    assert (report.scored, report.detector["detector"]) == (0, kind)
    assert set(copies) <= {0}, "no copy is computed again"
    assert probabilities(workspace) == ranked, "the classifier in use stays"
    for number in range(1, 9):
        workspace.review.decide(number, 0, "drop" if number % 2 else "correct")
    candidate = workspace.jobs.run("train", 1)
    with workspace.store.reading() as session:
        payload = classifier_queries.get_payload(session, candidate.classifier_id)
    assert Classifier.from_bytes(payload).first_step
    workspace.jobs.adopt(candidate.classifier_id)
    assert None not in probabilities(workspace)
    workspace.store.close()


def test_an_estimate_distinguishes_first_steps_from_whole_trajectories(
    workspace: Workspace, folder: Path, first_steps: Path, tmp_path: Path, model: Path
) -> None:
    dataset = workspace.find_or_import(str(folder))
    planned = workspace.jobs.estimate(dataset, suggestions=False, trajectories="top:50%")
    assert (planned.trajectories, planned.whole) == ("top:50%", COUNT // 2)
    assert 0 < planned.whole_seconds < planned.seconds
    shutil.copytree(first_steps / "state", tmp_path / "ranked" / "state")
    ranked = reopened(tmp_path / "ranked", model)
    rest = ranked.jobs.estimate(dataset, suggestions=False, trajectories="all")
    ranked.store.close()
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
