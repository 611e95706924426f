"""Returns freed memory to the operating system.

Batches allocate and free large arrays of varying sizes, in several threads. glibc retains freed
memory in fragments that do not fit the next batch's sizes: without this module, scoring 13,500
pairs grew to 2.5 GB, most of it unused. Other C libraries do not need this.

Within a batch memory is kept: the kernel clears every page that is returned and mapped again, and
doing that for each array took a fifth of the processor's time (BENCHMARKS.md, "Memory").
"""

import ctypes
import gc
import sys
import time
from typing import Any

_MIB = 2**20
#: Allocations from this size on are mapped separately and unmapped when freed. glibc's default
#: threshold is dynamic and rises up to 32 MiB, with which the peak is a quarter higher.
OWN_PAGES = 8 * _MIB
#: Free memory at the end of a heap that is kept until `release`.
KEPT = 64 * _MIB
#: Processor time of this process, in seconds, between two releases of the memory that batches leave
#: behind.
SELDOM = 5.0
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h


def _function(name: str) -> Any:
    """A function of the C library; None if it is not glibc."""
    try:
        return getattr(ctypes.CDLL(None), name) if sys.platform.startswith("linux") else None
    except (OSError, AttributeError):
        return None


_mallopt, _malloc_trim = _function("mallopt"), _function("malloc_trim")


def limit_heap() -> None:
    """Fix the thresholds for the whole process; call before any computation."""
    if _mallopt is not None:
        _mallopt(_M_MMAP_THRESHOLD, OWN_PAGES)
        _mallopt(_M_TRIM_THRESHOLD, KEPT)


#: The process's processor time at the last return.
_last = float("-inf")


def release(at_once: bool = False) -> None:
    """Release free memory between allocations in use; call after a batch. Takes milliseconds, and
    as many to allocate it again in the next batch, so most calls do nothing, unless `at_once`."""
    global _last
    if _malloc_trim is not None and (at_once or time.process_time() - _last >= SELDOM):
        _malloc_trim(0)
        _last = time.process_time()


def settle() -> None:
    """Leave what exists now out of all later garbage collections; call once what lasts is loaded.
    One that visits the 600,000 objects of torch, Gradio and the rest stops all threads for 0.3 s.
    """
    gc.freeze()


def resident() -> int:
    """Resident memory of this process, in bytes."""
    import psutil

    return int(psutil.Process().memory_info().rss)
