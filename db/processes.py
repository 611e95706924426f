"""Check whether another process on this machine is still running."""

import psutil


def is_running(process: int) -> bool:
    """Whether a process with this id is alive, including those of other users; a zombie is not."""
    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:
        return True
