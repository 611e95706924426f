"""The measures of captions: the store's own (`db/measures.py`) and those of plug-ins.

Whoever needs their names imports them from here, so that none is missing.
"""

from backend import plugins
from db.decisions import ORDERS
from db.measures import (
    ABSTRACT_THRESHOLD,
    MEASURES,
    OF_THE_MODEL,
    Compute,
    Measure,
    Numbers,
    add,
    export_names,
    filter_names,
)

__all__ = [
    "ABSTRACT_THRESHOLD", "MEASURES", "OF_THE_MODEL", "Compute", "Measure", "Numbers",
    "export_names", "filter_names", "order_names",
]  # fmt: skip

#: How the names of plug-ins' measures begin, and no field of ours in the address of a queue, in a
#: record or in a file.
PREFIX = "x_"


def order_names() -> tuple[str, ...]:
    """The orders of a queue, but those by a column of the source."""
    return (*filter_names(), *ORDERS)


def _join(measure: Measure) -> None:
    """Let the measure of a plug-in take part. Raises ValueError."""
    if not measure.name.startswith(PREFIX):
        raise ValueError(f"A plug-in's measure is called {PREFIX}…, unlike '{measure.name}'.")
    if measure.is_column or measure.of_claims:
        raise ValueError("The store has no column for the measures of plug-ins.")
    add((measure,))


plugins.load("measures", Measure, _join)
