"""kill -9 at a random moment, once each; `make nightly` does it ten times.

In a separate process: this one has threads that a fork would break.
"""

import os

import pytest

from tests.faults.scenarios import SCENARIOS
from tests.fixtures import programs

#: What `make test` kills; the others are killed in `make nightly`.
SAMPLE = ("verdict entry", "export")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in SAMPLE else pytest.mark.nightly)
        for name in (scenario.name for scenario in SCENARIOS)
    ],
)
def test_nothing_is_lost_or_duplicated(name: str) -> None:
    arguments = ["-m", "tests.faults", "--times", "1", "--only", name]
    status, printed, reported = programs.run(arguments, os.environ)
    assert status == 0, reported[-3000:]
    assert f"| {name} | 1 |" in printed
    assert "1 of 1, " in reported  # one line per kill: a hundred take half an hour
