"""Counts a source tree: `python -m tests.tree [ROOT]`  (research/RESULTS.md, "The source tree")

A *room* is `app`, `traced_ui`, `db`, a folder of `backend`, or a module directly in `backend`; an
*arrow* is a pair of rooms of which the first imports the second.
"""

import ast
import re
import statistics
import sys
from collections import Counter
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: The folders that contain modules, in addition to `app.py`.
FOLDERS = ("traced_ui", "backend", "db", "research")


def room(module: str) -> str:
    """
    >>> room("backend.jobs.scoring.detect"), room("backend.errors"), room("db.queries.pair_queries")
    ('backend.jobs', 'backend.errors', 'db')
    """
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] == "backend" else parts[0]


@cache
def imports_of(path: Path) -> frozenset[str]:
    """The modules that a file imports, and the names in them."""
    imported: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            imported |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(imported)


def imported_at_once(path: Path) -> set[str]:
    """What a file imports when it is imported, not later within a function or for types only."""
    names: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def chain_to(library: str, start: str = "app") -> list[str]:
    """The shortest chain of imports from a module to a library; empty if there is none."""
    paths = {name.removesuffix(".__init__"): path for name, path in modules(ROOT)}
    chains = [[start]]
    seen = {start}
    for chain in chains:
        for name in sorted(imported_at_once(paths[chain[-1]])):
            if name.split(".")[0] == library:
                return [*chain, library]
            if name in paths and name not in seen:
                seen.add(name)
                chains.append([*chain, name])
    return []


def modules(root: Path) -> list[tuple[str, Path]]:
    """The names and files of the program's modules."""
    folders = (root / name for name in FOLDERS)
    paths = [root / "app.py", *(path for folder in folders for path in folder.rglob("*.py"))]
    return [(".".join(p.relative_to(root).with_suffix("").parts), p) for p in sorted(paths)]


def counts(root: Path) -> dict[str, int | float]:
    """The counts for the tree at `root`, by name."""
    named = modules(root)
    lengths = [len(path.read_text(encoding="utf-8").splitlines()) for _, path in named]
    rooms = {room(name.removesuffix(".__init__")) for name, _ in named} - {"backend"}
    arrows = {
        (room(name), room(other))
        for name, path in named
        for other in imports_of(path)
        if room(other) in rooms - {room(name)}
    }
    names = Counter(
        path.stem for _, path in named if path.stem not in ("__init__", "env", "feature")
    )
    tests = [path.read_text(encoding="utf-8") for path in (root / "tests").rglob("test_*.py")]
    return {
        "files": len(named),
        "lines": sum(lengths),
        "median lines of a file": statistics.median(lengths),
        "lines of the longest file": max(lengths),
        "rooms": len(rooms),
        "arrows": len(arrows),
        "arrows in both directions": len([1 for a, b in arrows if (b, a) in arrows]) // 2,
        "file names that occur more than once": sum(count > 1 for count in names.values()),
        "test files": len(tests),
        "test functions": sum(len(re.findall(r"^\s*def test_", text, re.M)) for text in tests),
        "words of the README": len((root / "README.md").read_text(encoding="utf-8").split()),
    }


if __name__ == "__main__":
    for name, count in counts(Path(sys.argv[1] if len(sys.argv) > 1 else ".")).items():
        print(f"{name}: {count:,}")
