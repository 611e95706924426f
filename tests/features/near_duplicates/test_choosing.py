"""Near duplicates of a whole dataset, from the vectors stored by scoring, and what is kept."""

from pathlib import Path

import pytest

from backend.errors import SettingsError
from backend.features.near_duplicates.choosing import groups_of, keep_in_all, keep_one
from backend.store import computed_tables
from backend.workspace import Workspace
from db.queries.change_queries import Revision, revise_pairs
from db.queries.pair_queries import NewPair
from tests.datasets.folders import image_folder
from tests.features.near_duplicates.choices import (
    groups_in,
    keep_and_undo,
    name_of,
    pictures,
)
from tests.fixtures.sizes import Sizes
from tests.jobs.copied_pictures import PAIRS, listed, workspace
from tests.jobs.opening import OpenWorkspace

__all__ = ["workspace"]


def test_the_same_picture_is_found_in_any_file_format(workspace: Workspace, sizes: Sizes) -> None:
    sizes(BLOCK=5)
    assert groups_of(workspace.store, 1) is None
    report = workspace.jobs.run("duplicates", 1, threshold=0.995)
    assert (report.pictures, report.without) == (PAIRS + 3, 0)
    groups = pictures(workspace)
    assert ["2.png", "same.png", "copy.jpg"] in groups
    assert report.groups == len(groups)
    assert report.members == sum(map(len, groups))
    assert ["7.png"] not in [group[:1] for group in groups]  # a second caption is not a duplicate
    wanted = {name for group in groups for name in group}
    ids = listed(workspace, "review=all&duplicates=yes")
    assert {name.partition("-")[2] for name in ids} == wanted
    assert len(listed(workspace, "review=all&duplicates=no")) == PAIRS + 4 - len(ids)
    # What had no vector was not compared, and is not claimed to be unlike the others.
    view = groups_of(workspace.store, 1)
    assert view is not None
    assert view.compared == report.pictures
    # New groups replace the earlier ones.
    assert workspace.jobs.run("duplicates", 1, threshold=1).groups <= report.groups
    with pytest.raises(SettingsError, match=r"no duplicates 'maybe'"):
        listed(workspace, "duplicates=maybe")


def test_one_picture_is_kept_and_one_undo_restores_the_dropped_ones(
    workspace: Workspace,
) -> None:
    workspace.jobs.run("duplicates", 1, threshold=0.995)
    view = groups_of(workspace.store, 1)
    assert view is not None
    group = next(g for g in view.groups if name_of(g.pictures[0]) == "2.png")
    first, same, copy = group.pictures
    seen = [(row.pair_id, row.verdict_version) for p in group.pictures for row in p.rows]
    done = keep_one(workspace.store, 1, group.id, copy.rows[0].pair_id, seen, "Ada")
    assert (done.dropped, done.left_alone, done.passed_over) == (2, 0, 0)
    assert workspace.review.open_pair(copy.rows[0].pair_id).verdict.decision is None
    dropped = workspace.review.open_pair(first.rows[0].pair_id)
    assert dropped.verdict.decision == "drop"
    assert workspace.summary(1).errors_found == 0
    assert ["2.png", "same.png", "copy.jpg"] not in pictures(workspace, only_open=True)
    with pytest.raises(SettingsError, match="was removed"):
        keep_one(workspace.store, 1, group.id, first.rows[0].pair_id, seen, "Ada")
    with pytest.raises(SettingsError, match="no longer in this group"):
        keep_one(workspace.store, 1, group.id, 9999, seen, "Ada")
    with pytest.raises(SettingsError, match="no longer in this group"):
        keep_one(workspace.store, 2, group.id, copy.rows[0].pair_id, seen, "Ada")
    assert workspace.review.undo(1).together == 2  # pyrefly: ignore[missing-attribute]
    # Decisions made in the meantime are kept.
    workspace.review.decide(same.rows[0].pair_id, 2, "correct")
    done = keep_one(workspace.store, 1, group.id, copy.rows[0].pair_id, seen, "Ada")
    assert (done.dropped, done.left_alone, done.passed_over) == (0, 1, 1)
    assert workspace.review.open_pair(same.rows[0].pair_id).verdict.decision == "correct"


@pytest.mark.parametrize("way", ["first", "best"])
def test_each_strategy_keeps_one_picture_of_every_group(workspace: Workspace, way: str) -> None:
    """The sharpest: `tests/features/quality`."""
    workspace.jobs.run("duplicates", 1, threshold=0.995)
    for group in keep_and_undo(workspace, way):
        (kept,) = (picture for picture in group.pictures if picture.stays)
        if way == "first":
            assert kept.rows[0].pair_id == min(p.rows[0].pair_id for p in group.pictures)
        else:
            likely = [picture.rows[0].p_error or 0 for picture in group.pictures]
            assert kept.rows[0].p_error == min(likely)
    with pytest.raises(SettingsError, match="first, sharpest, best"):
        keep_in_all(workspace.store, 1, "prettiest", "Ada")


def test_pairs_called_correct_by_a_person_are_kept(workspace: Workspace) -> None:
    workspace.jobs.run("duplicates", 1, threshold=0.995)
    view = groups_of(workspace.store, 1)
    assert view is not None
    group = next(g for g in view.groups if name_of(g.pictures[0]) == "2.png")
    right = group.pictures[2].rows[0].pair_id
    workspace.review.decide(right, 0, "correct")
    keep_in_all(workspace.store, 1, "first", "Ada")
    assert workspace.review.open_pair(right).verdict.decision == "correct"
    assert workspace.review.open_pair(group.id).verdict.decision == "drop"


def test_a_stopped_search_keeps_the_groups_of_before(workspace: Workspace) -> None:
    workspace.jobs.start("duplicates", 1, threshold=0.995)
    assert workspace.jobs.background.wait(250)
    assert [job.status for job in workspace.jobs.recent()] == ["done"]
    before = pictures(workspace)

    def stop(done: int, total: int, message: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        workspace.jobs.run("duplicates", 1, stop)
    assert pictures(workspace) == before != []


def test_a_dataset_without_vectors_must_be_scored_first(
    open_workspace: OpenWorkspace, tmp_path: Path
) -> None:
    image_folder(tmp_path / "pairs", [{"file_name": "a.png", "caption": "A."}], ("a.png",))
    workspace = open_workspace()
    workspace.find_or_import(str(tmp_path / "pairs"))
    with pytest.raises(SettingsError, match="not been scored") as raised:
        workspace.jobs.run("duplicates", 1)
    assert "score NAME" in raised.value.remedies["terminal"]


def test_a_new_picture_is_in_no_group(workspace: Workspace) -> None:
    """The others of its group stay; a pair with a new caption is in it as before."""
    workspace.jobs.run("duplicates", 1, threshold=0.995)
    group = next(g for g in groups_in(workspace) if name_of(g.pictures[0]) == "2.png")
    other, reworded = (picture.rows[0] for picture in group.pictures[1:])
    with workspace.store.writing() as session:
        revise_pairs(
            session,
            [
                Revision(other.pair_id, NewPair(other.external_id, "new.png", "A."), True, "other"),
                Revision(
                    reworded.pair_id,
                    NewPair(reworded.external_id, reworded.image_path, "Another."),
                    True,
                    "same",
                ),
            ],
            computed_tables(session),
        )
    left = next(g for g in groups_in(workspace) if g.id == group.id)
    assert [p.rows[0].pair_id for p in left.pictures] == [group.id, reworded.pair_id]
