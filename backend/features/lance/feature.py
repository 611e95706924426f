"""What Lance adds: a reader of its datasets."""

ENTRY_POINTS = {"readers": {"lance": "backend.features.lance.versions:READER"}}
#: Words for it, which stand nowhere in the core.
NOUNS = ("pylance", "lance dataset", "lancedb")
