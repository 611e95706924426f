"""What shards add: more ways to run five commands."""

_COMMAND = "backend.features.shards.command"
ENTRY_POINTS = {
    "command_variants": {
        f"shards-{command}": f"{_COMMAND}:{command.upper()}"
        for command in ("score", "train", "import", "export", "select")
    },
}
#: Further options of `export`, by their group: no package takes these names.
OPTIONS_OF_EXPORT = {"command_variants": ("decisions",)}
