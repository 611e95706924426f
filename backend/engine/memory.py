"""Returns freed memory to the operating system.

Batches allocate and free large arrays of varying sizes, in several threads. glibc retains freed
memory in fragments that do not fit the next batch's sizes: without this module, scoring 13,500
pairs grew to 2.5 GB, most of it unused. Other C libraries do not need this.
"""

import ctypes
import sys
from typing import Any

#: Allocations from this size on are mapped separately and unmapped when freed. glibc's default
#: threshold is dynamic and rises up to 32 MiB.
OWN_PAGES = 2**20
_M_MMAP_THRESHOLD = -3  # malloc.h


def _function(name: str) -> Any:
    """A function of the C library; None if it is not glibc."""
    try:
        return getattr(ctypes.CDLL(None), name) if sys.platform.startswith("linux") else None
    except (OSError, AttributeError):
        return None


_mallopt, _malloc_trim = _function("mallopt"), _function("malloc_trim")


def keep_little() -> None:
    """Fix the mmap threshold for the whole process; call before any computation."""
    if _mallopt is not None:
        _mallopt(_M_MMAP_THRESHOLD, OWN_PAGES)


def give_back() -> None:
    """Release free memory between allocations in use; call after a batch. Takes milliseconds."""
    if _malloc_trim is not None:
        _malloc_trim(0)


def resident() -> int:
    """Resident memory of this process, in bytes."""
    import psutil

    return int(psutil.Process().memory_info().rss)
