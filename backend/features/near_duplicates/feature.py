"""What groups of near-duplicate pictures add."""

_FEATURE = "backend.features.near_duplicates"
ENTRY_POINTS = {
    "tables": {"near_duplicates": f"{_FEATURE}.tables:TABLES"},
    "operations": {"duplicates": f"{_FEATURE}.operation:DUPLICATES"},
    "commands": {"duplicates": f"{_FEATURE}.command:COMMANDS"},
    "pages": {"duplicates": f"{_FEATURE}.page:PAGE"},
    "filters": {"duplicates": f"{_FEATURE}.filter:FILTER"},
    "similarity_kinds": {"duplicate": f"{_FEATURE}.similarity:KIND"},
    "export_steps": {"near_duplicates": f"{_FEATURE}.exporting:STEP"},
}
#: Words for it, which stand nowhere in the core. (What a verdict that removes a copy means is the
#: core's, `db/authors.py`.)
NOUNS = (
    "near_duplicates", "nearduplicate", "duplicate_queries", "duplicategroup", "duplicatesreport",
    "duplicatesoptions", "duplicates-", '"duplicates"', "keep_one", "keep_in_all",
    "near-duplicates", "duplicate:", "duplicates of",
)  # fmt: skip
