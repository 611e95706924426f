"""What one verdict for a whole queue adds."""

_FEATURE = "backend.features.rules"
ENTRY_POINTS = {
    "operations": {"rule": f"{_FEATURE}.operation:RULE"},
    "actions": {"rule": f"{_FEATURE}.part:ACTIONS"},
    "endpoints": {"rule": f"{_FEATURE}.service:ENDPOINTS"},
}
#: Words for it, which stand nowhere in the core. (What a verdict of a rule means is the core's,
#: `db/authors.py`.)
NOUNS = (
    "rulepreview", "rulereport", "ruleoptions", "rulebody", "queue_rule", "preview_rule",
    "decide_all", '"rule"', "rule-preview", "rule-apply",
)  # fmt: skip
