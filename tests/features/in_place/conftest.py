"""A workspace of its own for each test, and folders of pictures with their captions."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from backend.workspace import Workspace
from tests.datasets.folders import picture, write
from tests.jobs.opening import opened


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    workspace = opened(tmp_path / "state")
    yield workspace
    workspace.store.close()


def captioned(folder: Path, **captions: str) -> Path:
    """The folder with a picture for each caption, and the caption in a text beside it."""
    for stem, caption in captions.items():
        picture(folder / f"{stem}.png")
        write(folder / f"{stem}.txt", caption)
    return folder
