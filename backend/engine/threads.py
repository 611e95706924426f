"""The number of compute threads, and their wait policy.

OpenMP's threads spin while they wait for each other. On an idle machine that saves microseconds;
next to another busy program they occupy the cores that it needs, and two programs scoring
concurrently took several times as long as one after the other. Waiting threads therefore sleep, and
a model too small to gain from a second thread gets one. Tokenizers use the calling thread: their
batches are the candidates of one caption, and distributing these took twice the processor time.

Nothing here imports torch: `set_passive_wait` must come first. Environment variables
override them (`OMP_WAIT_POLICY`, `GOMP_SPINCOUNT`, `KMP_BLOCKTIME`; `OMP_NUM_THREADS`;
`TOKENIZERS_PARALLELISM`).
"""

import os
from collections.abc import MutableMapping

#: Below this number of parameters a second thread costs more than it gains.
SMALL = 20_000_000
_WAITING = {
    "OMP_WAIT_POLICY": "PASSIVE",  # any OpenMP
    "GOMP_SPINCOUNT": "0",  # GNU's, shipped with torch on Linux
    "KMP_BLOCKTIME": "0",  # Intel's and LLVM's, milliseconds
    "TOKENIZERS_PARALLELISM": "false",  # Hugging Face's
}


def set_passive_wait(environment: MutableMapping[str, str] = os.environ) -> None:
    """Set the wait policy, and one thread for tokenizers; call before torch is imported, as OpenMP
    reads it when loaded."""
    for name, value in _WAITING.items():
        environment.setdefault(name, value)


def cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def picture_threads() -> int:
    """Pictures decoded or reduced at once: an accelerator waits for what few processors cannot
    deliver, and more than some would only cost memory."""
    return min(16, max(4, cores()))


def others_load(own_threads: int) -> float:
    """The number of other runnable threads on this machine (one-minute mean), at least 0."""
    try:
        return max(0.0, os.getloadavg()[0] - own_threads)
    except OSError:  # not known on this system
        return 0.0


def idle_cores() -> int:
    """The number of cores that this process may use and others leave idle, including those it
    uses."""
    return max(1, cores() - round(others_load(1)))


def threads_for(parameters: int, available: int, load: float, setting: str | None = None) -> int:
    """The number of threads for one model's matrix products.

    `available`: cores; `load`: threads of other programs; `setting`: OMP_NUM_THREADS, which takes
    precedence.

    >>> threads_for(3_500_000, 8, 0.0), threads_for(220_000_000, 8, 0.0)
    (1, 8)
    >>> threads_for(220_000_000, 8, 6.2), threads_for(220_000_000, 2, 30.0)
    (2, 1)
    >>> threads_for(220_000_000, 8, 0.0, "3")
    3
    """
    first = (setting or "").split(",")[0].strip()
    if first.isdecimal() and int(first) > 0:
        return int(first)
    if parameters < SMALL:
        return 1
    return max(1, available - round(load))
