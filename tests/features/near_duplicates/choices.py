"""Groups among the copied pictures, and one picture of each that is kept."""

from collections.abc import Sequence

from backend.datasets.cells import split_proof
from backend.features.near_duplicates.choosing import (
    DuplicateGroup,
    DuplicatePicture,
    groups_of,
    keep_in_all,
)
from backend.workspace import Workspace


def name_of(picture: DuplicatePicture) -> str:
    return split_proof(picture.image_path)[0]


def groups_in(workspace: Workspace, only_open: bool = False) -> Sequence[DuplicateGroup]:
    view = groups_of(workspace.store, 1, only_open)
    assert view is not None
    return view.groups


def pictures(workspace: Workspace, only_open: bool = False) -> list[list[str]]:
    groups = groups_in(workspace, only_open)
    return [[name_of(picture) for picture in group.pictures] for group in groups]


def keep_and_undo(workspace: Workspace, way: str) -> Sequence[DuplicateGroup]:
    """Keep one picture of every group, as the preview says; the groups then. Takes it back."""
    names = pictures(workspace)
    planned = keep_in_all(workspace.store, 1, way, "Ada", dry_run=True)
    assert pictures(workspace, only_open=True) == names
    done = keep_in_all(workspace.store, 1, way, "Ada")
    assert done == planned
    assert done.groups == len(names)
    assert pictures(workspace, only_open=True) == []
    groups = groups_in(workspace)
    assert workspace.review.undo(1).together == done.dropped  # pyrefly: ignore[missing-attribute]
    assert pictures(workspace, only_open=True) == names
    return groups
