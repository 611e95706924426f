"""The measures of captions: the store's own (`db/measures.py`) and those of plug-ins.

Whoever needs their names imports them from here, so that none is missing.
"""

from backend import plugins
from db.decisions import ORDERS
from db.measures import (
    ABSTRACT_THRESHOLD,
    MEASURES,
    OF_THE_MODEL,
    Measure,
    Numbers,
    add,
    export_names,
    filter_names,
)

__all__ = [
    "ABSTRACT_THRESHOLD", "MEASURES", "OF_THE_MODEL", "Measure", "Numbers", "export_names",
    "filter_names", "order_names",
]  # fmt: skip

#: What else stands in the addresses of queues, in tables, files and records, besides `ORDERS`.
RESERVED = {
    "among", "caption_kind", "captioned", "corrected_caption", "dataset_id", "decided_at",
    "decided_by", "duplicates", "enriches", "etag", "extra", "file_name", "filename",
    "filepath", "hidden", "id", "image", "image_file", "image_path", "like", "map", "meaning",
    "noted", "numbers", "order", "original_caption", "own_tags", "pair_id", "phrases",
    "place", "random_key", "ranking", "review", "sampling", "source_file", "source_row",
    "suspect_kind", "suspect_word", "suspects", "tags", "text", "truncated", "verdict",
    "verdict_version", "where", "words_read",
}  # fmt: skip


def order_names() -> tuple[str, ...]:
    """The orders of a queue, but those by a column of the source."""
    return (*(name for name, measure in MEASURES.items() if measure.order), *ORDERS)


def _join(measure: Measure) -> None:
    """Let the measure of a plug-in take part. Raises ValueError."""
    if measure.name in RESERVED or measure.name in ORDERS:
        raise ValueError(f"'{measure.name}' means something else in queues or files.")
    if measure.is_column or measure.of_claims:
        raise ValueError("The store has no column for the measures of plug-ins.")
    add((measure,))


plugins.load("measures", Measure, _join)
