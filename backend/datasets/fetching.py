"""Fetch an address that a stranger wrote down: with limits, and never from the inside of a network.

A dataset's URL may name `169.254.169.254`, a router or this very machine (server-side request
forgery). Each connection, those of redirects included, is made to an address that has been resolved
and looked at by us; a name that leads to a private address is refused, also if it leads to a public
one as well.
"""

import ipaddress
import socket
import ssl
import time
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urljoin

import httpcore

_REDIRECTS = 5
_MOVED = (301, 302, 303, 307, 308)


class FetchError(Exception):
    """Why an address was not fetched, in a few words."""


@dataclass(frozen=True)
class Limits:
    """What one address may cost. `allow_private`: for servers of one's own, and tests."""

    seconds: float = 20.0
    bytes: int = 30_000_000
    allow_private: bool = False


class _Checked(httpcore.NetworkBackend):
    """Connects to public addresses alone."""

    def __init__(self, allow_private: bool) -> None:
        self._plain = httpcore.SyncBackend()
        self._allow_private = allow_private

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        address = public_address(host, port, self._allow_private)
        return self._plain.connect_tcp(address, port, timeout, local_address, socket_options)


def public_address(host: str, port: int, allow_private: bool = False) -> str:
    """An address of the host. Raises FetchError if it has none, or one that is not public."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as problem:
        raise FetchError("the host's name leads nowhere") from problem
    addresses = [str(entry[4][0]) for entry in found]
    for address in addresses:
        plain = ipaddress.ip_address(address.partition("%")[0])
        inner = getattr(plain, "ipv4_mapped", None) or plain
        if not allow_private and (not inner.is_global or inner.is_multicast):
            raise FetchError("the address is not public")
    return addresses[0]


class Fetcher:
    """Connections that are used again, for several threads."""

    def __init__(self, limits: Limits, connections: int = 16) -> None:
        self._limits = limits
        self._pool = httpcore.ConnectionPool(
            ssl_context=ssl.create_default_context(),
            max_connections=connections,
            network_backend=_Checked(limits.allow_private),
        )

    def fetch(self, url: str) -> bytes:
        """The body of the answer. Raises FetchError saying why not."""
        deadline = time.monotonic() + self._limits.seconds
        for _ in range(_REDIRECTS + 1):
            found = self._once(url, deadline)
            if isinstance(found, bytes):
                return found
            url = urljoin(url, found)
        raise FetchError("it is redirected again and again")

    def close(self) -> None:
        self._pool.close()

    def _once(self, url: str, deadline: float) -> bytes | str:
        """The body, or where the answer sends us."""
        if not url.lower().startswith(("http://", "https://")):
            raise FetchError("the address is not http or https")
        left = deadline - time.monotonic()
        if left <= 0:
            raise FetchError("it takes too long")
        timeout = {"connect": left, "read": left, "write": left, "pool": left}
        headers = [(b"User-Agent", b"traced-curator"), (b"Accept", b"image/*")]
        try:
            with self._pool.stream(
                "GET", url, headers=headers, extensions={"timeout": timeout}
            ) as answer:
                if answer.status in _MOVED:
                    told = {k.lower(): v for k, v in answer.headers}.get(b"location", b"")
                    return told.decode("latin-1")
                if answer.status != 200:
                    raise FetchError(f"the server answers {answer.status}")
                return self._body(answer, deadline)
        except httpcore.TimeoutException as problem:
            raise FetchError("it takes too long") from problem
        except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as problem:
            raise FetchError(f"the connection failed: {type(problem).__name__}") from problem
        except (httpcore.UnsupportedProtocol, ValueError, UnicodeError) as problem:
            raise FetchError("the address makes no sense") from problem

    def _body(self, answer: httpcore.Response, deadline: float) -> bytes:
        parts, size = [], 0
        for part in answer.iter_stream():
            size += len(part)
            if size > self._limits.bytes:
                raise FetchError(f"it is larger than {self._limits.bytes:,} bytes")
            if time.monotonic() > deadline:
                raise FetchError("it takes too long")
            parts.append(part)
        return b"".join(parts)
