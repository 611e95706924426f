"""A workspace with a small dataset, not scored: pages must work before there are scores."""

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
