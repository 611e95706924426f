"""Threads: a single one for a small model, and none that spin while waiting."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from backend.engine import threads
from backend.loaded_models import Engine
from backend.settings import load_settings
from tests.checkpoints import drawn_pairs
from tests.fixtures.sizes import Sizes

ROOT = Path(__file__).resolve().parents[2]
_CLEAN = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_", "KMP_"))}


def test_openmp_is_configured_to_let_waiting_threads_sleep() -> None:
    """libgomp reports the settings it read when it was loaded."""
    script = "import app, torch; torch.ones(999, 999) @ torch.ones(999, 999)"
    environment = {**_CLEAN, "OMP_DISPLAY_ENV": "VERBOSE"}
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True,
        timeout=240, check=True,
    )  # fmt: skip
    if "OMP_WAIT_POLICY" not in ran.stderr:
        pytest.skip("this torch has an OpenMP that does not tell")
    assert "OMP_WAIT_POLICY = 'PASSIVE'" in ran.stderr
    assert "GOMP_SPINCOUNT = '0'" in ran.stderr


def test_the_environment_takes_precedence() -> None:
    environment = {"OMP_WAIT_POLICY": "ACTIVE"}
    threads.set_passive_wait(environment)
    assert environment["OMP_WAIT_POLICY"] == "ACTIVE"
    assert environment["GOMP_SPINCOUNT"] == "0"
    assert environment["TOKENIZERS_PARALLELISM"] == "false"
    assert threads.threads_for(1, 8, 0.0, "4") == 4
    assert threads.threads_for(1, 8, 0.0, "0") == 1


def test_a_small_model_gets_one_thread_and_a_large_one_the_idle_cores(
    tmp_path: Path, sizes: Sizes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(threads, "cores", lambda: 4)
    monkeypatch.setattr(threads, "others_load", lambda cpu: 1.2)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        engine = Engine(load_settings({"data_directory": str(tmp_path)}, {}))
        engine.encode([drawn_pairs(1)[0][0]])
        assert torch.get_num_threads() == 1
        sizes(SMALL=0)
        engine.encode([drawn_pairs(1)[0][0]])
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
