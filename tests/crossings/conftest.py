"""Environments of other programs, and how a program runs in them."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "crossings"
Run = Callable[..., Any]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.weekly)


def python_with(*packages: str) -> Path:
    """The Python of an environment with these pinned packages."""
    name = hashlib.sha256(" ".join(packages).encode()).hexdigest()[:12]
    folder = CACHE / name
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        pip = [python, "-m", "pip", "-qq", "install", "--disable-pip-version-check"]
        subprocess.run([*pip, *packages], check=True)
        (folder / "complete").touch()
    return python


@pytest.fixture
def run_with(tmp_path: Path) -> Run:
    """`run_with(packages, script, *arguments)`: what the script prints last, as JSON."""

    def run(packages: tuple[str, ...], script: str, *arguments: str | Path) -> Any:
        path = tmp_path / "crossing.py"
        path.write_text(script, encoding="utf-8")
        ended = subprocess.run(
            [python_with(*packages), path, *arguments], capture_output=True, text=True, cwd=tmp_path
        )
        assert ended.returncode == 0, ended.stderr[-3000:]
        return json.loads(ended.stdout.strip().splitlines()[-1])

    return run
