"""A limit on guessing: after some failures a name, or an address, has to wait."""

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable


class Throttle:
    """At most `failures` in `seconds` for one key; the oldest keys are forgotten."""

    def __init__(
        self,
        failures: int = 5,
        seconds: float = 60.0,
        keys: int = 10_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._failures = failures
        self._seconds = seconds
        self._keys = keys
        self._clock = clock
        self._failed: OrderedDict[str, deque[float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, *keys: str) -> float:
        """Seconds until one of these may try again; 0: now."""
        with self._lock:
            return max((self._wait(key) for key in keys), default=0.0)

    def failed(self, *keys: str) -> None:
        with self._lock:
            for key in keys:
                times = self._failed.setdefault(key, deque(maxlen=self._failures))
                times.append(self._clock())
                self._failed.move_to_end(key)
            while len(self._failed) > self._keys:
                self._failed.popitem(last=False)

    def succeeded(self, *keys: str) -> None:
        with self._lock:
            for key in keys:
                self._failed.pop(key, None)

    def _wait(self, key: str) -> float:
        times = self._failed.get(key)
        if times is None or len(times) < self._failures:
            return 0.0
        return max(0.0, times[0] + self._seconds - self._clock())
