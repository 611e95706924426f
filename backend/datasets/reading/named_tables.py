"""Which files are tables, and of which splits, by their names alone."""

from collections.abc import Iterable
from pathlib import PurePosixPath

from backend.datasets import splits
from backend.datasets.read_options import JSON_LINES
from backend.datasets.reading.name_patterns import ABOUT, is_skipped

#: Supported file types, the most common first; only one type is read from a folder.
_KINDS = (
    (".parquet",),
    (".arrow",),
    JSON_LINES,
    (".csv", ".tsv"),
    (".tar",),
    (".json",),
)


def tables_among(names: Iterable[str]) -> list[str]:
    """The names of tables: those of the most common type that is there."""
    data = [name for name in names if PurePosixPath(name).name not in ABOUT]
    suffixes = {name: PurePosixPath(name).suffix.lower() for name in data}
    kind = next((k for k in _KINDS if any(suffix in k for suffix in suffixes.values())), ())
    return [name for name in data if suffixes[name] in kind]


def splits_by_name(names: Iterable[str]) -> dict[str, str]:
    """The files to read and the splits that the names of their tables and folders state, "" for
    none."""
    visible = sorted(name for name in names if not is_skipped(name, ""))
    return dict.fromkeys(visible, "") | splits.splits_of(tables_among(visible))
