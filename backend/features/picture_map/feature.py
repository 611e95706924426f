"""What the map of a dataset's pictures adds."""

_FEATURE = "backend.features.picture_map"
ENTRY_POINTS = {
    "tables": {"map": f"{_FEATURE}.tables:TABLES"},
    "operations": {"map": f"{_FEATURE}.operation:MAP"},
    "pages": {"map": f"{_FEATURE}.page:PAGE"},
    "filters": {"map": f"{_FEATURE}.filter:FILTER"},
}
#: Words for it, which stand nowhere in the core.
NOUNS = (
    "picture_map", "map_queries", "mapplace", "map_places", "mapreport", "mapview", "map_of",
    "plane_of", "planeview", "map_layout", "map page", "#map-", "region of the map", "plane of",
)  # fmt: skip
