"""What shards add: more ways to run five commands."""

_VARIANTS = "backend.wings.shards.variants"
ENTRY_POINTS = {
    "command_variants": {
        f"shards-{command}": f"{_VARIANTS}:{command.upper()}"
        for command in ("score", "train", "import", "export", "select")
    },
}
