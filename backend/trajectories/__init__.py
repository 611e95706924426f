"""Caption trajectories: how far can a caption be improved by editing it? (TRACED §3.2)

trajectory    what is left behind for one pair
elimination   the explorer that deletes words (Algorithm 2)
driver        many explorers at once, their questions put to the scorer in one call a round
"""
