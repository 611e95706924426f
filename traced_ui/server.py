"""The web server: the app at /, pictures by id at /pictures/{pair_id}."""

import logging
import os
import threading

import fastapi
import gradio as gr
import uvicorn
from fastapi.responses import PlainTextResponse, Response

from backend.errors import TracedError, explain
from backend.settings import Settings
from backend.workspace import Workspace
from traced_ui import layout
from traced_ui.headers import SafeHeaders
from traced_ui.login import Guard, add_routes, curator_of
from traced_ui.sessions import keep_light
from traced_ui.theme import STYLES, make_theme

#: Sizes of pictures that pages ask for, in pixels; others are refused, so that nobody can fill the
#: disk with thumbnails.
SIZES = {"104": 104, "400": 400, "full": 1400}
log = logging.getLogger(__name__)


def create_app(
    workspace: Workspace, dataset_id: int | None = None, login: bool = False, mcp: bool = False
) -> fastapi.FastAPI:
    """The app with its routes. Nothing is served from disk but pictures of pairs, by id.

    `login`: only for those who have an account. `mcp`: the named actions also as MCP tools.
    """
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    # Gradio sums up all events after each one, for a page that is not served here.
    os.environ["GRADIO_ANALYTICS_CACHE_FREQUENCY"] = str(10**9)
    app = fastapi.FastAPI(docs_url=None, redoc_url=None, openapi_url=None)

    @app.get("/pictures/{pair_id}")
    def picture(pair_id: int, size: str = "full") -> Response:
        if size not in SIZES:
            return PlainTextResponse(f"Sizes are {', '.join(SIZES)}.", status_code=400)
        try:
            data = workspace.thumbnail(pair_id, SIZES[size])
        except TracedError as problem:
            return PlainTextResponse(explain(problem), status_code=404)
        except Exception:
            log.exception("picture %s", pair_id)
            return PlainTextResponse("This picture cannot be shown.", status_code=404)
        headers = {"Cache-Control": "private, max-age=3600", "X-Content-Type-Options": "nosniff"}
        return Response(data, media_type="image/jpeg", headers=headers)

    app.add_middleware(SafeHeaders)
    if login:
        add_routes(app, workspace.team)
        app.add_middleware(Guard, team=workspace.team)

    @app.get("/healthy")
    def healthy() -> dict[str, int]:
        return {"datasets": len(workspace.datasets())}

    gr.mount_gradio_app(
        app,
        layout.build(workspace, dataset_id),
        "/",
        auth_dependency=curator_of if login else None,
        mcp_server=mcp,
        run_history=False,
        show_error=True,
        max_file_size="50mb",
        enable_monitoring=False,
        footer_links=[],
        theme=make_theme(),
        css_paths=[STYLES],
    )
    keep_light(app)
    return app


def serve(
    workspace: Workspace,
    settings: Settings,
    dataset_id: int | None = None,
    login: bool = False,
    mcp: bool = False,
) -> None:
    """Serve until Ctrl-C."""
    app = create_app(workspace, dataset_id, login, mcp)
    # The first abstract caption on a page should not wait for a model to load.
    threading.Thread(target=workspace.engine.warm_up, daemon=True).start()
    uvicorn.run(app, host=settings.host, port=settings.port, log_level="warning")
