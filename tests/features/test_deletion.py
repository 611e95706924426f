"""The program without each of its features, and without any: folders are deleted in a copy, and so
are their tests."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from backend import plugins

ROOT = Path(__file__).resolve().parents[2]
#: What a feature may be a part of, and what is read beside it.
CODE = ("backend", "db", "research", "tests", "traced_curator", "traced_ui")
#: Tests of the core that `make test` runs without any feature, and `make nightly` without each.
SHORT = ("tests/test_architecture.py", "tests/features/test_core.py")
#: Those that `make nightly` runs without any.
LONG = (
    *SHORT, "tests/db", "tests/review", "tests/operations", "tests/cli", "tests/traced_ui",
    "tests/datasets", "tests/jobs",
)  # fmt: skip
FEATURES = sorted(path.parent.name for path in plugins.FEATURES.glob("*/feature.py"))


def copied_without(features: Sequence[str], folder: Path) -> None:
    """Copy the checkout into the folder, without these features."""
    ignored = shutil.ignore_patterns("__pycache__")
    for name in CODE:
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for path in ROOT.iterdir():
        if path.name not in CODE and not path.name.startswith((".git", ".venv")):
            (folder / path.name).symlink_to(path)
    for feature in features:
        tests = folder / "tests" / "features" / feature
        assert tests.is_dir(), (
            f"The feature '{feature}' has no tests: add tests/features/{feature}."
        )
        shutil.rmtree(folder / "backend" / "features" / feature)
        shutil.rmtree(tests)


def run_tests(copy: Path, *tests: str) -> None:
    """Run the tests of the copy; fails with what they print."""
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(words, cwd=copy, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]


@pytest.mark.parametrize(
    "features",
    [pytest.param([feature], id=feature, marks=pytest.mark.nightly) for feature in FEATURES]
    + [pytest.param(FEATURES, id="all")],
)
def test_the_core_does_without(features: list[str], tmp_path: Path) -> None:
    """Imports between features are checked by `test_architecture.py`."""
    copied_without(features, tmp_path)
    run_tests(tmp_path, *SHORT)
    if len(features) > 1:
        run_tests(tmp_path, "--collect-only", *LONG)  # nothing that they import is of a feature


@pytest.mark.nightly
@pytest.mark.timeout(7200)
def test_the_tests_of_the_core_pass_without_any(tmp_path: Path) -> None:
    copied_without(FEATURES, tmp_path)
    run_tests(tmp_path, "-m", "not nightly", *LONG)
