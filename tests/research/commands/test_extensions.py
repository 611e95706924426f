"""Commands of other packages: an installed one, a faulty one, and `research` where it exists."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from backend.cli import extensions

ROOT = Path(__file__).resolve().parents[3]


def install(folder: Path, name: str, source: str) -> None:
    """Write an importable package with the metadata of an installed distribution."""
    (folder / f"{name}.py").write_text(source)
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{extensions.GROUP}]\n{name} = {name}:COMMANDS\n")


def test_commands_of_installed_packages_appear_and_faulty_ones_are_named(tmp_path: Path) -> None:
    install(
        tmp_path,
        "greeting",
        "def greet(name: str) -> None:\n    print('Hello', name)\nCOMMANDS = {'greet': greet}\n",
    )
    install(tmp_path, "broken", "raise RuntimeError('no such library')\n")
    run = subprocess.run(
        [sys.executable, "app.py", "greet", "Ada"],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert run.stdout == "Hello Ada\n"
    assert "broken" in run.stderr
    assert "no such library" in run.stderr


def test_a_checkout_has_the_commands_of_research() -> None:
    assert {"noise", "evaluate", "bench", "captioner", "icc"} <= set(extensions.load_commands())


def test_the_product_runs_without_research(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extensions, "RESEARCH", tmp_path / "research")
    assert not {"noise", "evaluate", "bench", "captioner", "icc"} & set(extensions.load_commands())
