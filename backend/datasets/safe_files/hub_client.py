"""The client of the Hugging Face Hub: its own library, whose connections are checked as `fetching`
checks those to the addresses in a dataset.

The administrator chooses the hub (HF_ENDPOINT) and a proxy, which may be private. Where else a
request leads is up to servers: a redirect to a private network is refused. The hub's second
protocol, Xet, has connections of its own, so files come by plain HTTP.
"""

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal
from urllib.request import getproxies, proxy_bypass

import httpx2
from huggingface_hub import HfApi, constants, hf_hub_url, set_client_factory
from huggingface_hub.errors import OfflineModeIsEnabled
from huggingface_hub.file_download import http_get
from huggingface_hub.utils import build_hf_headers, tqdm

from backend.datasets.safe_files.fetching import FetchError, public_address

_PORTS = {"http": 80, "https": 443}
#: Seconds for a connection, and for each read and write.
_TIMEOUT = httpx2.Timeout(120, connect=30)


@dataclass(frozen=True)
class RemoteFile:
    """`checksum`: SHA-256 for files in large file storage, else the git blob digest."""

    name: str
    size: int
    checksum: str
    is_large: bool


def hub_api(anonymous: bool = False) -> HfApi:
    """The hub's API. `anonymous`: without the token of this machine, which belongs to who runs the
    program and not to each of its users."""
    guard_connections()
    return HfApi(token=False if anonymous else None)


@cache
def guard_connections() -> None:
    """From now on, every connection of `huggingface_hub` in this process is checked."""
    set_client_factory(
        lambda: httpx2.Client(
            transport=_CheckedTransport(), event_hooks={"request": [_refuse_offline]},
            follow_redirects=True, timeout=_TIMEOUT,
        )
    )  # fmt: skip


def save(
    name: str,
    file: RemoteFile,
    part: Path,
    revision: str,
    tick: Callable[[int], None],
    repo_type: Literal["model", "dataset"] = "model",
    anonymous: bool = False,
) -> int:
    """Continue or begin the download of a file to `part`, and compare its checksum; returns the
    bytes transferred. `tick` is called with the bytes that are there.

    Raises FetchError if more bytes come than the hub lists, or others, and as the client does.
    """
    guard_connections()
    start = done = min(part.stat().st_size, file.size) if part.is_file() else 0
    tick(done)

    class Bar(tqdm):
        """Called by the hub's client before it writes a chunk; prints nothing."""

        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options | {"disable": True})

        def update(self, n: float | None = 1) -> None:
            nonlocal done
            done += int(n or 0)
            if done > file.size:
                raise FetchError(f"'{file.name}' has more bytes than the hub lists")
            tick(done)

    with part.open("ab") as out:
        http_get(
            hf_hub_url(name, file.name, revision=revision, repo_type=repo_type),
            out, resume_size=start, headers=build_hf_headers(token=False if anonymous else None),
            expected_size=file.size, tqdm_class=Bar,
        )  # fmt: skip
    if checksum_of(part, file.is_large) != file.checksum:
        part.unlink()
        raise FetchError(f"'{file.name}' does not match the hub's checksum")
    return file.size - start


def checksum_of(path: Path, is_large: bool) -> str:
    """SHA-256, or the git blob digest: SHA-1 of length and content."""
    digest = hashlib.sha256()
    if not is_large:
        digest = hashlib.sha1(f"blob {path.stat().st_size}\0".encode())
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: digest).hexdigest()


def _refuse_offline(request: httpx2.Request) -> None:
    if constants.is_offline_mode():
        raise OfflineModeIsEnabled(
            f"{request.url.host} is not asked, because HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is "
            "set"
        )


class _CheckedTransport(httpx2.BaseTransport):
    """Connects to the hub itself, and else to public addresses only; through a proxy, if one is
    configured, which decides itself."""

    def __init__(self) -> None:
        self._inner: dict[tuple[str, ...], httpx2.HTTPTransport] = {}
        self._lock = threading.Lock()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url
        if proxy := _proxy_of(url):
            return self._to(proxy, proxy=proxy).handle_request(request)
        # The name is resolved once, and the connection made to what was checked; the server is
        # still asked, and its certificate checked, by its name.
        is_hub = _origin(url) == _origin(httpx2.URL(constants.ENDPOINT))
        port = url.port or _PORTS.get(url.scheme, 443)
        address = public_address(url.host, port, allow_private=is_hub, seconds=_TIMEOUT.connect)
        pinned_request = httpx2.Request(
            request.method, url.copy_with(host=address), headers=request.headers,
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": url.raw_host.decode("ascii")},
        )  # fmt: skip
        # Servers at one address must not share connections, so each name has its own.
        return self._to(*map(str, _origin(url))).handle_request(pinned_request)

    def _to(self, *place: str, proxy: str | None = None) -> httpx2.HTTPTransport:
        with self._lock:
            if place not in self._inner:
                self._inner[place] = httpx2.HTTPTransport(proxy=proxy)
            return self._inner[place]

    def close(self) -> None:
        for transport in self._inner.values():
            transport.close()


def _origin(url: httpx2.URL) -> tuple[str, str, int]:
    return url.scheme, url.host, url.port or _PORTS.get(url.scheme, 443)


def _proxy_of(url: httpx2.URL) -> str | None:
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    return None if proxy is None or proxy_bypass(url.host) else proxy
