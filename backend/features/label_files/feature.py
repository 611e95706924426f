"""What verdicts from files of labels add."""

_FEATURE = "backend.features.label_files"
ENTRY_POINTS = {
    "commands": {"label": f"{_FEATURE}.command:COMMANDS"},
    "parts": {"labels": f"{_FEATURE}.part:PART"},
}
#: Words for it, which stand nowhere in the core. (That a file may be the author of a verdict is the
#: core's: `db/authors.py`.)
NOUNS = ("apply_labels", "labels_form", "labelcommand", "labelreport", "labelcolumns")
