"""Names of classes. `datasets` keeps their numbers in a column and their names in the schema, each
file its own: one number may mean two things in two files of a dataset.
"""

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa


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

    return named
