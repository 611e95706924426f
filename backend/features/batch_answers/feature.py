"""What answers of batches add: captions that model services wrote."""

ENTRY_POINTS = {"row_forms": {"batch_answers": "backend.features.batch_answers.batch_lines:FORM"}}
#: Words for it, which stand nowhere in the core.
NOUNS = ("custom_id", "promptfeedback", "batch_line")
