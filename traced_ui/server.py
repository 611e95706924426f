"""The web server: the app at /, pictures by id at /pictures/{pair_id}."""

import copy
import hashlib
import logging
import os
import signal
import socket
import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import FrameType

import fastapi
import gradio as gr
import uvicorn
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp

from backend.bundled import exit_immediately
from backend.engine import memory
from backend.errors import INTERRUPTED, StoreError, TracedError, explain
from backend.workspace import Workspace
from traced_ui import board, header, layout, rooms, transfers
from traced_ui.board_processes import BoardProcesses
from traced_ui.file_guard import FileGuard
from traced_ui.headers import CompressionMiddleware, SafeHeaders
from traced_ui.hosts import BelowPath, EarlierAddresses, HostGuard
from traced_ui.later import LateApp, QuietMoments
from traced_ui.layout import STYLES, make_theme
from traced_ui.login import Guard, LoginRequirement, add_routes, require_login, visitor_by
from traced_ui.problems import explain_malformed
from traced_ui.sessions import keep_light, mounted_in

#: Picture sizes that pages request, in pixels; others are refused, so that nobody can fill the disk
#: with thumbnails.
SIZES = {"104": 104, "400": 400, "full": 1400, "close": 4000}
#: Time limit for shutdown: what service managers and containers allow for a stop.
SECONDS_TO_END = 10
#: Seconds for which an idle connection stays open. With uvicorn's default of 5, a client that calls
#: every few seconds occasionally hits a connection that is just being closed.
KEPT_ALIVE = 75
log = logging.getLogger(f"traced.{__name__}")


@dataclass(frozen=True)
class Service:
    """What a feature serves beside the pages, if a command asks for it. `path`: its address, which
    keys of programs open as well; `add_to(app, workspace)`: adds its routes to the app, behind the
    guards, and may set how long it lives."""

    path: str
    add_to: Callable[[fastapi.FastAPI, Workspace], None]


def create_app(
    workspace: Workspace,
    dataset_id: int | None = None,
    login: bool | None = False,
    services: Sequence[Service] = (),
    processes: BoardProcesses | None = None,
) -> fastapi.FastAPI:
    """The app with its routes. From disk it serves only pictures of pairs and exports, by id.

    `login`: require an account; None: from the moment on when there is one. `services`: what
    is served besides. `processes`: those that answer the review page, None: this one.
    """
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    # Gradio aggregates all events after each one, for a page that is not served here.
    os.environ["GRADIO_ANALYTICS_CACHE_FREQUENCY"] = str(10**9)
    app = fastapi.FastAPI(docs_url=None, redoc_url=None, openapi_url=None)

    @app.api_route("/pictures/{pair_id}", methods=["GET", "HEAD"])
    def picture(request: fastapi.Request, pair_id: int, size: str = "full") -> Response:
        if size not in SIZES:
            return PlainTextResponse(f"Sizes are {', '.join(SIZES)}.", status_code=400)
        try:
            data = workspace.review.thumbnail(pair_id, SIZES[size])
        except TracedError as problem:
            return PlainTextResponse(explain(problem), status_code=404)
        except Exception:
            log.exception("picture %s", pair_id)
            return PlainTextResponse("This picture cannot be shown.", status_code=404)
        # Asked for again each time: an import may give the pair another picture.
        tag = f'"{hashlib.blake2b(data, digest_size=16).hexdigest()}"'
        headers = {
            "Cache-Control": "private, no-cache", "ETag": tag, "X-Content-Type-Options": "nosniff",
        }  # fmt: skip
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(data, media_type="image/jpeg", headers=headers)

    # The middleware added last runs first. Only our own origin may read responses; Gradio does not
    # add its own CORS middleware if it finds this one.
    app.add_middleware(CORSMiddleware, allow_origins=())
    visible_workspace, settings = workspace, workspace.settings
    root, is_framed = settings.root_path, bool(settings.frame)
    requirement = None
    if login is not False:
        visible_workspace = copy.copy(workspace)
        begin_login = partial(require_login, workspace, visible_workspace)
        requirement = LoginRequirement(workspace.accounts, begin_login)
        if login:
            requirement.start()
        else:
            requirement.applies()
        add_routes(app, workspace.accounts, root, is_framed)
        app.add_middleware(
            Guard,
            team=workspace.accounts,
            applies=requirement.applies,
            root=root,
            services=tuple(service.path for service in services),
        )
    app.add_middleware(
        HostGuard, names=settings.allow_host, bound=settings.host, is_framed=is_framed
    )
    app.add_middleware(
        SafeHeaders,
        preload={path: _preload(path) for path in rooms.PATHS},
        frame=settings.frame,
    )
    app.add_middleware(CompressionMiddleware, compresslevel=5, pages=rooms.PATHS)
    app.add_middleware(EarlierAddresses, root=root)
    app.add_middleware(BelowPath, root=root)

    @app.get("/healthy")
    def healthy() -> JSONResponse:
        try:
            return JSONResponse({"datasets": len(workspace.datasets())})
        except StoreError as problem:
            log.warning("not healthy: %s", explain(problem))
            return JSONResponse({"detail": "The database cannot be reached."}, 503)

    answer_elsewhere = None
    if processes is not None:

        def answer_elsewhere(post: board.Post, curator: str | None) -> bytes:
            if board.asks_the_server(post):
                return board.answer_in(visible_workspace, post, curator)
            takes_login = requirement is not None and requirement.applies()
            return processes.answer(post, curator, takes_login)

    board.add_routes(app, visible_workspace, answer_elsewhere)
    header.add_routes(app, visible_workspace, dataset_id)
    transfers.add_routes(app, visible_workspace)
    app.mount(rooms.API, LateApp(partial(_create_api, visible_workspace)))
    for service in services:
        service.add_to(app, visible_workspace)
    blocks = layout.build(visible_workspace, dataset_id)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "SSR mode", UserWarning)  # which is off
        gr.mount_gradio_app(
            app,
            blocks,
            "/",
            auth_dependency=visitor_by(requirement) if requirement is not None else None,
            run_history=False,
            show_error=True,
            max_file_size="50mb",
            enable_monitoring=False,
            footer_links=[],
            theme=make_theme(),
            css=board.FONT,
            css_paths=STYLES,
            root_path=root or None,
        )
    keep_light(app)
    blocks.has_launched = True  # as after `launch`: the app serves requests from here on
    for gradio_app in mounted_in(app):
        gradio_app.add_middleware(
            FileGuard,
            blocks=blocks,
            pages=gradio_app.state_holder,
            quota=workspace.uploads,
            is_framed=is_framed,
        )
    explain_malformed(app)
    return app


def _create_api(workspace: Workspace) -> fastapi.FastAPI:
    from traced_ui.api import create_api  # describes every operation: half a second

    return create_api(workspace)


def _preload(path: str) -> str:
    """The header `Link` of a page: all but Review need the scripts of the bar alone."""
    review = [name for name in board.FILES if name not in board.WHEN_USED]
    return board.preload_header(review if path == "/" else ("header.js", "inter.woff2"))


def serve(
    workspace: Workspace,
    listening: socket.socket,
    dataset_id: int | None = None,
    login: bool | None = False,
    services: Sequence[Service] = (),
    processes: int = 1,
) -> None:
    """Serve until Ctrl-C or SIGTERM, then stop within `SECONDS_TO_END`, whatever clients and jobs
    are doing: a job ends at its next step, and the next start resumes it. `processes`: how many
    answer the review page; 1: this one alone, else so many beside this one."""
    answering = BoardProcesses(workspace.settings, processes) if processes > 1 else None
    app = QuietMoments(create_app(workspace, dataset_id, login, services, answering))
    memory.settle()

    def warm_up() -> None:
        app.wait()  # importing beside a request would slow it down
        workspace.engine.warm_up()

    for work in (warm_up, workspace.remove_leftovers):
        threading.Thread(target=work, daemon=True).start()
    server = make_server(app)
    server.run(sockets=[listening])
    if answering is not None:
        answering.end()
    end(workspace)
    if server.ended_by == signal.SIGINT:
        raise KeyboardInterrupt
    if server.ended_by is not None:
        exit_immediately()


def make_server(app: ASGIApp) -> "Server":
    """A server of the app, to be run with a listening socket."""
    return Server(
        uvicorn.Config(
            app,
            log_config=None,  # as the command line has configured it for all
            log_level="warning",
            timeout_graceful_shutdown=SECONDS_TO_END // 4,
            timeout_keep_alive=KEPT_ALIVE,
        )
    )


def end(workspace: Workspace) -> None:
    """What follows the end of a server: jobs stop, and the store is closed."""
    workspace.jobs.background.stop(SECONDS_TO_END / 4)
    workspace.store.close()


class Server(uvicorn.Server):
    """Stops on a signal, but unlike uvicorn's server does not re-raise it afterwards: jobs have to
    end as well."""

    ended_by: int | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.ended_by is None:
            # A hanging library thread or open stream must not keep the process alive.
            status = INTERRUPTED if sig == signal.SIGINT else 0
            watchdog = threading.Timer(SECONDS_TO_END - 2, exit_immediately, [status])
            watchdog.daemon = True
            watchdog.start()
        self.force_exit = self.ended_by is not None  # a second Ctrl-C does not wait
        self.ended_by, self.should_exit = sig, True
