"""Whether another program on this machine still runs."""

import os


def is_running(process: int) -> bool:
    """Whether a process of this id lives; one that belongs to somebody else does as well."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True
