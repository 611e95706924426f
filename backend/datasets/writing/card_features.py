"""Types of columns as the card of an export states them (`features` of the Hugging Face hub's
metadata): loaders would infer them from the first rows, and fail where a column is empty there."""

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

#: The type of a column whose values are of several, or nested.
_ANY = "json"
_LARGEST = 1 << 63


def arrow_features(fields: Iterable[tuple[str, pa.DataType]]) -> list[dict[str, Any]]:
    """
    >>> arrow_features([("caption", pa.string()), ("tags", pa.list_(pa.string()))])
    [{'name': 'caption', 'dtype': 'string'}, {'name': 'tags', 'list': 'string'}]
    """
    return [
        {"name": name, "list": _name_of(kind.value_type)}
        if pa.types.is_list(kind)
        else {"name": name, "dtype": _name_of(kind)}
        for name, kind in fields
    ]


def _name_of(kind: pa.DataType) -> str:
    return str(kind).replace("double", "float64")


class JsonColumns:
    """The types of columns in JSON lines, of which only some are known before they are written."""

    def __init__(self, features: Iterable[dict[str, Any]]) -> None:
        self._known = {feature["name"]: feature for feature in features}
        self._kinds: dict[str, str] = {}

    def add(self, values: Mapping[str, Any]) -> None:
        """The values of a row by column."""
        for name, value in values.items():
            if name in self._known:
                continue
            kind, before = _kind_of(value), self._kinds.get(name, "")
            if {kind, before} == {"int64", "float64"}:
                kind = "float64"
            elif kind and before and kind != before:
                kind = _ANY
            self._kinds[name] = kind or before

    def features(self) -> list[dict[str, Any]]:
        others = ({"name": name, "dtype": kind or "string"} for name, kind in self._kinds.items())
        return [*self._known.values(), *others]


def _kind_of(value: Any) -> str:
    """
    >>> [_kind_of(value) for value in (None, True, 3, 0.5, "a", ["a"], 1 << 70)]
    ['', 'bool', 'int64', 'float64', 'string', 'json', 'json']
    """
    if value is None:
        return ""
    for kind, name in ((bool, "bool"), (float, "float64"), (str, "string")):
        if isinstance(value, kind):
            return name
    return "int64" if isinstance(value, int) and -_LARGEST <= value < _LARGEST else _ANY
