"""Memory that is free is given back to the system.

Each batch takes and frees large arrays of changing sizes, in several threads. The C library keeps
what is freed for later, in pieces that the next batch's sizes do not fit: without this, scoring
13,500 pairs took 2.5 GB that nobody used.
"""

import ctypes
import sys


def give_back() -> None:
    """A millisecond or a few; nothing where the C library is not GNU's."""
    if _trim is not None:
        _trim(0)


def _found() -> "ctypes._NamedFuncPointer | None":
    if not sys.platform.startswith("linux"):
        return None
    try:
        return ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):  # musl has none
        return None


_trim = _found()
