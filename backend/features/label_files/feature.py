"""What verdicts from files of labels add, and captions that people wrote in the same tools."""

_FEATURE = "backend.features.label_files"
ENTRY_POINTS = {
    "commands": {"label": f"{_FEATURE}.command:COMMANDS"},
    "parts": {"labels": f"{_FEATURE}.part:PART"},
    "row_forms": {
        "label_studio": f"{_FEATURE}.task_captions:FORM",
        "argilla": f"{_FEATURE}.argilla:FORM",
    },
}
#: Words for it, which stand nowhere in the core. (That a file may be the author of a verdict is the
#: core's: `db/authors.py`.)
NOUNS = (
    "apply_labels", "labels_form", "labelcommand", "labelreport", "labelcolumns", "argilla",
)  # fmt: skip
