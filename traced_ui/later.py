"""What a server puts off: an application until it is asked, other work until nobody waits."""

import threading
import time
from collections.abc import Callable

from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Receive, Scope, Send

#: Seconds without a request after which nobody is expected to wait.
QUIET = 2.0


class LateApp:
    """An application that is made for its first request."""

    def __init__(self, make: Callable[[], ASGIApp]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._app: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app or await run_in_threadpool(self._single)
        await app(scope, receive, send)

    def _single(self) -> ASGIApp:
        with self._lock:
            if self._app is None:
                self._app = self._make()
            return self._app


class QuietMoments:
    """An application that knows when it was last asked."""

    def __init__(self, app: ASGIApp, clock: Callable[[], float] = time.monotonic) -> None:
        self._app, self._clock = app, clock
        self._asked = 0.0
        self._answered = threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._asked = self._clock()
        await self._app(scope, receive, send)
        if scope["type"] == "http":
            self._answered.set()

    def wait(self) -> None:
        """Wait, in a thread, until a first request was answered and no other came for `QUIET`."""
        self._answered.wait()
        while (rest := self._asked + QUIET - self._clock()) > 0:
            time.sleep(rest)
