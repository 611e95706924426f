"""A dataset scored with LEMoN, from import to the page."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from backend.errors import SettingsError, TrainingError
from tests.checkpoints import drawn_folder, drawn_pairs, random_clip
from tests.fixtures.features import needs
from tests.jobs.opening import OpenWorkspace

#: Enough for a first detector.
COUNT = 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return drawn_folder(tmp_path_factory.mktemp("data") / "pairs", COUNT, seed=4)


@pytest.fixture
def open_scored_by(
    open_workspace: OpenWorkspace, tmp_path_factory: pytest.TempPathFactory
) -> OpenWorkspace:
    """Opens the test's workspace with LEMoN; one family of detectors."""
    model = random_clip(tmp_path_factory.mktemp("models"))
    return partial(open_workspace, model=str(model), captioner="none", detector="nine signs")


@needs("playground")
def test_lemon_analyses_no_picture_alone(open_scored_by: OpenWorkspace) -> None:
    from backend.features.playground.checking import analyse

    with pytest.raises(SettingsError, match="compares") as raised:
        analyse(open_scored_by(kind="lemon"), drawn_pairs(1)[0][0], "A dog")
    assert "score DATASET" in raised.value.remedies["terminal"]


def test_lemon_scores_a_dataset_and_resumes_from_its_parts(
    open_scored_by: OpenWorkspace, folder: Path, tmp_path: Path
) -> None:
    workspace = open_scored_by(kind="lemon")
    dataset = workspace.find_or_import(str(folder))
    assert workspace.jobs.score(dataset, suggestions=False).scored == COUNT
    first = workspace.review.open_pair(1)
    assert first.opinion.scored_by.startswith("lemon")
    (part,) = (tmp_path / "state" / "neighbours").rglob("*.npz")
    with np.load(part) as arrays:
        assert len(arrays["keys"]) == COUNT
    written = part.stat().st_mtime_ns

    again = open_scored_by(kind="lemon")
    assert again.jobs.score(dataset, suggestions=False).skipped == COUNT
    assert part.stat().st_mtime_ns == written
    # A pair scored again later has the same neighbours, which do not include itself.
    assert again.review.check_caption(1, first.caption).s == pytest.approx(first.s_0, abs=1e-5)

    other = open_scored_by(kind="clip")
    assert other.jobs.score(dataset, suggestions=False).scored == COUNT, "another run"
    assert other.review.open_pair(1).opinion.scored_by.startswith("clip")

    part.write_bytes(part.read_bytes()[:100])  # a truncated file is computed again
    third = open_scored_by(kind="lemon")
    assert third.review.check_caption(1, first.caption).s == pytest.approx(first.s_0, abs=1e-5)


def test_fitted_lemon_needs_verdicts(open_scored_by: OpenWorkspace, folder: Path) -> None:
    workspace = open_scored_by(kind="lemon", lemon="opt")
    dataset = workspace.find_or_import(str(folder))
    with pytest.raises(TrainingError, match="at least 10"):
        workspace.jobs.score(dataset)
    for pair_id in range(1, COUNT + 1):
        workspace.review.decide(pair_id, 0, "correct" if pair_id % 2 else "drop")
    assert workspace.jobs.score(dataset, suggestions=False).scored == COUNT
