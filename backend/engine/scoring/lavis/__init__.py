"""LAVIS: its checkpoints as our BLIP, and the library itself as a scorer in its own process."""
