"""What downloads of images add."""

ENTRY_POINTS = {"commands": {"download": "backend.features.fetch.command:COMMANDS"}}
