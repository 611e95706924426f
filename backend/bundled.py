"""Locations of the files shipped with the program: the embedded models and the demo dataset; and
the one way to end this process at once.

A checkout has them in `assets/`; an installed wheel has them inside the package (`pyproject.toml`).
"""

import os
import sys
from pathlib import Path
from typing import NoReturn


def exit_immediately(status: int = 0) -> NoReturn:
    """End this process without waiting for the threads of libraries, inside which a normal exit
    would abort. What the store confirmed is on disk. Where what was printed cannot be written, that
    is said, and is a failure."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except OSError as problem:
            status = status or 1
            if not isinstance(problem, BrokenPipeError):  # whoever reads it wants no more
                os.write(2, f"Error: what was printed is not whole: {problem.strerror}.\n".encode())
    os._exit(status)


def restrict_umask() -> None:
    """From now on, what this process writes (verdicts, password hashes, exports) is nobody else's:
    0700 and 0600. A group that the user lets write, too (umask 002), keeps its access."""
    mask = os.umask(0o077)
    if not mask & 0o020:
        os.umask(mask | 0o007)


_PACKAGE = Path(__file__).resolve().parent
#: Whether the program runs from its source tree rather than from an installed wheel.
IS_CHECKOUT = not (_PACKAGE / "assets").is_dir()
#: Without links, as every path that somebody gives is read.
ASSETS = (_PACKAGE.parent / "assets" if IS_CHECKOUT else _PACKAGE / "assets").resolve()
MODELS = ASSETS / "models"
DEMO = ASSETS / "demo"
