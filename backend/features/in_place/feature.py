"""What writing corrections into the source's own files adds."""

_FEATURE = "backend.features.in_place"
ENTRY_POINTS = {
    "operations": {"apply": f"{_FEATURE}.operation:APPLY"},
    "pages": {"in-place": f"{_FEATURE}.page:PAGE"},
}
#: Words for it, which stand nowhere in the core.
NOUNS = ("captiongroup",)
