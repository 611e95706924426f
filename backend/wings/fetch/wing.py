"""What downloads of images add."""

ENTRY_POINTS = {"commands": {"download": "backend.wings.fetch.command:COMMANDS"}}
