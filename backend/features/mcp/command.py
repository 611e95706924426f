"""`serve --mcp`."""

from collections.abc import Callable
from typing import Any

from backend.cli.commands import CommandVariant
from backend.options import Options


class ServeOptions(Options):
    """What `serve` offers to language models."""

    mcp: bool = False
    """Also offer the API as MCP tools, at /mcp."""


def _serve(
    command: Callable[[], int | None], arguments: dict[str, Any], options: ServeOptions
) -> int | None:
    if options.mcp:
        from backend.features.mcp.service import SERVICE  # imports the MCP library

        served = arguments["options"]
        services = (*served.services, SERVICE)
        arguments["options"] = served.model_copy(update={"services": services})
    return command()


SERVE = CommandVariant("serve", ServeOptions, _serve)
