"""What the selection of pairs for training, in two stages, adds."""

_FEATURE = "backend.features.selection"
ENTRY_POINTS = {
    "operations": {"select": f"{_FEATURE}.operation:SELECT"},
    "commands": {"select": f"{_FEATURE}.command:COMMANDS"},
    "command_variants": {"select-export": f"{_FEATURE}.command:EXPORT"},
    "export_choices": {"selection": f"{_FEATURE}.options:SelectionOfExport"},
    "export_steps": {"selection": f"{_FEATURE}.exporting:STEP"},
    "parts": {"selection": f"{_FEATURE}.part:PART"},
}
#: Further options of `export`, by their group: no package takes these names.
OPTIONS_OF_EXPORT = {"command_variants": ("select",)}
#: Words for it, which stand nowhere in the core. (Pairs are selected by queues as well.)
NOUNS = (
    "two_stage", "twostage", "two stages", "two-stage", "selectionreport", "selectionlosses",
    "least_phrases", "--align", "--select",
)  # fmt: skip
