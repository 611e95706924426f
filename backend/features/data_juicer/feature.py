"""What Data-Juicer adds: captions in its samples."""

ENTRY_POINTS = {"row_forms": {"data_juicer": "backend.features.data_juicer.samples:FORM"}}
#: Words for it, which stand nowhere in the core.
NOUNS = ("data_juicer", "data-juicer", "__dj__")
