"""A workspace with a small dataset, not scored: pages must work without scores."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from backend.settings import load_settings
from backend.workspace import Workspace
from tests.datasets.folders import malformed


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    opened = Workspace(load_settings({"data_directory": str(tmp_path / "state")}, {}))
    opened.jobs.import_dataset(malformed(tmp_path / "pairs"))
    yield opened
    opened.store.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """The same workspace, shared by tests that only read: building the pages takes longer than
    requesting them."""
    folder = tmp_path_factory.mktemp("served")
    opened = Workspace(load_settings({"data_directory": str(folder / "state")}, {}))
    opened.jobs.import_dataset(malformed(folder / "pairs"))
    yield opened
    opened.store.close()
