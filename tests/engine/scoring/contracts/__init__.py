"""Checkpoints in the published layout, against a plain call of the library they come from."""
