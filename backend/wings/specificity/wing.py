"""What the specificity of captions adds."""

_WING = "backend.wings.specificity"
ENTRY_POINTS = {
    "operations": {
        "specificity": f"{_WING}.operation:SPECIFICITY",
        "bags": f"{_WING}.bags_operation:BAGS",
        "boost": f"{_WING}.boost_operation:BOOST",
        "enrich": f"{_WING}.boost_operation:ENRICH",
    },
    "commands": {"specificity": f"{_WING}.command:COMMANDS"},
}
