"""Free memory is returned to the system after every batch of trajectories."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

#: Prints the MiB that the process releases when all arrays but the last are freed. They are too
#: small to be mapped separately: without help they stay in the heap below the last one.
LET_GO = """
from pathlib import Path
import numpy as np
from backend.engine import memory

def used():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("RssAnon"))

np.ones(4_000_000)  # by default glibc would keep blocks of this size from now on
arrays = [np.ones(12_000) for _ in range(2_000)]
kept = arrays.pop()
full = used()
arrays.clear()
memory.release()
print(full - used())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_below_a_block_in_use_is_released() -> None:
    """In a new process: gaps in the heap of a used one would hide the effect."""
    done = subprocess.run(
        [sys.executable, "-c", LET_GO], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert float(done.stdout) > 150
