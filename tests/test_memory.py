"""Free memory goes back to the system, after every batch of trajectories."""

import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from backend import memory
from backend.engine import Engine
from backend.settings import load_settings


def used() -> float:
    """MiB of this process that are no file's."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith("RssAnon")]
    return int(line.split()[1]) / 1024


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_what_lies_below_something_in_use_is_given_back() -> None:
    # Too small for pages of their own: without help they stay below the last of them.
    arrays = [np.ones(12_000) for _ in range(2_000)]
    kept = arrays.pop()
    full = used()
    arrays.clear()
    memory.give_back()
    assert full - used() > 150
    assert kept.sum() == 12_000


def test_every_batch_gives_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given: list[int] = []
    monkeypatch.setattr(memory, "give_back", lambda: given.append(1))
    engine = Engine(load_settings({"data_directory": str(tmp_path)}, {}))
    (state,) = engine.encode([Image.new("RGB", (96, 96), "red")])
    engine.trajectories([(state, "a red square")])
    assert given
