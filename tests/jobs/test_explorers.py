"""A dataset scored with every explorer and with LEMoN, from import to the page."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from backend.errors import SettingsError, TrainingError
from backend.settings import load_settings
from backend.workspace import Workspace
from tests.checkpoints import drawn_folder, drawn_pairs, random_clip

#: Enough for a first detector; the pairs of FEW are ranked by s_0.
COUNT, FEW = 16, 6


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_clip(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return drawn_folder(tmp_path_factory.mktemp("data") / "pairs", COUNT, seed=4)


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return drawn_folder(tmp_path_factory.mktemp("data") / "few", FEW, seed=4)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def open_workspace(state: Path, model: Path, **settings: object) -> Workspace:
    # One family of detectors: these tests do not depend on the best one.
    given = {
        "data_directory": str(state), "model": str(model), "captioner": "none",
        "detector": "logistic", **settings,
    }  # fmt: skip
    return Workspace(load_settings(given, {}))


@pytest.fixture(params=["gcd", "fast-gcd", "token"])
def workspace(request: pytest.FixtureRequest, state: Path, model: Path) -> Iterator[Workspace]:
    how: dict[str, object] = (
        {"unit": "token"}
        if request.param == "token"
        else {"explorer": request.param, "steps": 2, "top": 8, "candidates": 8}
    )
    opened = open_workspace(state, model, **how)
    yield opened
    opened.store.close()


def test_every_explorer_scores_a_dataset_once(workspace: Workspace, folder: Path) -> None:
    dataset = workspace.find_or_import(str(folder))
    report = workspace.jobs.score(dataset)
    assert (report.pairs, report.scored) == (COUNT, COUNT)
    again = workspace.jobs.score(dataset)
    assert (again.scored, again.skipped, again.run_id) == (0, COUNT, report.run_id)
    pair_id = 1
    view = workspace.review.open_pair(pair_id)
    assert view.trajectory is not None
    assert view.trajectory.captions is not None
    assert len(view.trajectory.captions) == view.trajectory.steps > 0
    assert view.p_error is not None
    # Edits are judged by trajectories computed in the same way.
    checked = workspace.review.check_caption(pair_id, view.caption)
    assert checked.s == pytest.approx(view.s_0, abs=1e-5)
    assert checked.p_error == pytest.approx(view.p_error, abs=0.5)


def test_another_explorer_is_another_run(state: Path, model: Path, few: Path) -> None:
    runs = []
    for how in ({}, {"lazy": 2}, {"direction": "minimise"}, {"explorer": "gcd", "steps": 1}):
        opened = open_workspace(state, model, **how)
        runs.append(opened.jobs.score(opened.find_or_import(str(few)), suggestions=False).run_id)
        opened.store.close()
    assert len(set(runs)) == 4


def test_an_earlier_run_requested_again_is_the_one_shown(
    state: Path, model: Path, few: Path
) -> None:
    shown = []
    for kind in ("clip", "lemon", "clip"):
        opened = open_workspace(state, model, kind=kind)
        dataset = opened.find_or_import(str(few))
        opened.jobs.score(dataset, suggestions=False)
        view = opened.review.open_pair(1)
        assert view.trajectory is not None
        assert view.scored_by.startswith(kind)
        assert view.s_0 == pytest.approx(float(view.trajectory.scores[0]))
        shown.append((view.s_0, view.trajectory.scores.tolist()))
        opened.store.close()
    assert shown[0] == shown[2] != shown[1]


def test_lemon_scores_a_dataset_and_resumes_from_its_parts(
    state: Path, model: Path, folder: Path
) -> None:
    opened = open_workspace(state, model, kind="lemon")
    dataset = opened.find_or_import(str(folder))
    report = opened.jobs.score(dataset)
    assert report.scored == COUNT
    first = opened.review.open_pair(1)
    assert first.scored_by.startswith("lemon")
    (part,) = (state / "neighbours").rglob("*.npz")
    made = part.stat().st_mtime_ns
    opened.store.close()

    again = open_workspace(state, model, kind="lemon")
    assert again.jobs.score(dataset).skipped == COUNT
    assert part.stat().st_mtime_ns == made
    # A pair scored again later has the same neighbours, which do not include itself.
    assert again.review.check_caption(1, first.caption).s == pytest.approx(first.s_0, abs=1e-5)
    with np.load(part) as arrays:
        assert len(arrays["keys"]) == COUNT
    again.store.close()

    part.write_bytes(part.read_bytes()[:100])  # a truncated file is computed again
    third = open_workspace(state, model, kind="lemon")
    assert third.review.check_caption(1, first.caption).s == pytest.approx(first.s_0, abs=1e-5)
    third.store.close()


def test_lemon_without_a_dataset_says_what_to_do(state: Path, model: Path) -> None:
    opened = open_workspace(state, model, kind="lemon")
    with pytest.raises(SettingsError, match="compares") as raised:
        opened.review.playground(drawn_pairs(1)[0][0], "A dog")
    assert "score DATASET" in raised.value.remedies["terminal"]
    opened.store.close()


def test_fitted_lemon_needs_verdicts(state: Path, model: Path) -> None:
    folder = drawn_folder(state.parent / "judged", 20, seed=4)
    opened = open_workspace(state, model, kind="lemon", lemon="opt")
    dataset = opened.find_or_import(str(folder))
    with pytest.raises(TrainingError, match="at least 10"):
        opened.jobs.score(dataset)
    for pair_id in range(1, 21):
        opened.review.decide(pair_id, 0, "correct" if pair_id % 2 else "drop")
    assert opened.jobs.score(dataset, suggestions=False).scored == 20
    opened.store.close()
