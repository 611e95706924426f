"""What LAVIS adds."""

ENTRY_POINTS = {
    "scorers": {
        "lavis-checkpoints": "backend.wings.lavis.checkpoint:FAMILY",
        "lavis": "backend.wings.lavis.scorer:FAMILY",
    },
}
