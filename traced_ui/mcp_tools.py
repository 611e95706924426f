"""Additions to Gradio's MCP server: JSON results, pictures, and tool annotations.

Gradio creates the tools from the named endpoints, but returns Python literals and does not support
annotations. Language models need JSON and pictures, and clients ask for confirmation before a tool
writes.
"""

import base64
import json
import logging
from typing import Any

import gradio as gr
from mcp import types

from backend.errors import TracedError
from backend.workspace import Workspace

#: Tools that write. The others are read-only and idempotent.
WRITING = frozenset({"decide", "undo", "redo", "next", "suggest"})
#: … of which these may replace earlier decisions.
DESTRUCTIVE = frozenset({"decide", "undo", "redo"})
#: Longest side of a picture sent to a language model, in pixels.
_SIDE = 1024
log = logging.getLogger(f"traced.{__name__}")


def improve(blocks: gr.Blocks, workspace: Workspace) -> None:
    """Patch the mounted app's MCP server as described in this module."""
    server = blocks.mcp_server_obj

    def content(data: list[Any], _root_url: str) -> list[Any]:
        return [part for value in data for part in _parts(value, workspace)]

    server.postprocess_output_data = content  # pyrefly: ignore[bad-assignment, missing-attribute]
    handlers = server.mcp_server.request_handlers  # pyrefly: ignore[missing-attribute]
    listed = handlers[types.ListToolsRequest]

    async def annotated(request: types.ListToolsRequest) -> types.ServerResult:
        answer: types.ServerResult = await listed(request)
        assert isinstance(answer.root, types.ListToolsResult)
        for tool in answer.root.tools:
            tool.annotations = annotations(tool.name)
        return answer

    handlers[types.ListToolsRequest] = annotated


def annotations(name: str) -> types.ToolAnnotations:
    """The annotations that clients see before they call a tool."""
    writes = name in WRITING
    return types.ToolAnnotations(
        readOnlyHint=not writes,
        destructiveHint=name in DESTRUCTIVE,
        idempotentHint=not writes or name == "suggest",
        openWorldHint=False,
    )


def _parts(value: Any, workspace: Workspace) -> list[types.TextContent | types.ImageContent]:
    """JSON, followed by the picture if the result is a pair."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    parts: list[types.TextContent | types.ImageContent] = [
        types.TextContent(type="text", text=text)
    ]
    if isinstance(value, dict) and "picture" in value:
        try:
            data = base64.b64encode(workspace.review.thumbnail(value["id"], _SIDE)).decode("ascii")
        except (TracedError, OSError) as problem:
            log.info("the picture of pair %s is not shown: %s", value["id"], problem)
        else:
            parts.append(types.ImageContent(type="image", data=data, mimeType="image/jpeg"))
    return parts
