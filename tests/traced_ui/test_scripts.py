"""The review page's scripts: their logic without a browser, by Node's own test runner."""

import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).with_name("board")
TESTS = sorted(FOLDER.glob("*.test.mjs"))


def test_the_logic_of_the_scripts() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node is not installed.")
    done = subprocess.run([node, "--test", *map(str, TESTS)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:]


def test_the_types_of_the_scripts() -> None:
    compiler = shutil.which("tsc")
    if compiler is None:
        pytest.skip("TypeScript is not installed: npm install --global typescript.")
    done = subprocess.run([compiler, "-p", str(FOLDER)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:]
