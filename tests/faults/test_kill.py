"""kill -9 at a random moment, once each; `python -m tests.faults` does it a hundred times.

In a process of its own: this one has threads that a fork would break.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.scenarios import SCENARIOS

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", [scenario.name for scenario in SCENARIOS])
def test_nothing_is_lost_or_doubled(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults", "--times", "1", "--only", name],
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert f"| {name} | 1 |" in done.stdout
