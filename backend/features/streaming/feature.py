"""What shards that trainers stream add: readers of two formats."""

_FEATURE = "backend.features.streaming"
ENTRY_POINTS = {
    "readers": {"mds": f"{_FEATURE}.mds:READER", "litdata": f"{_FEATURE}.litdata:READER"},
}
#: Words for it, which stand nowhere in the core.
NOUNS = ("mosaicml", "litdata", "lightning")
