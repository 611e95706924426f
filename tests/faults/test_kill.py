"""kill -9 at a random moment, once each; `make nightly` also does it ten times. (`make test` kills
verdicts in `tests/db/test_verdict_concurrency.py`.)

In a separate process: this one has threads that a fork would break.
"""

import os

import pytest

from tests.faults.scenarios import SCENARIOS
from tests.fixtures import programs


@pytest.mark.nightly
@pytest.mark.parametrize("name", [scenario.name for scenario in SCENARIOS])
def test_nothing_is_lost_or_duplicated(name: str) -> None:
    arguments = ["-m", "tests.faults", "--times", "1", "--only", name]
    # One downloads, from a hub on this machine.
    status, printed, reported = programs.run(arguments, {**os.environ, "HF_HUB_OFFLINE": "0"})
    assert status == 0, reported[-3000:]
    assert f"| {name} | 1 |" in printed
    assert "1 of 1, " in reported  # one line per kill: a hundred take half an hour
