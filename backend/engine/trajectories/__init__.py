"""Caption trajectories: how far can a caption be improved by editing it? (TRACED §3.2)

trajectory    the result for one pair
exploring     which explorer with which parameters; its requests and its result
explorers     how each of them starts, by name
elimination   the explorer that deletes words or tokens (Algorithm 2)
gcd           explorers that replace tokens along the gradient: GCD, Fast GCD (Algorithms 3 and 4)
depth         which pairs get whole trajectories, and which only the first step
word_expectations  adds what a captioner expects of a caption's words
driver        runs many explorers at once, with one batched call of the scorer per round
"""
