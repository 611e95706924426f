"""Programs under measurement start where the code can be imported, in a checkout and installed."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from backend.lab.bench import busy, process_cost, selection_speed


@pytest.mark.parametrize("folder", [busy._ROOT, process_cost._ROOT])
def test_a_program_starts_where_backend_can_be_imported(folder: Path) -> None:
    """As in a checkout: `backend` is found only through the working directory."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    where = "import importlib.util as u; print(u.find_spec('backend.lab.bench.busy').origin)"
    done = subprocess.run(
        [sys.executable, "-c", where],
        cwd=folder, env=clean, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()) == Path(busy.__file__)


@pytest.mark.parametrize(("is_checkout", "module"), [(True, "app"), (False, "traced_curator")])
def test_the_command_line_is_found_in_a_checkout_and_installed(
    is_checkout: bool, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []

    def cost_of(source: str, arguments: Any, folder: str) -> process_cost.ProcessCost:
        started.append(source)
        return process_cost.ProcessCost(1.0, 1.0, {"kept": 3})

    monkeypatch.setattr(selection_speed, "IS_CHECKOUT", is_checkout)
    monkeypatch.setattr(selection_speed, "cost_of", cost_of)
    assert selection_speed._cost(("--dry-run",), "sqlite://", "folder").kept == 3
    assert started == [f"from {module} import app as run"]


@pytest.mark.usefixtures("forked_programs")
def test_selections_from_a_generated_store_keep_exact_counts() -> None:
    speed = selection_speed.bench_selection(100)
    assert speed.pairs == 100
    assert [cost.kept for cost in speed.costs] == [50, 50, 50]
    assert all(cost.processor_seconds > 0 for cost in speed.costs)
    assert all(cost.peak_mebibytes > 0 for cost in speed.costs)
    lines = speed.table().splitlines()
    assert lines[0] == "100 generated pairs"
    assert [line.split()[-1] for line in lines[2:]] == ["50"] * 3
