"""A workspace with a small dataset, not scored: pages must work without scores."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from backend.settings import load_settings
from backend.workspace import Workspace
from research.bench.generated_store import generate
from tests.datasets.folders import malformed
from tests.fixtures.shared import SharedFolder
from tests.fixtures.small_cold_start import small_cold_start

__all__ = ["small_cold_start"]  # used by every test


def import_malformed(folder: Path) -> None:
    opened = workspace_in(folder)
    # Each page prepares all ten pairs: longer captions would take half the time of all tests here.
    opened.jobs.import_dataset(malformed(folder / "pairs", longest=1_000))
    opened.store.close()


def workspace_in(folder: Path, **settings: object) -> Workspace:
    return Workspace(load_settings({"data_directory": str(folder / "state"), **settings}, {}))


@pytest.fixture(scope="session")
def imported(shared_folder: SharedFolder) -> Path:
    """The state and the pictures of the workspace, for each test to copy: to create a database
    takes much longer. The pictures stay where they are, and are not to be changed."""
    return shared_folder("imported-for-pages", import_malformed)


@pytest.fixture
def workspace(imported: Path, tmp_path: Path) -> Iterator[Workspace]:
    shutil.copytree(imported / "state", tmp_path / "state")
    opened = workspace_in(tmp_path)
    yield opened
    opened.store.close()


@contextmanager
def generated_in(folder: Path, pairs: int) -> Iterator[Workspace]:
    """Pairs with scores that no model computed."""
    opened = workspace_in(folder)
    generate(opened.store, pairs)
    yield opened
    opened.store.close()


@pytest.fixture
def generated(tmp_path: Path) -> Iterator[Workspace]:
    with generated_in(tmp_path, 40) as opened:
        yield opened


@pytest.fixture(scope="module")
def served(imported: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """The same workspace, shared by tests that only read: building the pages takes longer than
    requesting them."""
    folder = tmp_path_factory.mktemp("served")
    shutil.copytree(imported / "state", folder / "state")
    opened = workspace_in(folder)
    yield opened
    opened.store.close()
