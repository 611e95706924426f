"""Tests of jobs score many small datasets: with a cheap first detector, in workspaces that are
closed after the test."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from backend.workspace import Workspace
from tests.fixtures.small_cold_start import small_cold_start
from tests.jobs.opening import OpenWorkspace, opened

__all__ = ["small_cold_start"]  # used by every test


@pytest.fixture
def open_workspace(tmp_path: Path) -> Iterator[OpenWorkspace]:
    """Opens workspaces, in the test's own state unless another is given. `copy_of`: a folder whose
    `state` is copied there first."""
    workspaces: list[Workspace] = []

    def open_one(
        state: Path | None = None, copy_of: Path | None = None, **settings: object
    ) -> Workspace:
        state = state or tmp_path / "state"
        if copy_of is not None:
            shutil.copytree(copy_of / "state", state)
        workspaces.append(opened(state, **settings))
        return workspaces[-1]

    yield open_one
    for workspace in workspaces:
        workspace.store.close()


@pytest.fixture
def workspace(open_workspace: OpenWorkspace) -> Workspace:
    """An empty one; files whose tests need another override it."""
    return open_workspace()
