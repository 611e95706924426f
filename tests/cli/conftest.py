"""Commands that score small datasets."""

from pathlib import Path

import pytest

from tests.cli.invoking import environment_of
from tests.fixtures.shared import SharedFolder
from tests.fixtures.small_cold_start import small_cold_start

__all__ = ["small_cold_start"]  # used by every test


@pytest.fixture
def scored_copies(shared_folder: SharedFolder, tmp_path: Path) -> dict[str, str]:
    """Variables for the dataset *pairs*, scored by the embedded CLIP: a copy that tests may
    change."""
    from tests.jobs.copied_pictures import score_copies  # imports torch: not in `make quick`

    return environment_of(shared_folder("scored-copies", score_copies), tmp_path)
