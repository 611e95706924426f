"""What Megatron-Energon adds: its folder beside tars, read and written."""

ENTRY_POINTS = {"tar_descriptions": {"energon": "backend.features.energon.metadata:DESCRIBER"}}
#: Words for it, which stand nowhere in the core. (Messages and docstrings name the program.)
NOUNS = ("nv-meta", "energon_", "split_parts")
