"""The two formats of pairs of captions to learn from."""

from backend.datasets.export_formats import ExportFormat

_FEATURE = "backend.features.caption_pairs"
#: What is known of a pair of captions.
_COLUMNS = frozenset({"basis", "decided_by", "words_changed", "kinds"})

PREFERENCE = ExportFormat(
    "preference",
    f"{_FEATURE}.writing:write_preference",
    "Preferences (Parquet with the images)",
    "a better and a worse caption of each picture, for preference training (TRL: `images`, "
    "`prompt`, `chosen`, `rejected`), least difference first",
    is_for_hub=True,
    reserved=_COLUMNS | {"images", "prompt", "chosen", "rejected"},
    contents=f"{_FEATURE}.comparisons:contents",
)
HARD_NEGATIVES = ExportFormat(
    "hard-negatives",
    f"{_FEATURE}.writing:write_hard_negatives",
    "Hard negatives (TSV with image paths)",
    "right captions with wrong ones that differ little, for contrastive training (NegCLIP, "
    "open_clip), least difference first",
    reserved=_COLUMNS | {"title", "neg_caption", "neg_image"},
    contents=f"{_FEATURE}.comparisons:contents",
)
