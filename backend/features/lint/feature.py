"""What the search for faults of captions adds."""

_FEATURE = "backend.features.lint"
ENTRY_POINTS = {
    "operations": {"lint": f"{_FEATURE}.operation:LINT"},
    "mends": {"lint": f"{_FEATURE}.faults:MENDS"},
    "parts": {"lint": f"{_FEATURE}.part:PART"},
}
#: Words for it, which stand nowhere in the core.
NOUNS = (
    '"lint"', "`lint", "lint:", "lint-", "lint_", "linting", "lint.", "linter", "caption-faults",
    "caption_faults", "faults_of",
)  # fmt: skip
