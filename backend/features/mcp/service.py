"""The functions of the API as MCP tools, for language models: with JSON, pictures and annotations.

Each request is answered by itself, as that of its login or key: there are no sessions to own.
"""

import inspect
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import anyio.to_thread
import fastapi
from mcp.server.fastmcp import Context, FastMCP, Image
from mcp.server.fastmcp.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import ToolAnnotations
from pydantic_core import to_json

from backend.errors import TracedError
from backend.workspace import Workspace
from traced_ui import api
from traced_ui.api_records import Pair
from traced_ui.messages import explain_on_page
from traced_ui.server import Service

PATH = "/mcp"
#: The tools in listing order: name, function of the API, and whether it may replace decisions.
TOOLS: tuple[tuple[str, Callable[..., Any], bool], ...] = (
    ("datasets", api.datasets, False),
    ("queue", api.queue, False),
    ("next", api.hold_next, False),
    ("pair", api.open_pair, False),
    ("decide", api.decide, True),
    ("judge_claim", api.judge_claim, True),
    ("undo", api.undo, True),
    ("redo", api.redo, True),
    ("suggest", api.suggest, False),
    ("check", api.check, False),
    ("similar", api.similar, False),
    ("progress", api.progress, False),
)
#: The same of what features answer, where they are there: by the path.
OF_FEATURES = {"regions": "/pairs/{pair}/regions"}
#: Longest side of a picture sent to a language model, in pixels.
_SIDE = 1024


def _add(app: fastapi.FastAPI, workspace: Workspace) -> None:
    server = create_server(workspace)
    app.router.routes.extend(server.streamable_http_app().routes)
    app.router.lifespan_context = lambda _: server.session_manager.run()


def create_server(workspace: Workspace) -> FastMCP:
    """A server whose routes belong into an app behind the guards, and whose session manager runs
    as long as that app."""
    server = FastMCP(
        "TRACED Curator",
        "Find and fix wrong captions of pictures. Give a verdict only on what you looked at.",
        streamable_http_path=PATH,
        stateless_http=True,
        json_response=True,
        # `HostGuard` stands in front, and knows the names under which this server may be reached.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    answers = {name: api.answer_to(path) for name, path in OF_FEATURES.items()}
    added = [(name, answer, False) for name, answer in answers.items() if answer is not None]
    for name, function, is_destructive in (*TOOLS, *added):
        writes = inspect.signature(function).parameters["caller"].annotation == api.Writer
        server.add_tool(
            _tool(function, workspace, writes),
            name,
            description=inspect.getdoc(function),
            annotations=ToolAnnotations(
                readOnlyHint=not writes,
                destructiveHint=is_destructive,
                idempotentHint=not writes or name == "suggest",
                openWorldHint=False,
            ),
            structured_output=False,
        )
    return server


def _tool(function: Callable[..., Any], workspace: Workspace, writes: bool) -> Callable[..., Any]:
    """The function for a client: it runs in a thread, as whoever sent the request."""

    async def call(context: Context, **arguments: Any) -> list[Any]:  # type: ignore[type-arg]
        request = context.request_context.request
        assert request is not None  # it came over HTTP
        caller = api.caller_of(workspace, request)
        if writes and not caller.may_write:
            raise ToolError("This key may only read: its scope is 'read'.")
        try:
            return await anyio.to_thread.run_sync(lambda: _content(caller, function, arguments))
        except Exception as error:
            raise ToolError(explain_on_page(error)) from None

    signature = inspect.signature(function)
    (_, *rest), first = signature.parameters.values(), inspect.signature(call).parameters["context"]
    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (first, *rest)]
    call.__signature__ = signature.replace(  # pyrefly: ignore[missing-attribute]
        parameters=parameters, return_annotation=list[Any]
    )
    return call


def _content(
    caller: api.Caller, function: Callable[..., Any], arguments: dict[str, Any]
) -> list[str | Image]:
    """The result as JSON, followed by the picture if it is a pair."""
    result = function(caller, **arguments)
    content: list[str | Image] = [to_json(result).decode()]
    if isinstance(result, Pair):
        with suppress(TracedError, OSError):
            data = caller.workspace.review.thumbnail(result.id, _SIDE)
            content.append(Image(data=data, format="jpeg"))
    return content


SERVICE = Service(PATH, _add)
