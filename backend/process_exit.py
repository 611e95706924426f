"""The one way to end this process at once."""

import os
import sys
from typing import NoReturn


def leave_at_once(status: int = 0) -> NoReturn:
    """End this process without waiting for the threads of libraries, inside which a normal exit
    would abort. What the store confirmed is on disk."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
