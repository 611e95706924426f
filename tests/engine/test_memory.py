"""Free memory is returned to the system after every batch of trajectories."""

import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from backend.engine import memory
from backend.loaded_models import Engine
from backend.settings import load_settings

ROOT = Path(__file__).resolve().parents[2]
only_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")

#: MiB of anonymous memory that the process releases when all arrays but the last are freed.
LET_GO = """
from pathlib import Path
import numpy as np
from backend.engine import memory

def used():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("RssAnon"))

{before}
np.ones(4_000_000)  # by default glibc would keep blocks of this size from now on
arrays = [np.ones({size}) for _ in range({count})]
kept = arrays.pop()
full = used()
arrays.clear()
{after}
print(full - used())
"""


def let_go(size: int, count: int, before: str = "", after: str = "") -> float:
    """In a new process: gaps in the heap of a used one would hide the effect."""
    script = LET_GO.format(size=size, count=count, before=before, after=after)
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


@only_linux
def test_memory_below_a_block_in_use_is_released() -> None:
    # Too small to be mapped separately: without help they stay in the heap below the last one.
    assert let_go(12_000, 2_000, after="memory.release()") > 150


@only_linux
def test_a_large_array_is_released_at_once() -> None:
    assert let_go(5_000_000, 5, before="memory.keep_little()") > 120


@only_linux
def test_arrays_of_any_size_are_released_after_a_batch() -> None:
    before, after = "memory.keep_little()", "memory.release()"
    assert let_go(400_000, 50, before=before, after=after) > 120


@only_linux
def test_batches_release_memory_rarely_and_models_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    trimmed: list[int] = []
    now = 100.0
    monkeypatch.setattr(memory, "_malloc_trim", trimmed.append)
    monkeypatch.setattr(memory, "_last", float("-inf"))
    monkeypatch.setattr(memory.time, "process_time", lambda: now)
    memory.release()
    memory.release()
    assert len(trimmed) == 1
    memory.release(at_once=True)
    assert len(trimmed) == 2
    now += memory.SELDOM
    memory.release()
    assert len(trimmed) == 3


#: Page faults of a batch that uses the same amount of memory again and again.
WITHIN_A_BATCH = """
import resource
import numpy as np
from backend.engine import memory

memory.keep_little()
np.ones(500_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(50):
    np.ones(500_000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@only_linux
def test_a_batch_keeps_memory_that_it_reuses() -> None:
    """Each of the 977 pages of an array would have to be cleared by the kernel again."""
    done = subprocess.run(
        [sys.executable, "-c", WITHIN_A_BATCH], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 2 * 977


def test_every_batch_releases_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given: list[str] = []
    monkeypatch.setattr(memory, "keep_little", lambda: given.append("before"))
    monkeypatch.setattr(memory, "release", lambda **_: given.append("after"))
    engine = Engine(load_settings({"data_directory": str(tmp_path)}, {}))
    assert given == ["before"]
    (state,) = engine.encode([Image.new("RGB", (96, 96), "red")])
    given.clear()  # loading a model releases memory as well
    engine.trajectories([(state, "a red square")])
    assert given == ["after"]
