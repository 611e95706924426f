"""What exports as conversations add."""

_FORMATS = "backend.features.conversations.formats"
ENTRY_POINTS = {
    "formats": {
        "conversations": f"{_FORMATS}:CONVERSATIONS",
        "messages": f"{_FORMATS}:MESSAGES",
    },
}
#: Words for it, which stand nowhere in the core.
NOUNS = ("llamafactory", "ms-swift", "unsloth")
