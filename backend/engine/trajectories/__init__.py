"""Caption trajectories: how far can a caption be improved by editing it? (TRACED §3.2)

trajectory    what is left behind for one pair
exploring     which explorer with which parameters; what an explorer asks and returns
elimination   the explorer that deletes words or tokens (Algorithm 2)
gcd           explorers that replace tokens along the gradient: GCD, Fast GCD (Algorithms 3 and 4)
driver        many explorers at once, their questions put to the scorer in one call a round
"""
