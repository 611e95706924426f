"""What the look at pictures adds."""

_FEATURE = "backend.features.quality"
ENTRY_POINTS = {
    "operations": {"quality": f"{_FEATURE}.operation:QUALITY"},
    "filters": {"picture": f"{_FEATURE}.filter:FILTER"},
}
