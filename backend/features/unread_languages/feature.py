"""What the search for captions in languages that the model does not read adds."""

ENTRY_POINTS = {
    "notices": {"unread_languages": "backend.features.unread_languages.notice:NOTICE"},
}
#: Words for it, which stand nowhere in the core.
NOUNS = ("unread_languages",)
