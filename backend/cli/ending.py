"""The end of the program, which waits for nothing without a limit.

Before an interpreter ends it waits for threads, then for what libraries have registered, and then
takes these libraries apart, inside which a thread may wait for ever; by then none of ours runs that
could notice. A command that is done has its results on disk. So the first two waits have a limit,
and the third is left out.
"""

import atexit
import contextlib
import logging
import multiprocessing
import threading
from collections.abc import Iterator

from backend.bundled import exit_immediately
from backend.cli.output import console
from backend.errors import INTERRUPTED

#: Seconds for which a command that is done waits for threads and processes.
PATIENCE = 30.0


@contextlib.contextmanager
def exit_with_timeout() -> Iterator[None]:
    """The program's work is the block, and it ends soon after it, with the block's exit status.
    Enter it before libraries are imported: what they register for the end runs before ours."""
    status = 1

    def leave() -> None:
        logging.shutdown()  # registered before ours, by the import of logging
        for child in multiprocessing.active_children():
            child.kill()
        exit_immediately(status)

    def give_up() -> None:
        names = [
            thread.name
            for thread in threading.enumerate()
            if not thread.daemon and thread is not threading.main_thread()
        ]
        names += [f"the process {child.pid}" for child in multiprocessing.active_children()]
        console.print(
            f"Done, but waiting for {', '.join(names) or 'a library'} for {PATIENCE:.0f} s: ends."
        )
        leave()

    atexit.register(leave)
    try:
        yield
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        raise
    except KeyboardInterrupt:
        status = INTERRUPTED
        raise
    finally:
        timer = threading.Timer(PATIENCE, give_up)
        timer.daemon = True
        timer.start()
