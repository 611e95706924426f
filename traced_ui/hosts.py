"""Request filter: accepts requests that name this server and do not come from another site's page.

Without login, anyone who can reach the port can act, and a browser can reach it on behalf of any
open page. There are two such attacks. *DNS rebinding*: a foreign name is made to resolve to this
machine, so that its page can talk to us as its own origin; such requests have the foreign name in
`Host`. *Cross-site requests*: a page posts to this server or embeds its content; browsers declare
this in `Origin` and `Sec-Fetch-Site` (https://www.w3.org/TR/fetch-metadata/), which pages cannot
set. API clients send neither of these headers and are accepted.
"""

import ipaddress
from collections.abc import Iterable
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from fastapi.responses import PlainTextResponse, RedirectResponse
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from traced_ui.rooms import EARLIER, PATHS

_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
_READING = ("GET", "HEAD")


class HostGuard:
    """Refuses with 403 before the request body is read.

    `names`: hosts, or hosts with ports, allowed by the administrator in addition to loopback names
    and the address at which the request arrived. `bound`: the host that the server was started on.
    `is_framed`: other pages may show this one in a frame; which ones, browsers read in the headers.
    """

    def __init__(
        self, app: ASGIApp, names: Iterable[str] = (), bound: str = "", is_framed: bool = False
    ) -> None:
        self._app = app
        self._documents = ("document", "iframe", None) if is_framed else ("document", None)
        allowed_names = tuple(names)
        self._names = frozenset(
            name for address in (*allowed_names, bound) if (name := host_of(address))
        )
        #: Accepted as our own origin even if a proxy replaces `Host`. Excludes the host that the
        #: server was started on, because another port of this machine is another program.
        self._origins = frozenset(
            (name, port_of(address)) for address in allowed_names if (name := host_of(address))
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        # Gradio would write the name in its pages' addresses, whoever sends it; nothing else
        # needs it, because addresses are relative.
        headers = [pair for pair in scope["headers"] if pair[0] != b"x-forwarded-host"]
        scope = {**scope, "headers": headers}
        if not refusal:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 4403})
        else:
            # The connection ends here: the rest of the body is not read.
            answer = PlainTextResponse(refusal, 403, {"Connection": "close"})
            await answer(scope, receive, send)

    def _refusal(self, scope: Scope) -> str:
        """Why the request is refused; '' if it is accepted."""
        headers = Headers(scope=scope)
        host_headers = headers.getlist("host")
        host = host_of(host_headers[0]) if len(host_headers) == 1 else None
        if host is None or not (_is_loopback(host) or host in self._names | _arrived_at(scope)):
            return (
                "This server is not configured for that host name. Its administrator can allow the "
                "name: --allow-host NAME, or TRACED_ALLOW_HOST.\n"
            )
        if _is_foreign(scope, headers, host_headers[0], self._origins, self._documents):
            return "Requests from other pages are refused. Open the app itself.\n"
        return ""


class BelowPath:
    """Takes the path under which a proxy shows this server off a request, if the proxy has not.
    Links of the pages are relative; what names this path are the ends of the login and Gradio."""

    def __init__(self, app: ASGIApp, root: str) -> None:
        self._app, self._root = app, root

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and scope["path"].startswith(f"{self._root}/"):
            path = scope["path"].removeprefix(self._root)
            scope = {**scope, "path": path, "raw_path": quote(path).encode()}
        await self._app(scope, receive, send)


class EarlierAddresses:
    """Sends the addresses of earlier versions (`/?tab=map&…`, `/plane`) and those with a slash at
    their end (`/map/`) to the page. `root`: the path under which a proxy shows this server."""

    def __init__(self, app: ASGIApp, root: str) -> None:
        self._app, self._root = app, root

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] in _READING:
            fields = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
            path: str | None = None
            if scope["path"] == "/":
                tab = next((value for key, value in fields if key == "tab"), None)
                path = EARLIER.get(tab, "") if tab is not None else None
            elif scope["path"].endswith("/") and scope["path"][:-1] in PATHS:
                path = scope["path"][1:-1]
            elif scope["path"] not in PATHS:
                path = EARLIER.get(scope["path"][1:])
            if path is not None:
                query = urlencode([(key, value) for key, value in fields if key != "tab"])
                joint = "&" if "?" in path else "?"
                address = f"{self._root}/{path}" + (f"{joint}{query}" if query else "")
                await RedirectResponse(address, 308)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def host_of(authority: str) -> str | None:
    """The normalised host of `host` or `host:port`; None if it is not a valid host.

    >>> host_of("Curator.example.:80"), host_of("[::1]:7860"), host_of("a b"), host_of("")
    ('curator.example', '::1', None, None)
    """
    authority = authority.strip()
    if not authority or any(c in authority for c in "/\\@?# ") or not authority.isprintable():
        return None
    if (address := _address(authority)) is not None:  # an IPv6 address without brackets
        return str(address)
    try:
        parts = urlsplit(f"//{authority}")
        _ = parts.port  # raises for an invalid port
    except ValueError:
        return None
    _, bracket, rest = authority.rpartition("]")
    if bracket and rest and not rest.startswith(":"):
        return None  # [::1].evil.example, which Python parses as ::1
    host = (parts.hostname or "").rstrip(".")
    address = _address(host)
    return str(address) if address is not None else host or None


def port_of(authority: str) -> int | None:
    """The port of `host:port`; None if there is none.

    >>> port_of("curator.example:8443"), port_of("[::1]:80"), port_of("::1"), port_of("a")
    (8443, 80, None, None)
    """
    if _address(authority) is not None:
        return None
    try:
        return urlsplit(f"//{authority.strip()}").port
    except ValueError:
        return None


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    ipv4 = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return ipv4 or address


def _is_loopback(host: str) -> bool:
    address = _address(host)
    if address is not None:
        return address.is_loopback
    return host == "localhost" or host.endswith(".localhost")


def _arrived_at(scope: Scope) -> frozenset[str]:
    """The local address at which the connection arrived, according to the socket rather than the
    request."""
    server = scope.get("server")
    host = host_of(server[0]) if server and server[0] else None
    return frozenset((host,)) if host else frozenset()


#: Hosts and their ports; None means the default port of the scheme.
_Origins = frozenset[tuple[str, int | None]]


def _is_foreign(
    scope: Scope, headers: Headers, host: str, origins: _Origins, documents: tuple[str | None, ...]
) -> bool:
    """Whether the request was sent by a page of another origin."""
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site in ("same-origin", "none"):
        return False
    if origin is not None:
        return not _is_own(origin, host, origins)
    if site is None:
        return False  # not a browser
    # Links from other sites are allowed; frames, images and scripts of other pages are not.
    opens_a_page = (
        scope.get("method") in _READING
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") in documents
    )
    return not opens_a_page


def _is_own(origin: str, host: str, origins: _Origins) -> bool:
    """Whether `origin` is this server: the requested authority or, behind a proxy that replaces
    `Host`, a host allowed by the administrator, on the default port or the port given with it."""
    try:
        parts = urlsplit(origin)
        usual = _PORTS.get(parts.scheme)
        port = parts.port or usual
        requested_port = urlsplit(f"//{host}").port or usual
    except ValueError:
        return False
    if parts.scheme not in ("http", "https") or parts.path or parts.query:
        return False
    name = host_of(parts.netloc)
    if name is None:
        return False
    is_named = (name, port) in origins or (port == usual and (name, None) in origins)
    return is_named or (name, port) == (host_of(host), requested_port)
