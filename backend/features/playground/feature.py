"""What *Try one picture* adds."""

ENTRY_POINTS = {"pages": {"playground": "backend.features.playground.page:PAGE"}}
#: Words for it, which stand nowhere in the core. (A playground is also a word of captions,
#: `backend/engine/english/phrases.py`.)
NOUNS = (
    "playground.",
    "playground-",
    "playground_",
    "/playground",
    '"playground"',
    "the playground",
    "sharedresult",
    "shared_result",
    "try.js",
)
