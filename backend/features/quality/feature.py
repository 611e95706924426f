"""What the look at pictures adds."""

ENTRY_POINTS = {"operations": {"quality": "backend.features.quality.operation:QUALITY"}}
