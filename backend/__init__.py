"""The engine: scores, trajectories, detection, correction. Knows nothing of the user interface."""
