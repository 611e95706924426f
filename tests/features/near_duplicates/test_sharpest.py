"""Of near duplicates, the sharpest picture can stay once sharpness has been measured."""

import pytest

from backend.errors import SettingsError
from backend.features.near_duplicates.choosing import keep_in_all
from tests.features.near_duplicates.choices import keep_and_undo
from tests.fixtures.features import needs
from tests.fixtures.shared import SharedFolder
from tests.jobs.copied_pictures import score_copies
from tests.jobs.opening import CLIP, OpenWorkspace


@needs("quality")
def test_the_sharpest_picture_of_every_group_is_kept(
    shared_folder: SharedFolder, open_workspace: OpenWorkspace
) -> None:
    scored = shared_folder("scored-copies", score_copies)
    workspace = open_workspace(copy_of=scored, author="Ada", **CLIP)
    workspace.jobs.run("duplicates", 1, threshold=0.995)
    with pytest.raises(SettingsError, match="has not been measured"):
        keep_in_all(workspace.store, 1, "sharpest", "Ada")
    workspace.jobs.run("quality", 1)
    for group in keep_and_undo(workspace, "sharpest"):
        (kept,) = (picture for picture in group.pictures if picture.stays)
        assert kept.sharpness == max(picture.sharpness or 0 for picture in group.pictures)
