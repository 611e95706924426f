"""What LEMoN adds."""

ENTRY_POINTS = {"embedding_scores": {"lemon": "backend.wings.lemon.lemon:SCORE"}}
