"""Authentication: a guard in front of every route, and the login page.

The guard wraps the whole app, so that pages, pictures and the API are protected alike; without an
account it lets everybody through. Browsers
send their token in a cookie that scripts cannot read, programs the same token or a key as
`Authorization: Bearer`. Tokens come from POST /login.
"""

import asyncio
import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import Annotated
from urllib.parse import quote

import anyio
import anyio.to_thread
import fastapi
import gradio as gr
from fastapi import Form
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection, cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from backend.accounts.team_accounts import LOGIN_HOLDS, NOTICED_WITHIN, Team
from backend.accounts.throttle import Throttle, known_device, network_of, new_device
from backend.counts import count_of
from backend.workspace import NOBODY, Workspace
from traced_ui.problems import problem
from traced_ui.templates import render_page

COOKIE = "traced_login"
#: Maximum number of cookies of that name that are checked.
_MOST_TOKENS = 4
_OPEN = ("/login", "/healthy")
#: Seconds after which a stream that is still open is checked for the end of its login.
_CHECKED_EVERY = 5.0
_KEY, _IS_READER = "traced_curator", "traced_is_reader"
#: What a key opens; pages take a login.
_FOR_KEYS = ("/api/v1/", "/pictures/", "/exports/")
#: Marks a browser from which a curator has logged in before; it grants no access.
DEVICE_COOKIE = "traced_device"
_DEVICE_HOLDS = 365 * 24 * 3600
#: Failed attempts allowed before a wait: per known device, or per name and address; per address,
#: which many people may share; per name, from any address.
_FOR_A_NAME, _FROM_AN_ADDRESS, _FOR_A_NAME_ANYWHERE = 5, 30, 100


def curator_of(request: HTTPConnection) -> str | None:
    """The name of the logged-in user, as set by the guard."""
    name = request.scope.get(_KEY)
    return name if isinstance(name, str) else None


def is_reader(request: HTTPConnection) -> bool:
    """Whether the request came with a key that may only read."""
    return bool(request.scope.get(_IS_READER))


def seen_by(workspace: Workspace, request: gr.Request | HTTPConnection | None) -> Workspace:
    """The workspace as the curator who asks may see it."""
    name = reader_of(request)
    return workspace if name is None else workspace.seen_by(name)


def reader_of(request: gr.Request | HTTPConnection | None) -> str | None:
    """The logged-in user; None without login."""
    if isinstance(request, HTTPConnection):
        return curator_of(request)
    return (request.username or None) if request is not None else None


def require_login(workspace: Workspace, visible: Workspace) -> None:
    """From now on people log in. `visible`: what pages hold of the workspace; where they do not say
    who asks, they show what everybody may see."""
    workspace.confine()
    visible.become(workspace.seen_by(NOBODY))


class LoginRequirement:
    """Whether people have to log in: as soon as there is an account, also one that another process
    adds while this one serves. Then they have to until this process ends."""

    def __init__(self, team: Team, begin: Callable[[], None]) -> None:
        """`begin`: called once, before the first request that takes a login."""
        self._team, self._begin = team, begin
        self._lock = threading.Lock()
        self._asked_at = -math.inf
        self.has_begun = False

    def applies(self) -> bool:
        """Asks the database a few times a second, as long as nobody has to."""
        if self.has_begun or time.monotonic() - self._asked_at < NOTICED_WITHIN:
            return self.has_begun
        with self._lock:
            asked_at = time.monotonic()
            if not self.has_begun and self._team.has_accounts():
                self.start()
            self._asked_at = asked_at
        return self.has_begun

    def start(self) -> None:
        self._begin()
        self.has_begun = True


class Guard:
    """Lets authenticated requests through, and all as long as no login `applies`; redirects
    browsers to the login page and answers API clients with 401. `services`: paths that keys open
    as well."""

    def __init__(
        self,
        app: ASGIApp,
        team: Team,
        applies: Callable[[], bool] = lambda: True,
        root: str = "",
        services: Sequence[str] = (),
    ) -> None:
        self._app = app
        self._for_keys = (*_FOR_KEYS, *services)
        self._team = team
        self._applies = applies
        self._root = root

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket") or scope["path"] in _OPEN:
            await self._app(scope, receive, send)
            return
        tokens = tokens_of(scope)
        visitor = await anyio.to_thread.run_sync(self._who, tokens, scope["path"])
        if visitor is not None:
            scope[_KEY], scope[_IS_READER] = visitor
            has_begun = False

            async def answer(message: Message) -> None:
                nonlocal has_begun
                has_begun = True
                await send(message)

            with anyio.CancelScope() as request:
                watching = asyncio.create_task(self._end_with_login(request, tokens, scope["path"]))
                try:
                    await self._app(scope, receive, answer)
                finally:
                    watching.cancel()
            if request.cancelled_caught and not has_begun and scope["type"] == "http":
                await _refusal(scope, self._root)(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 4401})
        else:
            await _refusal(scope, self._root)(scope, receive, send)

    async def _end_with_login(
        self, request: anyio.CancelScope, tokens: Sequence[str], path: str
    ) -> None:
        """Cut a request off when its login has ended, in whichever process."""
        is_open = True
        while is_open:
            await anyio.sleep(_CHECKED_EVERY)
            is_open = await anyio.to_thread.run_sync(self._who, tokens, path) is not None
        request.cancel()

    def _who(self, tokens: Sequence[str], path: str) -> tuple[str | None, bool] | None:
        """The account of the first token that is valid here, and whether it may only read; no
        account where none is needed."""
        if not self._applies():
            return None, False
        for token in tokens:
            if (account := self._team.who(token)) is not None:
                return account.name, False
            key = self._team.keys.find(token) if path.startswith(self._for_keys) else None
            if key is not None:
                return key.name, not key.may_review
        return None


def tokens_of(scope: Scope) -> list[str]:
    """The login tokens of a request: the bearer token, or else every cookie named `COOKIE`, because
    another program on this host may have set one of that name for another path."""
    headers = dict(scope.get("headers") or [])
    authorization = headers.get(b"authorization", b"").decode("latin-1")
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return [token.strip()]
    return [value for name, value in cookies_of(scope) if name == COOKIE][:_MOST_TOKENS]


def cookies_of(scope: Scope) -> list[tuple[str, str]]:
    """All cookies, in order. Other programs on this host may set malformed ones: Starlette's parser
    skips these, whereas the standard library's discards everything."""
    headers = [value for name, value in scope.get("headers") or [] if name == b"cookie"]
    parts = b"; ".join(headers).decode("latin-1").split(";")
    return [cookie for part in parts for cookie in cookie_parser(part).items()]


def _refusal(scope: Scope, root: str) -> Response:
    target = root + scope["path"]
    if query := scope.get("query_string", b"").decode("latin-1"):
        target += "?" + query
    accepts = dict(scope.get("headers") or []).get(b"accept", b"")
    if scope["method"] == "GET" and b"text/html" in accepts:
        return RedirectResponse(f"{root}/login?to={quote(target, safe='')}", 303)
    return problem(401, "Log in first: POST /login with username and password; or send a key.")


def visitor_by(requirement: LoginRequirement) -> Callable[[fastapi.Request], str | None]:
    """Who asks, as Gradio takes it: None is refused, "" is somebody without an account."""

    def visitor(request: fastapi.Request) -> str | None:
        return curator_of(request) or (None if requirement.has_begun else "")

    return visitor


def add_routes(app: fastapi.FastAPI, team: Team, root: str = "", is_framed: bool = False) -> None:
    """Add /login and /logout. `root`: the path under which a proxy shows them; `is_framed`: other
    pages may show this one in a frame."""
    throttle = Throttle()

    @app.get("/login", response_class=HTMLResponse)
    def page(to: str = f"{root}/") -> HTMLResponse:
        return HTMLResponse(login_page(to), headers={"Cache-Control": "no-store"})

    @app.post("/login")
    def log_in(
        request: fastapi.Request,
        username: Annotated[str, Form()],
        password: Annotated[str, Form()],
        page: Annotated[str, Form()] = "",
        to: Annotated[str, Form()] = f"{root}/",
    ) -> Response:
        address = network_of(request.client.host if request.client else "")
        name = " ".join(username.split())[:80]
        limits = _limits(request.scope, team, name, address)
        waits = throttle.admit(limits)
        token = None if waits else team.log_in(name, password)
        if token is None:
            message = (
                f"Too many attempts. Try again in {count_of(math.ceil(waits), 'second')}."
                if waits
                else "Wrong name or password."
            )
            status = 429 if waits else 401
            headers = {"Retry-After": str(math.ceil(waits))} if waits else None
            if page:
                return HTMLResponse(login_page(to, message, name), status, headers)
            return JSONResponse({"detail": message}, status, headers)
        first, *others = limits
        throttle.record_success(first)
        throttle.take_back(*others)
        answer: Response = (
            RedirectResponse(inner(to), 303)
            if page
            else JSONResponse({"success": True, "token": token})
        )
        device, holds = new_device(team.device_secret, name), int(LOGIN_HOLDS.total_seconds())
        for header in (
            cookie(request.scope, is_framed, COOKIE, token, holds),
            cookie(request.scope, is_framed, DEVICE_COOKIE, device, _DEVICE_HOLDS, f"{root}/login"),
        ):
            answer.headers.append("Set-Cookie", header)
        return answer

    @app.post("/logout")
    def log_out(request: fastapi.Request) -> Response:
        for token in tokens_of(request.scope):
            team.log_out(token)
        answer = RedirectResponse(f"{root}/login", 303)
        answer.headers.append("Set-Cookie", cookie(request.scope, is_framed, COOKIE, "", 0))
        return answer


def cookie(
    scope: Scope,
    is_framed: bool,
    name: str,
    value: str,
    seconds: int | None = None,
    path: str = "/",
) -> str:
    """The header `Set-Cookie` of a cookie that scripts cannot read. `seconds` until it ends; None:
    with the browser.

    A browser sends it in a frame of another site's page only over https; `Partitioned` means that
    it belongs to that frame, where cookies of other sites are blocked. `HostGuard` refuses what the
    other site itself sends. A proxy at any address may say that the browser came over https: who
    lies about that only loses the own login.
    """
    protocol = Headers(scope=scope).get("x-forwarded-proto", "")
    is_https = "https" in (scope["scheme"], protocol.partition(",")[0].strip())
    parts = [f"{name}={value}", f"Path={path}", "HttpOnly"]
    parts += [f"Max-Age={seconds}"] if seconds is not None else []
    parts += ["SameSite=None", "Partitioned"] if is_https and is_framed else ["SameSite=Lax"]
    return "; ".join(parts + ["Secure"] * is_https)


def _limits(scope: Scope, team: Team, name: str, address: str) -> dict[str, int]:
    """The throttle keys of an attempt and their limits, the most specific first. A device from
    which this user has logged in before has only its own key: guesses made elsewhere do not lock it
    out."""
    device = known_device(team.device_secret, name, dict(cookies_of(scope)).get(DEVICE_COOKIE))
    if device is not None:
        return {f"device {device}": _FOR_A_NAME}
    return {
        f"name {name} at {address}": _FOR_A_NAME,
        f"address {address}": _FROM_AN_ADDRESS,
        f"name {name}": _FOR_A_NAME_ANYWHERE,
    }


def inner(to: str) -> str:
    """The redirect target `to` if it is a path on this server, otherwise "/"."""
    plain = to.startswith("/") and not to.startswith(("//", "/\\")) and to.isprintable()
    return to if plain and "\\" not in to else "/"


def login_page(to: str, problem: str = "", name: str = "") -> str:
    """A standalone page: nothing of the app is served before login. `name`: as it was typed."""
    return render_page("login.html", to=inner(to), problem=problem, name=name)
