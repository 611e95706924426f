"""What serving the API as MCP tools adds."""

ENTRY_POINTS = {"command_variants": {"mcp-serve": "backend.features.mcp.command:SERVE"}}
#: Words for it, which stand nowhere in the core.
NOUNS = ("mcp",)
