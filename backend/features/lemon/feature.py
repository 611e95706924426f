"""What LEMoN adds."""

ENTRY_POINTS = {"embedding_scores": {"lemon": "backend.features.lemon.lemon:SCORE"}}
