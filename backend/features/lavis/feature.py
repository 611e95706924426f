"""What LAVIS adds."""

ENTRY_POINTS = {
    "scorers": {
        "lavis-checkpoints": "backend.features.lavis.checkpoint:FAMILY",
        "lavis": "backend.features.lavis.scorer:FAMILY",
    },
}
