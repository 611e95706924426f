"""Scoring computes expectations of the captioner once per caption; training uses them."""

from pathlib import Path

import pytest

from backend.errors import ModelUnavailable
from backend.jobs.scoring.captioner_stages import Expectations
from backend.jobs.scoring.stored_rows import scored_pairs
from backend.settings import EMBEDDED_CAPTIONER
from backend.workspace import Workspace
from db.queries import classifier_queries, detection_queries
from research.scenes import demo
from tests.fixtures.interrupting import stop_at
from tests.fixtures.sizes import Sizes
from tests.jobs.opening import CLIP, OpenWorkspace, opened, pairs_of, scoring_of

COUNT = 24


SETTINGS = {"model": CLIP["model"], "detector": "nine signs"}


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A dataset that was scored without a captioner."""
    folder = tmp_path_factory.mktemp("expectations")
    demo.write(folder / "pairs", COUNT, 0, 64, seed=4)
    workspace = opened(folder / "state", captioner="none", **SETTINGS)
    dataset = workspace.jobs.import_dataset(folder / "pairs").dataset_id
    report = workspace.jobs.score(dataset, suggestions=False)
    assert report.detector["captioner"] == ""
    workspace.store.close()
    return folder, dataset


def readers(workspace: Workspace, dataset: int) -> list[str]:
    ids = [pair.id for pair in pairs_of(workspace, dataset)]
    _, captions = scored_pairs(workspace.store, scoring_of(workspace, dataset), ids)
    trajectories = [caption.claims[0].trajectory for caption in captions]
    return [
        trajectory.expectation.captioner if trajectory.expectation else ""
        for trajectory in trajectories
    ]


def test_expectations_are_added_later_resume_after_a_kill_and_are_used_in_training(
    open_workspace: OpenWorkspace, scored: tuple[Path, int], sizes: Sizes
) -> None:
    folder, dataset = scored
    workspace = open_workspace(copy_of=folder, captioner=str(EMBEDDED_CAPTIONER), **SETTINGS)
    assert readers(workspace, dataset) == [""] * COUNT
    before = workspace.review.open_pair(1)
    assert before.opinion.reasons is not None
    assert not any("captioner" in reason.sign for reason in before.opinion.reasons.listed)
    sizes(BATCH=10)
    with pytest.raises(KeyboardInterrupt):
        workspace.jobs.score(dataset, stop_at(10, Expectations.name), suggestions=False)
    assert sum(name != "" for name in readers(workspace, dataset)) == 10
    read: list[int] = []

    def note(done: int, total: int, message: str) -> None:
        if message == Expectations.name:
            read.append(done)

    workspace.jobs.score(dataset, note, suggestions=False)
    assert read == [10, 20, COUNT], "it begins where the other stopped"
    captioner = workspace.engine.captioner
    assert captioner is not None
    assert readers(workspace, dataset) == [captioner.identity] * COUNT
    # The detector in use was not trained with it and continues without; the next one uses it, and
    # verdicts on pairs that were not drawn at random are no reason to use that one.
    view = workspace.review.open_pair(1)
    assert view.p_error == before.p_error
    assert view.opinion.trajectory is not None
    assert view.opinion.trajectory.expectation is not None
    assert view.opinion.trajectory.expectation.alternatives[0]
    for pair in range(1, 9):
        workspace.review.decide(pair, 0, "correct" if pair % 2 else "drop")
    assert workspace.jobs.run("train", dataset).report["learnt"] == "level"
    candidate, *_ = [row for row in workspace.jobs.classifiers(dataset) if row.basis == "injected"]
    assert candidate.report["captioner"] == captioner.identity
    old = workspace.store.read(detection_queries.detections_of, range(1, COUNT + 1))
    workspace.jobs.adopt(candidate.id)
    with workspace.store.reading() as session:
        new = detection_queries.detections_of(session, range(1, COUNT + 1))
        row = classifier_queries.get_classifier(session, candidate.id)
    assert row.report["suspects"] == "renewed"
    assert {row.classifier_id for row in new.values()} == {candidate.id}
    assert any(new[i].suspects != old[i].suspects for i in new), "suspect words follow the detector"
    read.clear()
    workspace.jobs.score(dataset, note, suggestions=False)
    assert read == []


def test_a_captioner_that_cannot_be_loaded_is_an_error_not_a_ranking_without_it(
    open_workspace: OpenWorkspace, scored: tuple[Path, int], tmp_path: Path
) -> None:
    folder, dataset = scored
    workspace = open_workspace(copy_of=folder, captioner=str(tmp_path / "nowhere"), **SETTINGS)
    with pytest.raises(ModelUnavailable, match="nowhere"):
        workspace.jobs.score(dataset)
