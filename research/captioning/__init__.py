"""Training of captioners: maximum likelihood, and self-retrieval by REINFORCE (SR)."""
