"""What comparing two captioners adds."""

_FEATURE = "backend.features.side_by_side"
ENTRY_POINTS = {
    "operations": {"side-by-side": f"{_FEATURE}.operation:SIDE_BY_SIDE"},
    "pages": {"side-by-side": f"{_FEATURE}.page:PAGE"},
}
