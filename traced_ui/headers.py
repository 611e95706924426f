"""Headers of every response: no external content, no embedding in other pages; compression."""

from collections.abc import Collection, Mapping, Sequence

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


#: Scripts, styles and fonts: some fifty a page, and no documents, which alone need a policy.
_FILES = ("/assets/", "/board/")
#: What caches may keep as long as they like.
_SAME_FOR_ALL = ("/assets/", "/static/", "/svelte/", "/theme.css")
#: What the review page loads. Downloads, which may be resumed, are sent as they are.
_COMPRESSED = ("/review/", "/board/")


class CompressionMiddleware(GZipMiddleware):
    """Compresses the pages themselves and what the review page loads."""

    def __init__(self, app: ASGIApp, pages: Collection[str], compresslevel: int) -> None:
        super().__init__(app, compresslevel=compresslevel)
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        is_compressed = path in self._pages or path.startswith(_COMPRESSED)
        await (super().__call__ if is_compressed else self.app)(scope, receive, send)


class SafeHeaders:
    """Adds the headers to every response that does not set them itself. `preload`: the header
    `Link` of each page, by path; `frame`: origins whose pages may show them in a frame."""

    def __init__(self, app: ASGIApp, preload: Mapping[str, str], frame: Sequence[str] = ()) -> None:
        self._app, self._preload = app, preload
        ancestors = " ".join(("'self'", *frame))
        # The older header knows no origins.
        self._policy = {"Content-Security-Policy": f"{POLICY}; frame-ancestors {ancestors}"} | (
            {} if frame else {"X-Frame-Options": "SAMEORIGIN"}
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                is_document = not scope["path"].startswith(_FILES)
                for name, value in (HEADERS | (self._policy if is_document else {})).items():
                    headers.setdefault(name, value)
                if not scope["path"].startswith(_SAME_FOR_ALL):
                    # Of this curator: no cache between may keep it for others.
                    headers.setdefault("Cache-Control", "private, no-cache")
                if (link := self._preload.get(scope["path"])) is not None:
                    headers.setdefault("Link", link)
            await send(message)

        await self._app(scope, receive, send_with_headers)
