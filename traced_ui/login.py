"""Who may come in: a guard before every route, and the page to log in on.

The guard stands before the whole app, so that pages, pictures and the programs' interface are
closed alike. Browsers carry their token in a cookie that scripts cannot read, programs the same
token as `Authorization: Bearer`; both get it from POST /login.
"""

from http.cookies import CookieError, SimpleCookie
from typing import Annotated
from urllib.parse import quote

import anyio.to_thread
import fastapi
from fastapi import Form
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from backend.pipeline.team import LOGIN_HOLDS, Team
from backend.team.throttle import Throttle
from traced_ui.markup import safe

COOKIE = "traced_login"
_OPEN = ("/login", "/healthy")
_KEY = "traced_curator"
#: Many people may share one address.
_FROM_ONE_ADDRESS = 30


def curator_of(request: fastapi.Request) -> str | None:
    """The name of who has logged in, as the guard has left it."""
    name = request.scope.get(_KEY)
    return name if isinstance(name, str) else None


class Guard:
    """Lets through who has logged in; sends people to the login page and tells programs 401."""

    def __init__(self, app: ASGIApp, team: Team) -> None:
        self._app = app
        self._team = team

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket") or scope["path"] in _OPEN:
            await self._app(scope, receive, send)
            return
        account = await anyio.to_thread.run_sync(self._team.who, token_of(scope))
        if account is not None:
            scope[_KEY] = account.name
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 4401})
        else:
            await _refusal(scope)(scope, receive, send)


def token_of(scope: Scope) -> str | None:
    """The token that a request carries."""
    headers = dict(scope.get("headers") or [])
    authorization = headers.get(b"authorization", b"").decode("latin-1")
    if authorization.startswith("Bearer "):
        return authorization.removeprefix("Bearer ").strip()
    try:
        cookies = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1"))
    except CookieError:
        return None
    return cookies[COOKIE].value if COOKIE in cookies else None


def _refusal(scope: Scope) -> Response:
    wanted = scope["path"]
    if query := scope.get("query_string", b"").decode("latin-1"):
        wanted += "?" + query
    accepts = dict(scope.get("headers") or []).get(b"accept", b"")
    if scope["method"] == "GET" and b"text/html" in accepts:
        return RedirectResponse(f"/login?to={quote(wanted, safe='')}", 303)
    return JSONResponse({"detail": "Log in first: POST /login with username and password."}, 401)


def add_routes(app: fastapi.FastAPI, team: Team) -> None:
    """/login and /logout."""
    by_name, by_address = Throttle(), Throttle(_FROM_ONE_ADDRESS)

    @app.get("/login", response_class=HTMLResponse)
    def page(to: str = "/") -> HTMLResponse:
        return HTMLResponse(login_page(to), headers={"Cache-Control": "no-store"})

    @app.post("/login")
    def log_in(
        request: fastapi.Request,
        username: Annotated[str, Form()],
        password: Annotated[str, Form()],
        page: Annotated[str, Form()] = "",
        to: Annotated[str, Form()] = "/",
    ) -> Response:
        address = request.client.host if request.client else ""
        name = " ".join(username.split())[:80]
        waits = max(by_name.wait(name), by_address.wait(address))
        token = None if waits else team.log_in(name, password)
        if token is None:
            if not waits:
                by_name.failed(name)
                by_address.failed(address)
            told = (
                f"Too many attempts. Try again in {waits:.0f} seconds."
                if waits
                else "Name and password do not belong together."
            )
            status = 429 if waits else 401
            if page:
                return HTMLResponse(login_page(to, told), status)
            return JSONResponse({"detail": told}, status)
        by_name.succeeded(name)
        answer: Response = (
            RedirectResponse(inner(to), 303)
            if page
            else JSONResponse({"success": True, "token": token})
        )
        answer.set_cookie(
            COOKIE,
            token,
            max_age=int(LOGIN_HOLDS.total_seconds()),
            httponly=True,
            samesite="lax",
            secure=request.url.scheme == "https",
        )
        return answer

    @app.post("/logout")
    def log_out(request: fastapi.Request) -> Response:
        token = token_of(request.scope)
        if token:
            team.log_out(token)
        answer = RedirectResponse("/login", 303)
        answer.delete_cookie(COOKIE)
        return answer


def inner(to: str) -> str:
    """A path of this server, whatever an address asked to be led to."""
    plain = to.startswith("/") and not to.startswith(("//", "/\\")) and to.isprintable()
    return to if plain and "\\" not in to else "/"


def login_page(to: str, told: str = "") -> str:
    """A page of its own: nothing of the app is served before somebody has logged in."""
    problem = f'<p role="alert">{safe(told)}</p>' if told else ""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Log in · TRACED Curator</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root {{ color-scheme: light dark; --ink: #1d232b; --back: #f5f6f8; --card: #fff; --line: #858e99;
  --accent: #0b6e66; --bad: #b42318; }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e9edf2; --back: #14171c; --card: #1c2027;
  --bad: #ff9a8f; }} }}
body {{ margin: 0; min-height: 100vh; display: grid; place-items: center; background: var(--back);
  color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }}
form {{ background: var(--card); padding: 28px 32px; border-radius: 12px; width: 300px;
  display: grid; gap: 12px; }}
h1 {{ font-size: 20px; margin: 0; }} label {{ font-size: 14px; display: grid; gap: 4px; }}
input {{ font: inherit; padding: 8px; border: 1px solid var(--line); border-radius: 8px;
  background: transparent; color: inherit; }}
button {{ font: inherit; padding: 9px; border: 0; border-radius: 8px; background: var(--accent);
  color: #fff; cursor: pointer; }}
:focus-visible {{ outline: 3px solid #4fc3b6; outline-offset: 1px; }}
[role=alert] {{ color: var(--bad); margin: 0; font-size: 14px; }}
</style></head><body><main><form method="post" action="/login">
<h1>TRACED Curator</h1>{problem}
<label>Name<input name="username" autocomplete="username" required autofocus></label>
<label>Password<input name="password" type="password" autocomplete="current-password" required>
</label><input type="hidden" name="page" value="1">
<input type="hidden" name="to" value="{safe(inner(to))}">
<button type="submit">Log in</button></form></main></body></html>"""
