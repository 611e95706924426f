"""Headers of every response: no external content, no embedding in other pages; compression."""

from collections.abc import Sequence

from starlette.datastructures import MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Gradio inlines scripts and styles and evaluates code at runtime, so both are allowed, but only
#: from this server; nothing is loaded from or sent to other hosts.
POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "media-src 'self' data: blob:",
        "worker-src 'self' blob:",
        "connect-src 'self' data: blob:",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
    )
)
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


#: What the review page loads. Downloads, which may be resumed, are sent as they are.
_COMPRESSED = ("/review/", "/board/")


class Compressed(GZipMiddleware):
    """Compresses the page itself and what the review page loads."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        is_compressed = path == "/" or path.startswith(_COMPRESSED)
        await (super().__call__ if is_compressed else self.app)(scope, receive, send)


class SafeHeaders:
    """Adds the headers to every response that does not set them itself. `preload`: the header
    `Link` of the page itself; `frame`: origins whose pages may show it in a frame."""

    def __init__(self, app: ASGIApp, preload: str = "", frame: Sequence[str] = ()) -> None:
        self._app, self._preload = app, preload
        ancestors = " ".join(("'self'", *frame))
        policy = {"Content-Security-Policy": f"{POLICY}; frame-ancestors {ancestors}"}
        # The older header knows no origins.
        self._headers = HEADERS | policy | ({} if frame else {"X-Frame-Options": "SAMEORIGIN"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
                if scope["path"] == "/":
                    # The page holds names of datasets: no cache between may keep it for others.
                    headers.setdefault("Cache-Control", "private, no-cache")
                    if self._preload:
                        headers.setdefault("Link", self._preload)
            await send(message)

        await self._app(scope, receive, send_with_headers)
