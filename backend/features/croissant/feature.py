"""What the description of exports by Croissant adds."""

ENTRY_POINTS = {"export_steps": {"croissant": "backend.features.croissant.exporting:STEP"}}
#: Words for it, which stand nowhere in the core. (That `croissant.json` of a dataset on the hub is
#: no table is the reader's, `backend/datasets/reading/name_patterns.py`.)
NOUNS = ("mlcommons", ".croissant", "prov:", "rai:", "recordset")
