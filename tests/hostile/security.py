"""What SECURITY.md says of each threat."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Threat:
    """`tests`: folders, files, or single tests in files after '::'; below the repository."""

    name: str
    tests: tuple[str, ...]


def threats() -> list[Threat]:
    """The rows of SECURITY.md's tables."""
    lines = (ROOT / "SECURITY.md").read_text(encoding="utf-8").splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    return [Threat(cells[0], _tests_in(cells[-1])) for cells in rows if cells[0] != "Threat"]


def _tests_in(cell: str) -> tuple[str, ...]:
    """The tests that a cell names; a bare file name is in the folder of the name before it."""
    names, folder = [], ""
    for name in re.findall(r"`([^`]+)`", cell):
        path = name.partition("::")[0]
        if path.startswith("tests/"):
            folder = path.rpartition("/")[0]
        elif path.startswith("test_"):
            name = f"{folder}/{name}"
        else:
            continue
        names.append(name)
    return tuple(names)
