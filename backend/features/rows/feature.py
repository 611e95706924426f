"""What the search for captions of other rows adds."""

_FEATURE = "backend.features.rows"
ENTRY_POINTS = {
    "operations": {
        "rows": f"{_FEATURE}.operation:ROWS",
        "first-look": f"{_FEATURE}.operation:FIRST_LOOK",
    },
    "notices": {"rows": f"{_FEATURE}.operation:NOTICE"},
    "pages": {"rows": f"{_FEATURE}.page:PAGE"},
}
#: Words for it, which stand nowhere in the core.
NOUNS = ("row_sequence", "out of step", "carry the caption of")
