"""LAVIS: its checkpoints loaded as our BLIP, and the library itself as an out-of-process scorer."""
