"""Fetch untrusted URLs: with limits, and never from a private network.

A dataset's URL may point to `169.254.169.254`, a router or this machine (server-side request
forgery). Every connection, including those of redirects, is made to an address that we have
resolved and checked; a name that resolves to a private address is refused, even if it resolves to a
public one too, and so is an address that a tunnel or a translator maps to a private one.

One deadline covers the whole fetch: name resolution, connecting, every byte of headers and body,
and redirects.
"""

import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

import httpcore2
import httpx2

_REDIRECTS = 5
_MOVED = (301, 302, 303, 307, 308)
#: Below 500, what a server answers that may answer otherwise soon.
_PASSING = (408, 425, 429)


class FetchError(Exception):
    """Raised if a URL could not be fetched; the message is the reason in a few words."""


class FetchRefused(FetchError):
    """Raised if no second try would change that."""


@dataclass(frozen=True)
class Limits:
    """Limits for fetching one URL; `pixels` applies to the decoded image. `allow_private`: for own
    servers, and tests."""

    seconds: float = 20.0
    bytes: int = 30_000_000
    allow_private: bool = False
    pixels: int = 100_000_000


class _Deadline(threading.local):
    """The deadline of the fetch running in this thread (`time.monotonic`).

    Connections are shared by threads and outlive a fetch, so it is not stored in them.
    """

    at: float = float("inf")

    def seconds_left(self, timeout: float | None = None) -> float:
        """Seconds left, at most `timeout`. Raises httpcore2.ReadTimeout if there are none."""
        remaining = self.at - time.monotonic()
        if remaining <= 0:
            raise httpcore2.ReadTimeout("the deadline has passed")
        return remaining if timeout is None else min(timeout, remaining)


class _TimedStream(httpcore2.NetworkStream):
    """A connection whose reads and writes end at the deadline of the whole fetch."""

    def __init__(self, plain: httpcore2.NetworkStream, deadline: _Deadline) -> None:
        self._plain, self._deadline = plain, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._plain.read(max_bytes, self._deadline.seconds_left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._plain.write(buffer, self._deadline.seconds_left(timeout))

    def close(self) -> None:
        self._plain.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        remaining = self._deadline.seconds_left(timeout)
        inner = self._plain.start_tls(ssl_context, server_hostname, remaining)
        return _TimedStream(inner, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._plain.get_extra_info(info)


class _CheckedNetwork(httpcore2.NetworkBackend):
    """Connects only to public addresses, before the deadline."""

    def __init__(self, allow_private: bool, deadline: _Deadline) -> None:
        self._plain = httpcore2.SyncBackend()
        self._allow_private = allow_private
        self._deadline = deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        remaining = self._deadline.seconds_left(timeout)
        address = public_address(host, port, self._allow_private, remaining)
        remaining = self._deadline.seconds_left(timeout)
        plain = self._plain.connect_tcp(address, port, remaining, local_address, socket_options)
        return _TimedStream(plain, self._deadline)


def as_url(address: str) -> str:
    """Convert an IRI to a URL: IDNA host, the rest percent-encoded, no fragment. Raises FetchError
    if it is invalid, or not http or https."""
    if not address.lower().startswith(("http://", "https://")):
        raise FetchRefused("the address is not http or https")
    try:
        url = httpx2.URL(address).copy_with(fragment=None)
        host, port = url.host, url.port
    except (httpx2.InvalidURL, ValueError, UnicodeError) as problem:
        raise FetchRefused("the address is invalid") from problem
    if not host or "%" in host or (port is not None and not 0 < port < 65536):
        raise FetchRefused("the address is invalid")
    return str(url)


def public_address(
    host: str, port: int, allow_private: bool = False, seconds: float | None = None
) -> str:
    """An IP address of the host. Raises FetchError if it cannot be resolved in time, or if any of
    its addresses is not public."""
    addresses = [str(entry[4][0]) for entry in _resolve(host, port, seconds)]
    for address in addresses:
        if not allow_private and not _is_public(ipaddress.ip_address(address.partition("%")[0])):
            raise FetchRefused("the address is not public")
    return addresses[0]


def _resolve(host: str, port: int, seconds: float | None) -> list[Any]:
    """Run `getaddrinfo`, which has no timeout, in a separate thread."""
    result: list[Any] = []
    problems: list[BaseException] = []

    def resolve() -> None:
        try:
            result.extend(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except Exception as problem:
            problems.append(problem)

    thread = threading.Thread(target=resolve, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise FetchError("looking up the host name takes too long")
    if problems or not result:
        raise FetchError("the host's name cannot be resolved") from next(iter(problems), None)
    return result


#: Prefixes of IPv6 addresses whose last 32 bits are an IPv4 address (NAT64, RFC 6052;
#: IPv4-compatible, RFC 4291; IPv4-translated, RFC 2765).
_EMBEDDING = tuple(map(ipaddress.IPv6Network, ("64:ff9b::/96", "::/96", "::ffff:0:0:0/96")))
#: Networks whose destination cannot be determined: local-use NAT64 (RFC 8215), Teredo.
_REFUSED = tuple(map(ipaddress.IPv6Network, ("64:ff9b:1::/48", "2001::/32")))
#: Not globally reachable according to IANA, but global in some versions of Python: protocol
#: assignments (RFC 6890), 6to4 relay anycast (RFC 7526), documentation (RFC 9637), SRv6 (RFC 9602).
_SPECIAL_4 = tuple(map(ipaddress.IPv4Network, ("192.0.0.0/24", "192.88.99.0/24")))
_SPECIAL_6 = tuple(map(ipaddress.IPv6Network, ("3fff::/20", "5f00::/16")))


def _is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if isinstance(address, ipaddress.IPv4Address):
        special = address.is_multicast or any(address in network for network in _SPECIAL_4)
        return address.is_global and not special
    inner = address.ipv4_mapped or address.sixtofour
    if inner is None and any(address in network for network in _EMBEDDING):
        inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if inner is not None:
        return _is_public(inner)
    if any(address in network for network in (*_REFUSED, *_SPECIAL_6)):
        return False
    return address.is_global and not (address.is_multicast or address.is_site_local)


class Fetcher:
    """A thread-safe pool of reusable connections."""

    def __init__(self, limits: Limits, connections: int = 16) -> None:
        self._limits = limits
        self._deadline = _Deadline()
        self._pool = httpcore2.ConnectionPool(
            ssl_context=ssl.create_default_context(),
            max_connections=connections,
            network_backend=_CheckedNetwork(limits.allow_private, self._deadline),
        )

    def fetch(self, url: str) -> bytes:
        """The response body. Raises FetchError with the reason."""
        return self._fetch(url, 200, [(b"Accept", b"image/*")])[1]

    def fetch_part(self, url: str, start: int, end: int) -> tuple[dict[str, str], bytes]:
        """The headers, by names in small letters, and the bytes from `start` to `end`. Raises
        FetchError with the reason."""
        return self._fetch(url, 206, [(b"Range", b"bytes=%d-%d" % (start, end - 1))])

    def _fetch(
        self, url: str, status: int, headers: list[tuple[bytes, bytes]]
    ) -> tuple[dict[str, str], bytes]:
        self._deadline.at = time.monotonic() + self._limits.seconds
        try:
            url = as_url(url)
            for _ in range(_REDIRECTS + 1):
                answer = self._once(url, status, headers)
                if not isinstance(answer, str):
                    return answer
                url = as_url(urljoin(url, answer))
        except (httpcore2.TimeoutException, TimeoutError) as problem:
            raise FetchError("it takes too long") from problem
        except (httpcore2.NetworkError, httpcore2.ProtocolError, OSError) as problem:
            raise FetchError(f"the connection failed: {type(problem).__name__}") from problem
        except (httpcore2.UnsupportedProtocol, ValueError, TypeError) as problem:
            raise FetchRefused("the address is invalid") from problem
        raise FetchRefused("there are too many redirects")

    def close(self) -> None:
        self._pool.close()

    def _once(
        self, url: str, status: int, request_headers: list[tuple[bytes, bytes]]
    ) -> tuple[dict[str, str], bytes] | str:
        """The response's headers and body, or the target of a redirect."""
        remaining = self._deadline.seconds_left()
        timeout = {"connect": remaining, "read": remaining, "write": remaining, "pool": remaining}
        with self._pool.stream(
            "GET", url, headers=[(b"User-Agent", b"traced-curator"), *request_headers],
            extensions={"timeout": timeout},
        ) as answer:  # fmt: skip
            headers = {_text(name).lower(): _text(value) for name, value in answer.headers}
            if answer.status in _MOVED:
                return headers.get("location", "")
            if answer.status != status:
                may_pass = answer.status >= 500 or answer.status in _PASSING
                kind = FetchError if may_pass else FetchRefused
                raise kind(f"the server answers {answer.status}")
            body = bytearray()
            for part in answer.iter_stream():
                body += part
                if len(body) > self._limits.bytes:
                    raise FetchRefused(f"it is larger than {self._limits.bytes:,} bytes")
                self._deadline.seconds_left()
            return headers, bytes(body)


def _text(header: bytes) -> str:
    """Decode a header: servers send URLs in UTF-8; anything else is Latin-1, as in HTTP."""
    try:
        return header.decode("utf-8")
    except UnicodeDecodeError:
        return header.decode("latin-1")
