"""What the search for blind spots adds."""

_FEATURE = "backend.features.patterns"
ENTRY_POINTS = {
    "operations": {"patterns": f"{_FEATURE}.operation:PATTERNS"},
    "pages": {"patterns": f"{_FEATURE}.page:PAGE"},
}
#: Words for it, which stand nowhere in the core.
NOUNS = ("blind spot", "blind_spot", "blind-spot", "writer_pattern", "error_pattern")
