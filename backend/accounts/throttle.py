"""A limit on guessing: attempts are counted before they are looked at, and the wait grows.

Counting afterwards would let any number of parallel guesses through while the first is checked.
"""

import ipaddress
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass


def network_of(address: str) -> str:
    """What an address counts as: of IPv6 its first 64 bits, since one customer has all the others.

    >>> network_of("192.0.2.7"), network_of("2001:db8:0:1:2:3:4:5"), network_of("::ffff:192.0.2.7")
    ('192.0.2.7', '2001:db8:0:1::/64', '192.0.2.7')
    """
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address  # a socket's path, or nothing
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)


@dataclass
class _Attempts:
    """`count`: failed ones and those under way. `free_at`: when the next may be made."""

    count: int = 0
    free_at: float = 0.0
    last: float = 0.0


class Throttle:
    """After a key's limit of failures it waits `seconds`, twice as long after each further one, at
    most `longest`; after `longest` without an attempt all is forgotten. Of too many keys those
    that were used longest ago go first."""

    def __init__(
        self,
        seconds: float = 60.0,
        longest: float = 900.0,
        keys: int = 10_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds = seconds
        self._longest = longest
        self._keys = keys
        self._clock = clock
        self._of: OrderedDict[str, _Attempts] = OrderedDict()
        self._lock = threading.Lock()

    def admit(self, limits: Mapping[str, int]) -> float:
        """Count an attempt under every key, with its limit, and answer 0.0; or the seconds until
        one may be made, with nothing counted."""
        with self._lock:
            now = self._clock()
            for key in limits:
                attempts = self._of.get(key)
                if attempts is not None and now - attempts.last > self._longest:
                    del self._of[key]
            waits = (self._of[key].free_at - now for key in limits if key in self._of)
            wait = max(waits, default=0.0)
            if wait > 0:
                return wait
            for key, limit in limits.items():
                self._count(key, limit, now)
            while len(self._of) > self._keys:
                self._of.popitem(last=False)
            return 0.0

    def succeeded(self, *keys: str) -> None:
        """The attempt was right: what was failed under these keys is forgotten."""
        with self._lock:
            for key in keys:
                self._of.pop(key, None)

    def take_back(self, *keys: str) -> None:
        """The attempt was right, but says nothing about the others under these keys."""
        with self._lock:
            for key in keys:
                if (attempts := self._of.get(key)) is not None:
                    attempts.count -= 1
                    attempts.free_at = 0.0

    def _count(self, key: str, limit: int, now: float) -> None:
        attempts = self._of.setdefault(key, _Attempts())
        attempts.count += 1
        attempts.last = now
        beyond = attempts.count - limit
        if beyond >= 0:
            attempts.free_at = now + min(self._longest, self._seconds * 2.0 ** min(beyond, 30))
        self._of.move_to_end(key)
