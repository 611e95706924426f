"""Threads: a single one for a small model, and none that spin while waiting."""

from pathlib import Path

import pytest
import torch

from backend.engine import threads
from backend.loaded_models import Engine
from backend.settings import load_settings
from tests.checkpoints import drawn_pairs
from tests.fixtures import programs


def test_openmp_is_configured_before_it_is_loaded() -> None:
    script = "import app, os, sys; print(os.environ['OMP_WAIT_POLICY'], 'torch' in sys.modules)"
    assert programs.run(["-c", script], {})[1] == "PASSIVE False\n"


def test_the_environment_takes_precedence() -> None:
    environment = {"OMP_WAIT_POLICY": "ACTIVE"}
    threads.set_passive_wait(environment)
    assert environment["OMP_WAIT_POLICY"] == "ACTIVE"
    assert environment["GOMP_SPINCOUNT"] == "0"
    assert environment["TOKENIZERS_PARALLELISM"] == "false"
    assert threads.threads_for(1, 8, 0.0, "4") == 4
    assert threads.threads_for(1, 8, 0.0, "0") == 1


def test_a_small_model_gets_one_thread_unless_a_number_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        engine = Engine(load_settings({"data_directory": str(tmp_path)}, {}))
        monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
        engine.encode([drawn_pairs(1)[0][0]])
        assert torch.get_num_threads() == 1
        monkeypatch.setenv("OMP_NUM_THREADS", "3")
        engine.encode([drawn_pairs(1)[0][0]])
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
