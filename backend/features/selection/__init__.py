"""Pairs for training: the best matches, then those whose phrases the picture supports."""
