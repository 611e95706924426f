"""A pool of daemon threads, which never delays stopping.

`ThreadPoolExecutor` waits for running tasks at shutdown, and again when the interpreter exits;
decoding an image may take a while.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from functools import partial
from queue import SimpleQueue
from typing import Any, Self, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


#: Seconds between checks for Ctrl-C.
_PATIENCE = 0.2


class DaemonPool:
    """A fixed number of threads, which end with the `with` block or with the program."""

    def __init__(self, threads: int) -> None:
        self._tasks: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads = threads
        self._stopped = False

    def __enter__(self) -> Self:
        for _ in range(self._threads):
            threading.Thread(target=self._work, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stopped = True
        for _ in range(self._threads):
            self._tasks.put(None)

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """The results in the items' order. Raises the error of the first item with one."""
        futures = [self.submit(function, item) for item in items]
        return [result_of(future) for future in futures]

    def submit(self, function: Callable[..., Result], *arguments: Any) -> Future[Result]:
        """A future of `function(*arguments)`; wait for it with `result_of`."""
        future: Future[Result] = Future()
        self._tasks.put(partial(_complete, future, function, arguments))
        return future

    def map_in_order(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[Result]:
        """The results in the items' order, each as soon as it is available.

        An error is raised in its item's place: no further item is started, and those already
        started are completed first. A caller that stops early, or is interrupted, does not wait for
        them.
        """
        futures = [self.submit(function, item) for item in items]
        try:
            for future in futures:
                yield result_of(future)
        except Exception:
            _wait_for([future for future in futures if not future.cancel()])
            raise
        finally:
            for future in futures:
                future.cancel()

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None and not self._stopped:
            task()
            del task  # frees what it holds, such as a picture, before the next result arrives


def result_of(future: Future[Result]) -> Result:
    """The result, or the error raised in its place; Ctrl-C ends the wait."""
    _wait_for([future])
    return future.result()


def _wait_for(futures: Sequence[Future[Any]]) -> None:
    """Waits with a timeout: a signal that arrives just before an unlimited wait is handled only
    when the wait ends, so Ctrl-C would have no effect while all threads hang."""
    while wait(futures, _PATIENCE).not_done:
        pass


def _complete(
    future: Future[Result], function: Callable[..., Result], arguments: tuple[Any, ...]
) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = function(*arguments)
    except BaseException as error:  # re-raised in the waiting thread
        future.set_exception(error)
    else:
        future.set_result(result)
