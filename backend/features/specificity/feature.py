"""What the specificity of captions adds."""

_FEATURE = "backend.features.specificity"
ENTRY_POINTS = {
    "tables": {"specificity": f"{_FEATURE}.tables:TABLES"},
    "operations": {
        "specificity": f"{_FEATURE}.operation:SPECIFICITY",
        "bags": f"{_FEATURE}.bags_operation:BAGS",
        "boost": f"{_FEATURE}.boost_operation:BOOST",
        "enrich": f"{_FEATURE}.boost_operation:ENRICH",
    },
    "similarity_kinds": {"confused": f"{_FEATURE}.similarity:KIND"},
    "pair_parts": {"specificity": f"{_FEATURE}.part:PART"},
    "actions": {"richer": f"{_FEATURE}.page:ACTIONS"},
    "commands": {"specificity": f"{_FEATURE}.command:COMMANDS"},
}
#: Words for it, which stand nowhere in the core.
NOUNS = ("confused", '"richer"', "no_model.html", "retrievals")
