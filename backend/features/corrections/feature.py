"""What corrections of a queue add."""

_FEATURE = "backend.features.corrections"
ENTRY_POINTS = {
    "operations": {"correct": f"{_FEATURE}.operation:CORRECT"},
    "suggestion_sources": {"language-model": f"{_FEATURE}.suggestion_source:SOURCE"},
}
#: Words for it, which stand nowhere in the core.
NOUNS = (
    "correct_queue", "correctionreport", "correctoptions", "corrector_of", "dry_run(",
    "accept_p", "accept_gain", "model-free",
)  # fmt: skip
