"""Of near duplicates, the sharpest picture can stay once sharpness has been measured."""

import pytest

from backend.errors import SettingsError
from tests.fixtures.shared import SharedFolder
from tests.jobs.copied_pictures import keep_and_undo, score_copies
from tests.jobs.opening import CLIP, OpenWorkspace


def test_the_sharpest_picture_of_every_group_is_kept(
    shared_folder: SharedFolder, open_workspace: OpenWorkspace
) -> None:
    scored = shared_folder("scored-copies", score_copies)
    workspace = open_workspace(copy_of=scored, author="Ada", **CLIP)
    workspace.jobs.run("duplicates", 1, threshold=0.995)
    with pytest.raises(SettingsError, match="has not been measured"):
        workspace.review.keep_in_all(1, "sharpest")
    workspace.jobs.run("quality", 1)
    for group in keep_and_undo(workspace, "sharpest"):
        (kept,) = (picture for picture in group.pictures if picture.stays)
        assert kept.sharpness == max(picture.sharpness or 0 for picture in group.pictures)
