"""What editing many captions at once adds."""

_FEATURE = "backend.features.bulk_edit"
ENTRY_POINTS = {
    "commands": {"edit": f"{_FEATURE}.command:COMMANDS"},
    "actions": {"edit": f"{_FEATURE}.part:ACTIONS"},
}
#: Words for it, which stand nowhere in the core. (That captions are edited together, as one act
#: that is undone by one, is the core's: `backend/review/caption_edits.py`.)
NOUNS = (
    "bulkedit", "bulk_edit", "apply_edit", "edit_scopes", "edit-preview", "edit-apply",
    "editcommand", "remove_vague",
)  # fmt: skip
