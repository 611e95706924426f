"""Names of classes. `datasets` keeps their numbers in a column and their names in the schema, each
file its own: one number may mean two things in two files of a dataset.
"""

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from backend.datasets.cells import Unusable
from backend.datasets.safe_files.text_files import LONGEST_LINE


def class_namers(schema: pa.Schema) -> dict[str, Callable[[Any], Any]]:
    """By the column, a function that puts names in the place of numbers in a cell; of columns that
    are declared as classes, or as lists of them, alone. Other numbers stay (-1: no class)."""
    try:
        features = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"]
        declared = {name: _names_in(feature) for name, feature in features.items()}
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError):
        return {}
    return {name: _namer(names) for name, names in declared.items() if names}


def _names_in(feature: Any) -> list[str] | None:
    if isinstance(feature, list):  # a list of them, as versions before 4 write it
        feature = feature[0] if feature else None
    while isinstance(feature, dict) and "feature" in feature:  # a list of them
        feature = feature["feature"]
    names = feature.get("names") if isinstance(feature, dict) else None
    is_class = isinstance(names, list) and feature.get("_type") == "ClassLabel"
    return names if is_class and all(isinstance(name, str) for name in names) else None


def _namer(names: list[str]) -> Callable[[Any], Any]:
    def named(value: Any) -> Any:
        if isinstance(value, list):
            return [named(each) for each in value]
        return names[value] if isinstance(value, int) and 0 <= value < len(names) else value

    def cell(value: Any) -> Any:
        """As `arrow_cells.value_of`: few bytes may stand for many names."""
        size = _size(value := named(value))
        if size <= LONGEST_LINE:
            return value
        return Unusable(f"it holds {size:,} characters, and at most {LONGEST_LINE:,} are read")

    return cell


def _size(value: Any) -> int:
    """The characters of the names in a cell."""
    if isinstance(value, list):
        return sum(map(_size, value))
    return len(value) if isinstance(value, str) else 0
