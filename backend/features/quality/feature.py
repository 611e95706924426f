"""What the look at pictures adds."""

_FEATURE = "backend.features.quality"
ENTRY_POINTS = {
    "tables": {"quality": f"{_FEATURE}.tables:TABLES"},
    "operations": {"quality": f"{_FEATURE}.operation:QUALITY"},
    "filters": {"picture": f"{_FEATURE}.filter:FILTER"},
    "pair_parts": {"quality": f"{_FEATURE}.part:PART"},
    "export_steps": {"quality": f"{_FEATURE}.exporting:STEP"},
}
#: Words for it, which stand nowhere in the core. (What `picture` is, a column of every export, is
#: the card's: `backend/datasets/writing/card.py`.)
NOUNS = ("cleanvision", "picture_issue", "pictureissue", "picture_signals", "picturesignals")
