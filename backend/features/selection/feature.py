"""What the selection of pairs for training, in two stages, adds."""

_FEATURE = "backend.features.selection"
ENTRY_POINTS = {
    "operations": {"select": f"{_FEATURE}.operation:SELECT"},
    "commands": {"select": f"{_FEATURE}.command:COMMANDS"},
    "command_variants": {"select-export": f"{_FEATURE}.command:EXPORT"},
    "export_steps": {"selection": f"{_FEATURE}.exporting:STEP"},
    "parts": {"selection": f"{_FEATURE}.part:PART"},
}
#: Words for it, which stand nowhere in the core. (Pairs are selected by queues as well.)
NOUNS = (
    "two_stage", "twostage", "two stages", "two-stage", "selectionreport", "selectionlosses",
    "least_phrases", "--align", "--select",
)  # fmt: skip
