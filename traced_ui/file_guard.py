"""Which files and sessions a request may name: files that the same browser uploaded, and the app's
examples; with login, sessions of the same account.

The guard stands in front of the whole Gradio app, and of its own checks. It refuses file values by
their shape, wherever they are in a request, except for uploads of the same browser in an image
field; and it lets through only the routes that are needed.

Gradio prints the values of an event that it cannot read, passwords included, to the terminal. So
the guard lets Gradio read them first, and refuses what fails.
"""

import json
import re
import secrets
from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl

import anyio.to_thread
import gradio as gr
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from gradio.blocks import BlockFunction
from gradio.state_holder import StateHolder
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from backend.datasets.safe_files.uploads import Uploads
from backend.errors import SettingsError
from traced_ui import rooms
from traced_ui.login import cookie, cookies_of, curator_of

#: Gradio's routes that pages need; the others are not served: endpoints for programs, developer
#: tools, streams, proxies, functions of components, and hot reloading, whose stream never ends.
_PAGES = frozenset(
    ("config", "favicon.ico", "manifest.json", "robots.txt", "theme.css",
     *(path.removeprefix("/") for path in rooms.PATHS))
)  # fmt: skip
_FOLDERS = ("assets", "pwa_icon", "static", "svelte")
_CALLS = (
    "app_id", "cancel", "heartbeat", "info", "queue", "reset", "startup-events", "upload",
    "upload_progress",
)  # fmt: skip
_API, _UPLOAD, _FILE = "/gradio_api/", "/gradio_api/upload", "/gradio_api/file="
#: Requests that name their event by its number, and may pass an upload to it.
_EVENTS = ("/gradio_api/queue/join", "/gradio_api/run/predict")
_SESSION = re.compile(r"[\w-]{1,64}", re.ASCII)
#: Keys of a file value, of which one is enough.
_KEYS = frozenset({"path", "url", "meta"})
#: Identifies the browser that uploaded a file; it grants nothing else.
COOKIE = "traced_uploads"
_MOST_UPLOADS, _LARGEST_BODY, _LONGEST_COOKIE = 10_000, 16 << 20, 64
_NOT_YOURS = "Upload the picture again: it is no upload of this browser."

#: The account, None without login, and the browser.
_Owner = tuple[str | None, str]


class FileGuard:
    """Answers 404 for other routes and files, and 422 for requests that name a file they may not.

    No answer says whether a file exists.
    """

    def __init__(
        self,
        app: ASGIApp,
        blocks: gr.Blocks,
        pages: StateHolder,
        quota: Uploads,
        is_framed: bool = False,
    ) -> None:
        """`pages`: what Gradio stores for each session."""
        self._app = app
        self._is_framed = is_framed
        self._blocks, self._pages = blocks, pages
        self._quota = quota
        #: Copies of the examples, which everybody sees.
        self._published = {
            path
            for block in blocks.blocks.values()
            if isinstance(block, gr.Image)
            for path in block.keep_in_cache
        }
        self._uploads = OrderedDict[tuple[_Owner, str], None]()  # oldest first
        self._sessions = SessionOwners()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        owner, is_new = _owner_of(scope)
        path, name = scope["path"], owner[0]
        if name is not None:
            send = self._sessions.recording(send, name)
        if not self._owns(scope, name):
            await _NO_SESSION(scope, receive, send)
            return
        if path == _UPLOAD:
            refusal = await anyio.to_thread.run_sync(self._admit, scope, name or "")
            if refusal is not None:
                await refusal(scope, receive, send)
                return
            await self._app(scope, receive, self._recording(scope, send, owner, is_new))
            return
        if not self._is_served(path, owner):
            await PlainTextResponse("Not found.", 404)(scope, receive, send)
            return
        if scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self._app(scope, receive, send)
            return
        body = await _body_of(receive)
        refusal = _TOO_LARGE if body is None else await self._refusal(scope, body, owner)
        if refusal is not None:
            await refusal(scope, receive, send)
        else:
            await self._app(scope, _replaying(body or b"", receive), send)

    def _admit(self, scope: Scope, name: str) -> Response | None:
        """Why an upload is refused before it is read; None if it is counted."""
        headers = Headers(scope=scope)
        length = headers.get("content-length", "")
        # Of a body in chunks the server ignores the length.
        if "transfer-encoding" in headers or not (length.isascii() and length.isdigit()):
            return PlainTextResponse("Give the length of the upload.", 411)
        try:
            self._quota.admit(name, int(length[:18]))
        except SettingsError as problem:
            return PlainTextResponse(str(problem), 413)
        return None

    def _is_served(self, path: str, owner: _Owner) -> bool:
        if path.startswith(_FILE):
            return self._may_use(path.removeprefix(_FILE), owner)
        if path.startswith(_API):
            return path in _EVENTS or path.removeprefix(_API).split("/")[0] in _CALLS
        first, *rest = path.removeprefix("/").split("/")
        return first in _FOLDERS or (first in _PAGES and not rest)

    def _may_use(self, path: object, owner: _Owner) -> bool:
        return isinstance(path, str) and (path in self._published or (owner, path) in self._uploads)

    def _owns(self, scope: Scope, name: str | None, body: Any = None) -> bool:
        """Whether the sessions and events that a request names are the account's own."""
        path = scope["path"]
        if name is None or not path.startswith(_API):
            return True
        return self._sessions.may_use(name, ids_in(scope, path.removeprefix(_API), body))

    async def _refusal(self, scope: Scope, body: bytes, owner: _Owner) -> Response | None:
        """Why a body is refused; None if it names no file or session but those that it may, and
        Gradio can read the values of its event."""
        if not body:
            return None
        path = scope["path"]
        try:
            payload = json.loads(body)
            files = list(_files_in(payload))
        except (ValueError, RecursionError):
            return _refuse("body", "Not JSON, or nested too deeply.")
        if isinstance(payload, dict) and ("session_hash" in payload or path in _EVENTS):
            session = payload.get("session_hash")
            if not isinstance(session, str) or not _SESSION.fullmatch(session):
                return _refuse("session_hash", "Not the name of a session. Reload the page.")
        if not self._owns(scope, owner[0], payload):
            return _NO_SESSION
        places = set()  # where the event takes a picture, as `data.0`
        event = None
        if path in _EVENTS and isinstance(payload, dict):
            number = payload.get("fn_index")
            event = self._blocks.fns.get(number) if type(number) is int else None
            if event is None:
                return _refuse("fn_index", "There is no such event. Reload the page.")
            places = {
                f"data.{at}" for at, to in enumerate(event.inputs) if isinstance(to, gr.Image)
            }
        for place, file in files:
            if place not in places and not place.startswith("event_data."):
                return _refuse(place, "No file can be given here.")
            if not self._may_use(file.get("path"), owner):
                return _refuse(place, _NOT_YOURS)
        if event is not None and not await self._is_readable(event, payload):
            return _refuse("data", "The values do not fit this event. Reload the page.")
        return None

    async def _is_readable(self, event: BlockFunction, payload: Mapping[str, Any]) -> bool:
        values, name = payload.get("data"), payload["session_hash"]
        if not isinstance(values, list):
            return False
        page = self._pages[name]
        self._pages.update(name)  # evicts others over capacity
        try:
            await self._blocks.preprocess_data(event, values, page)
        except Exception:  # of any type: each component has its own
            return False
        return True

    def _recording(self, scope: Scope, send: Send, owner: _Owner, is_new: bool) -> Send:
        """Send the answer to an upload, and note which files it names."""
        answer = bytearray()

        async def record(message: Message) -> None:
            if message["type"] == "http.response.start" and is_new:
                header = cookie(scope, self._is_framed, COOKIE, owner[1])
                MutableHeaders(scope=message).append("Set-Cookie", header)
            elif message["type"] == "http.response.body":
                answer.extend(message.get("body", b""))
                if not message.get("more_body"):
                    self._note(bytes(answer), owner)
            await send(message)

        return record

    def _note(self, answer: bytes, owner: _Owner) -> None:
        try:
            paths = json.loads(answer)
        except ValueError:
            return  # a refused upload
        for path in paths if isinstance(paths, list) else ():
            self._uploads[owner, path] = None
            self._uploads.move_to_end((owner, path))
        while len(self._uploads) > _MOST_UPLOADS:
            self._uploads.popitem(last=False)


def _owner_of(scope: Scope) -> tuple[_Owner, bool]:
    """Who sends the request, and whether the browser has no cookie yet."""
    token = dict(cookies_of(scope)).get(COOKIE, "")
    is_new = not 0 < len(token) <= _LONGEST_COOKIE
    return (curator_of(HTTPConnection(scope)), secrets.token_urlsafe() if is_new else token), is_new


def _files_in(value: Any, place: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """All file values in a request, at any depth, with their places."""
    if isinstance(value, dict):
        if _KEYS & value.keys():
            yield place, value
        parts = value.items()
    elif isinstance(value, list):
        parts = enumerate(value)
    else:
        return
    for name, part in parts:
        yield from _files_in(part, f"{place}.{name}" if place else str(name))


async def _body_of(receive: Receive) -> bytes | None:
    """The whole body; None if it is too large."""
    body = bytearray()
    while True:
        message = await receive()
        body.extend(message.get("body", b""))
        if len(body) > _LARGEST_BODY:
            return None
        if not message.get("more_body"):
            return bytes(body)


def _replaying(body: bytes, receive: Receive) -> Receive:
    """Receives the body, which has been read, and then what follows it."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay


def _refuse(place: str, problem: str) -> JSONResponse:
    return JSONResponse({"detail": [{"at": place[:200], "problem": problem}]}, 422)


#: As Gradio's page shows it: somebody else has logged in, in another tab.
_NO_SESSION = JSONResponse({"error": "This page belongs to another login. Reload it."}, 404)
_TOO_LARGE = JSONResponse({"detail": [{"at": "body", "problem": "Too large."}]}, 413)


#: Ids kept for each account; the least recently used are forgotten.
_MOST = 5000
_LONGEST = 200
_HEADER = b"session_hash"
_FIELDS = ("session_hash", "event_id")
#: The id of an event that an answer gives out.
_GIVEN = re.compile(rb'"event_id": ?"([\w-]+)"')


class SessionOwners:
    """The owners of the ids that were named since the start of the server."""

    def __init__(self) -> None:
        self._owner: dict[str, str] = {}
        self._ids: defaultdict[str, OrderedDict[str, None]] = defaultdict(OrderedDict)

    def may_use(self, name: str, ids: Iterator[str]) -> bool:
        """Whether all these ids belong to this account, or, from now on, because they are new."""
        all_ids = list(ids)
        if any(self._owner.get(id, name) != name for id in all_ids):
            return False
        for id in all_ids:
            self._add(name, id)
        return True

    def _add(self, name: str, id: str) -> None:
        self._owner[id] = name
        ids = self._ids[name]
        ids[id] = None
        ids.move_to_end(id)
        while len(ids) > _MOST:
            del self._owner[ids.popitem(last=False)[0]]

    def recording(self, send: Send, name: str) -> Send:
        """Send an answer, and note the ids in the first part of its body."""
        is_first = True

        async def record(message: Message) -> None:
            nonlocal is_first
            if message["type"] == "http.response.body" and is_first and message.get("body"):
                is_first = False
                for id in _GIVEN.findall(message["body"][:4096]):
                    self._add(name, id.decode())
            await send(message)

        return record


def ids_in(scope: Scope, path: str, body: Any = None) -> Iterator[str]:
    """The sessions and events that a request to Gradio names. `path`: below its API; `body`: as
    JSON."""
    way, *rest = path.split("/")
    if way == "heartbeat" and rest:
        yield rest[-1][:_LONGEST]
    query = parse_qsl(scope.get("query_string", b"").decode("latin-1"))
    fields = [*query, *(body.items() if isinstance(body, dict) else ())]
    yield from (
        value[:_LONGEST]
        for key, value in fields
        if key in _FIELDS and isinstance(value, str) and value
    )
    for key, value in scope.get("headers") or ():
        if key == _HEADER:
            yield value.decode("latin-1")[:_LONGEST]
