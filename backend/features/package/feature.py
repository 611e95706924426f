"""What packages add: two commands, and a file that `serve` opens."""

_COMMAND = "backend.features.package.command"
ENTRY_POINTS = {
    "commands": {"package": f"{_COMMAND}:COMMANDS"},
    "command_variants": {"package-serve": f"{_COMMAND}:SERVE"},
}
#: Words for it, which stand nowhere in the core.
NOUNS = ("packed_pairs", "review package")
