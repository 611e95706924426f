"""What the look at pictures adds."""

ENTRY_POINTS = {"operations": {"quality": "backend.wings.quality.operation:QUALITY"}}
