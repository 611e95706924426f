"""What phrases add."""

_FEATURE = "backend.features.phrases"
ENTRY_POINTS = {
    "operations": {"support": f"{_FEATURE}.operation:SUPPORT"},
    "criteria": {"support": f"{_FEATURE}.criteria:SUPPORT", "worst": f"{_FEATURE}.criteria:WORST"},
}
