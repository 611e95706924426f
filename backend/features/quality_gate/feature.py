"""What the gate for datasets adds: are too many captions wrong?"""

_FEATURE = "backend.features.quality_gate"
ENTRY_POINTS = {
    "operations": {"check": f"{_FEATURE}.operation:CHECK"},
    "commands": {"check": f"{_FEATURE}.command:COMMANDS"},
}
#: Words for it, which stand nowhere in the core. (That a notice has an exit status is the core's.)
NOUNS = ("quality_gate", "checkreport", "checkoptions", "acceptance", "junit", "exported_errors")
