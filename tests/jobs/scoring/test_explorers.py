"""A dataset scored with every explorer, from import to the page."""

from functools import partial
from pathlib import Path

import pytest

from tests.checkpoints import drawn_folder, random_clip
from tests.jobs.opening import OpenWorkspace

#: Enough for a first detector; the pairs of FEW are ranked by s_0.
COUNT, FEW = 20, 6


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
def open_scored_by(open_workspace: OpenWorkspace, model: Path) -> OpenWorkspace:
    """Opens the test's workspace with an explorer; one family of detectors."""
    return partial(open_workspace, model=str(model), captioner="none", detector="nine signs")


@pytest.mark.parametrize("how", [{"unit": "token"}, {"explorer": "fast-gcd", "steps": 2, "top": 8}])
def test_another_explorer_scores_a_dataset_once(
    open_scored_by: OpenWorkspace, folder: Path, how: dict[str, object]
) -> None:
    workspace = open_scored_by(**how)
    dataset = workspace.find_or_import(str(folder))
    report = workspace.jobs.score(dataset, suggestions=False)
    assert (report.pairs, report.scored) == (COUNT, COUNT)
    again = workspace.jobs.score(dataset, suggestions=False)
    assert (again.scored, again.skipped, again.run_id) == (0, COUNT, report.run_id)
    view = workspace.review.open_pair(1)
    assert view.opinion.trajectory is not None
    assert view.opinion.trajectory.captions is not None
    assert len(view.opinion.trajectory.captions) == view.opinion.trajectory.steps > 0
    assert view.p_error is not None
    # Edits are judged by trajectories computed in the same way.
    checked = workspace.review.check_caption(1, view.caption)
    assert checked.s == pytest.approx(view.s_0, abs=1e-5)
    assert checked.p_error == pytest.approx(view.p_error, abs=0.5)


def test_another_explorer_is_another_run_and_the_one_asked_for_is_shown(
    open_scored_by: OpenWorkspace, few: Path
) -> None:
    runs, shown = [], []
    for how in (
        {"kind": "clip"}, {"lazy": 2}, {"direction": "minimise"}, {"explorer": "gcd", "steps": 1},
        {"kind": "clip"},
    ):  # fmt: skip
        workspace = open_scored_by(**how)
        dataset = workspace.find_or_import(str(few))
        runs.append(workspace.jobs.score(dataset, suggestions=False).run_id)
        view = workspace.review.open_pair(1)
        assert view.opinion.trajectory is not None
        assert view.s_0 == pytest.approx(float(view.opinion.trajectory.scores[0]))
        shown.append((view.s_0, view.opinion.trajectory.scores.tolist()))
    assert len(set(runs)) == len(runs) - 1
    assert runs[-1] == runs[-2], "the explorer is remembered"
    assert shown[-1] == shown[-2] != shown[-3]
