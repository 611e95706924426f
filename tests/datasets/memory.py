"""The largest memory that this process has held so far."""

import resource
from pathlib import Path

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def peak_memory() -> int:
    """Bytes. Not `ru_maxrss` where there is /proc: it begins with what the process held that
    started this one, so that a program of a large test process never grows."""
    if not _STATUS.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    lines = _STATUS.read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024


def forget_peak() -> None:
    """Measure anew, in a process that may have held more before. Linux only."""
    if _CLEAR.exists():
        _CLEAR.write_text("5", encoding="ascii")
