"""Bags as files in the published TrueMatch format: one JSON file per size, lists of picture ids.

    [["391895", "522418", "184613"], …]

`research/bags_and_recall.py` reads them.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from backend.datasets.regular_files import replacement


def file_name(size: int) -> str:
    return f"bags-{size}.json"


def write_bags(path: Path, bags: Sequence[Sequence[str]]) -> None:
    """Write one bag per line, so that two files can be diffed."""
    lines = ",\n".join(json.dumps(list(bag), ensure_ascii=False) for bag in bags)
    with replacement(path) as part:
        part.write_text(f"[\n{lines}\n]\n" if bags else "[]\n", encoding="utf-8", newline="\n")
