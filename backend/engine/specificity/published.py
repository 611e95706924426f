"""Bags as files in the published TrueMatch format: one JSON file per size, lists of picture ids.

    [["391895", "522418", "184613"], …]

Ids may be numbers or strings when read, and are written as strings.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from backend.datasets.text_files import text_of
from backend.errors import DatasetError

Ids = tuple[tuple[str, ...], ...]


def file_name(size: int) -> str:
    return f"bags-{size}.json"


def write_bags(path: Path, bags: Sequence[Sequence[str]]) -> None:
    """Write one bag per line, so that two files can be diffed."""
    lines = ",\n".join(json.dumps(list(bag), ensure_ascii=False) for bag in bags)
    path.write_text(f"[\n{lines}\n]\n" if bags else "[]\n", encoding="utf-8", newline="\n")


def read_bags(path: Path) -> Ids:
    """The bags of a file. Raises DatasetError, naming the bag, if the file is invalid."""
    try:
        bags = json.loads(text_of(path))
    except (ValueError, RecursionError) as problem:
        raise DatasetError(f"{path} is not valid JSON: {problem}.") from problem
    if not isinstance(bags, list) or not all(isinstance(bag, list) for bag in bags):
        raise DatasetError(f"{path} must hold a list of bags, each a list of ids.")
    return tuple(_bag(path, number, bag) for number, bag in enumerate(bags, 1))


def _bag(path: Path, number: int, bag: Sequence[object]) -> tuple[str, ...]:
    where = f"{path}, bag {number}"
    if not all(isinstance(member, str | int) and not isinstance(member, bool) for member in bag):
        raise DatasetError(f"{where}: ids are texts or numbers.")
    ids = tuple(str(member) for member in bag)
    if len(ids) < 2:
        raise DatasetError(f"{where}: a bag holds at least two pictures.")
    twice = next((identity for place, identity in enumerate(ids) if identity in ids[:place]), None)
    if twice is not None:
        raise DatasetError(f"{where}: it holds the picture '{twice}' twice.")
    return ids


def rows_of(path: Path, bags: Ids, row_of: Mapping[str, int]) -> list[tuple[int, ...]]:
    """The bags as rows of pictures. Raises DatasetError listing unknown ids with their bags."""
    unknown = [
        (n, member) for n, bag in enumerate(bags, 1) for member in bag if member not in row_of
    ]
    if unknown:
        named = ", ".join(f"'{member}' (bag {number})" for number, member in unknown[:5])
        more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        raise DatasetError(f"{path}: the dataset has no picture {named}{more}.")
    return [tuple(row_of[member] for member in bag) for bag in bags]
