"""Memory that is free belongs to the system.

A batch takes and frees large arrays of ever changing sizes, in several threads. GNU's C library
keeps what is freed for later, in pieces that the next batch's sizes do not fit: left alone, scoring
13,500 pairs came to hold 2.5 GB, most of which nobody used. Other C libraries need nothing of this.
"""

import ctypes
import sys
from typing import Any

#: From so many bytes on an array has pages of its own, which go back when it does. GNU's own limit
#: rises up to 32 MiB with what is freed.
OWN_PAGES = 2**20
_M_MMAP_THRESHOLD = -3  # malloc.h


def _function(name: str) -> Any:
    """Of the C library; None where it is not GNU's."""
    try:
        return getattr(ctypes.CDLL(None), name) if sys.platform.startswith("linux") else None
    except (OSError, AttributeError):
        return None


_mallopt, _malloc_trim = _function("mallopt"), _function("malloc_trim")


def keep_little() -> None:
    """For the whole process, before it computes."""
    if _mallopt is not None:
        _mallopt(_M_MMAP_THRESHOLD, OWN_PAGES)


def give_back() -> None:
    """After a batch: what is free between pieces in use. Takes milliseconds."""
    if _malloc_trim is not None:
        _malloc_trim(0)


def resident() -> int:
    """Bytes of memory that this program holds now."""
    import psutil

    return int(psutil.Process().memory_info().rss)
