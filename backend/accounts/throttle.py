"""Throttling of login attempts: they are counted before they are checked, and the wait grows.

Counting afterwards would let any number of parallel guesses through while the first is checked. A
browser that has logged in before is throttled separately, so that guesses made elsewhere do not
lock it out (https://owasp.org/www-community/Slow_Down_Online_Guessing_Attacks_with_Device_Cookies).
Its cookie is `nonce.mac`, where the MAC of name and nonce is keyed with a secret of the database:
it proves an earlier login under that name and grants no access by itself.
"""

import hashlib
import hmac
import ipaddress
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass


def new_device(secret: bytes, name: str) -> str:
    """A cookie for the browser that `name` has just logged in with."""
    nonce = secrets.token_hex(16)
    return f"{nonce}.{_mac(secret, name, nonce)}"


def known_device(secret: bytes, name: str, cookie: str | None) -> str | None:
    """The nonce of a device that `name` has logged in with before; None if the cookie is not
    valid."""
    nonce, _, mac = (cookie or "").partition(".")
    device_key = mac.encode("utf-8", "replace")
    return nonce if hmac.compare_digest(_mac(secret, name, nonce).encode(), device_key) else None


def _mac(secret: bytes, name: str, nonce: str) -> str:
    message = f"{nonce}:{name}".encode("utf-8", "replace")
    return hmac.new(secret, message, hashlib.sha256).hexdigest()


def network_of(address: str) -> str:
    """The network by which an address is throttled: for IPv6 its /64, all of one customer's.

    >>> network_of("192.0.2.7"), network_of("2001:db8:0:1:2:3:4:5"), network_of("::ffff:192.0.2.7")
    ('192.0.2.7', '2001:db8:0:1::/64', '192.0.2.7')
    """
    try:
        ip_address = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address  # a Unix socket's path, or empty
    if isinstance(ip_address, ipaddress.IPv6Address):
        if ip_address.ipv4_mapped is not None:
            return str(ip_address.ipv4_mapped)
        return str(ipaddress.ip_network((ip_address, 64), strict=False))
    return str(ip_address)


@dataclass
class _Attempts:
    """`count`: failed and pending attempts. `free_at`: when the next one is allowed."""

    count: int = 0
    free_at: float = 0.0
    last: float = 0.0


class Throttle:
    """Exponential backoff by key. After its limit of failures a key is blocked for `seconds`, twice
    as long after each further failure, at most `longest`; after `longest` without an attempt, its
    failures are forgotten. Above `keys` keys, the least recently used are evicted."""

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
        """Count an attempt for every key and return 0.0; if any key is blocked, count nothing and
        return the seconds to wait. `limits`: key to limit of failures."""
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

    def record_success(self, *keys: str) -> None:
        """Forget the failures of these keys, after a successful attempt."""
        with self._lock:
            for key in keys:
                self._of.pop(key, None)

    def take_back(self, *keys: str) -> None:
        """Uncount a successful attempt, which says nothing about other attempts for these keys."""
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
