"""The program without each of its wings: its folder is deleted in a copy, and so are its tests."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from backend import plugins

ROOT = Path(__file__).resolve().parents[2]
#: What a wing may be a part of, and what is read beside it.
CODE = ("backend", "db", "research", "tests", "traced_curator", "traced_ui")
#: Tests of the core for each wing in `make test`, and in `make nightly`.
SHORT = ("tests/test_architecture.py", "tests/wings/test_core.py")
LONG = (
    *SHORT, "tests/db", "tests/review", "tests/operations", "tests/cli", "tests/traced_ui",
    "tests/datasets", "tests/jobs",
)  # fmt: skip
WINGS = sorted(path.parent.name for path in plugins.WINGS.glob("*/wing.py"))


@pytest.fixture
def copy(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The checkout without the wing of the test's parameter."""
    ignored = shutil.ignore_patterns("__pycache__")
    for name in CODE:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    for path in ROOT.iterdir():
        if path.name not in CODE and not path.name.startswith((".git", ".venv")):
            (tmp_path / path.name).symlink_to(path)
    wing = request.getfixturevalue("wing")
    shutil.rmtree(tmp_path / "backend" / "wings" / wing)
    shutil.rmtree(tmp_path / "tests" / "wings" / wing)
    return tmp_path


def passes(copy: Path, *tests: str) -> None:
    """Run the tests of the copy; fails with what they print."""
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(words, cwd=copy, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]


@pytest.mark.parametrize("wing", WINGS)
def test_the_core_does_without(wing: str, copy: Path) -> None:
    passes(copy, *SHORT)


@pytest.mark.nightly
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("wing", WINGS)
def test_the_tests_of_the_core_pass_without(wing: str, copy: Path) -> None:
    passes(copy, "-m", "not nightly", *LONG)
