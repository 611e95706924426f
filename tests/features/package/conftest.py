"""A dataset at home."""

from pathlib import Path

import pytest

from backend.workspace import Workspace
from tests.features.package.home import Home


@pytest.fixture
def home(workspace: Workspace, tmp_path: Path) -> Home:
    return Home(workspace, tmp_path)
