"""A pool of daemon threads, which never delays stopping.

`ThreadPoolExecutor` waits for running tasks at shutdown, and again when the interpreter exits;
decoding an image may take a while.
"""

import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from types import TracebackType
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stopped = True
        for _ in range(self._threads):
            self._tasks.put(None)

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """The results in the items' order. Raises the first error that occurs."""
        done: SimpleQueue[tuple[int, Any, BaseException | None]] = SimpleQueue()

        def task(number: int, item: Item) -> Callable[[], None]:
            def run() -> None:
                try:
                    done.put((number, function(item), None))
                except BaseException as error:  # re-raised by the waiting thread
                    done.put((number, None, error))

            return run

        for number, item in enumerate(items):
            self._tasks.put(task(number, item))
        results: dict[int, Result] = {}
        for _ in items:
            number, result, error = _waited_for(done)
            if error is not None:
                raise error
            results[number] = result
        return [results[number] for number in range(len(items))]

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None and not self._stopped:
            task()


def _waited_for(queue: SimpleQueue[Item]) -> Item:
    """The next item. Waits with a timeout: a signal that arrives just before an unlimited wait is
    handled only when the wait ends, so Ctrl-C would have no effect while all threads hang."""
    while True:
        try:
            return queue.get(timeout=_PATIENCE)
        except Empty:
            continue
