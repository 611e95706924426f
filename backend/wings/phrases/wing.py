"""What phrases add."""

_WING = "backend.wings.phrases"
ENTRY_POINTS = {
    "operations": {"support": f"{_WING}.operation:SUPPORT"},
    "criteria": {"support": f"{_WING}.criteria:SUPPORT", "worst": f"{_WING}.criteria:WORST"},
}
