"""Programs under measurement, started without repeating the imports of each."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from backend.lab.bench import process_cost
from tests.fixtures import programs


@pytest.fixture
def forked_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """`cost_of` in processes of `programs.py`; `test_process_cost.py` starts fresh ones."""

    def run(
        command: Sequence[str], cwd: Path, env: Mapping[str, str], **_: Any
    ) -> subprocess.CompletedProcess[str]:
        status, out, err = programs.run(list(command[1:]), env, folder=cwd)
        return subprocess.CompletedProcess(command, status, out, err)

    monkeypatch.setattr(process_cost.subprocess, "run", run)
