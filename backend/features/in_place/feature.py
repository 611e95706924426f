"""What writing corrections into the source's own files adds, and what follows other tools there."""

_FEATURE = "backend.features.in_place"
ENTRY_POINTS = {
    "operations": {"apply": f"{_FEATURE}.operation:APPLY"},
    "commands": {"watch": f"{_FEATURE}.command:COMMANDS"},
    "pages": {"in-place": f"{_FEATURE}.page:PAGE"},
    "pair_parts": {"changed-file": f"{_FEATURE}.pair_part:PART"},
    "actions": {"take-changes": f"{_FEATURE}.page:ACTIONS"},
}
#: Words for it, which stand nowhere in the core.
NOUNS = ("captiongroup",)
