"""The wheel that the tests install."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.tree import ROOT


@pytest.fixture(scope="package")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the source distribution, as installers do."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(folder)],
        cwd=ROOT, check=True,
    )  # fmt: skip
    (source,) = folder.glob("*.tar.gz")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
         "--wheel-dir", str(folder), str(source)],
        check=True,
    )  # fmt: skip
    (built,) = folder.glob("*.whl")
    return built
