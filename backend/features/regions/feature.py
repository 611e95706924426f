"""What regions of words add."""

_FEATURE = "backend.features.regions"
ENTRY_POINTS = {
    "tables": {"regions": f"{_FEATURE}.tables:TABLES"},
    "operations": {"regions": f"{_FEATURE}.operation:REGIONS"},
    "export_steps": {"regions": f"{_FEATURE}.exporting:STEP"},
    "score_files": {"boxes": f"{_FEATURE}.exporting:BOXES"},
    "endpoints": {"regions": f"{_FEATURE}.service:ENDPOINTS"},
    "pair_parts": {"zoom-to-word": f"{_FEATURE}.part:PART"},
    "actions": {"look": f"{_FEATURE}.page:ACTIONS"},
    "parts": {"outlines": f"{_FEATURE}.page:TRY"},
}
#: Words for it, which stand nowhere in the core. (`region_texts` are Label Studio's, of boxes that
#: people drew: `backend/datasets/reading/label_studio.py`.)
NOUNS = (
    "word_regions", "wordregion", "region_queries", "region_cells", "regions_of", "regionrow",
    "regionsreport", "export_boxes", "boxesreport", "boxes_written", "stated_box", "part_maps",
    "look_in", '"regions"', "/regions", "regions.js", "outline.js", "where-note", "zoom to",
    "where in the picture",
)  # fmt: skip
