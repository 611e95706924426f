"""Processor time and peak memory of a whole program."""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[2]
#: Runs `run()` and reports the cost of its own process.
_MEASURED = """
import json, resource, sys
%s

try:
    run()
finally:
    used = resource.getrusage(resource.RUSAGE_SELF)
    from research.bench.process_cost import peak_mebibytes
    print(json.dumps([used.ru_utime + used.ru_stime, peak_mebibytes()]), file=sys.stderr)
"""


@dataclass(frozen=True)
class ProcessCost:
    """`processor_seconds`: user and system time, including imports; `peak_mebibytes`: peak resident
    memory; `answer`: the parsed JSON that the program printed."""

    processor_seconds: float
    peak_mebibytes: float
    answer: Any


def peak_mebibytes() -> float:
    """Peak resident memory of this process, from /proc if it exists: `ru_maxrss` may include the
    memory that the parent held when it forked."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
    except OSError:  # without /proc (macOS), in bytes
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def cost_of(source: str, arguments: Sequence[str], folder: str) -> ProcessCost:
    """Run `source`, which defines `run()`, in a separate process with `folder` as data directory.

    `run` gets `arguments` as `sys.argv[1:]` and prints JSON. Raises RuntimeError if it fails.
    """
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED % source, *arguments],
        cwd=_ROOT, env={**os.environ, "TRACED_DATA_DIRECTORY": folder}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"The program under measurement failed: {done.stderr[-2000:]}")
    seconds, peak = json.loads(done.stderr.strip().splitlines()[-1])
    return ProcessCost(seconds, peak, json.loads(done.stdout))
