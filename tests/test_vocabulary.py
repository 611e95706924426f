"""Names in the code are standard terms of the field, not private jargon."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("backend", "db", "research", "traced_ui", "tests")

#: Forbidden as whole names: they do not say what the variable holds.
EMPTY = {
    "asked", "found", "here", "nobody", "one", "ones", "own", "said", "somebody", "stands",
    "telling", "tells", "there", "told",
}  # fmt: skip
#: Forbidden as parts of names, with the standard terms to use instead.
INSTEAD = {
    "told": "message, label, text", "lot": "random, rng", "lots": "random, rng",
    "desk": "review actions", "distil": "distill", "fate": "decision", "finder": "search",
    "workbench": "corrector", "offers": "suggestions", "bears": "records",
}  # fmt: skip


def bound_names(source: str) -> Iterator[tuple[str, int]]:
    """Every name that a module binds, with its line; names that it only uses belong to others
    (numpy's `ones`, a file's `tell`)."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno
        elif isinstance(node, ast.alias) and node.asname:
            yield node.asname, node.lineno


def problem_with(name: str) -> str:
    """What is wrong with a name; "" if nothing.

    >>> problem_with("told"), problem_with("random_key"), problem_with("_LotOfPairs")
    ('says nothing of what it holds', '', "say 'random, rng' instead of 'lot'")
    """
    if name.strip("_") in EMPTY:
        return "says nothing of what it holds"
    if name.startswith("test_"):
        return ""  # a sentence
    parts = [part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]
    return next((f"say '{INSTEAD[p]}' instead of '{p}'" for p in parts if p in INSTEAD), "")


def problems_in(source: str) -> list[str]:
    return [
        f"{line}: '{name}' {problem}"
        for name, line in bound_names(source)
        if (problem := problem_with(name))
    ]


def modules() -> list[Path]:
    """All modules except migrations, which stay as released."""
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    released = ROOT / "db" / "migrations" / "versions"
    return [ROOT / "app.py", *(path for path in paths if released not in path.parents)]


def test_names_are_words_of_the_field() -> None:
    problems = [
        f"{path.relative_to(ROOT)}:{problem}"
        for path in modules()
        for problem in problems_in(path.read_text(encoding="utf-8"))
    ]
    assert problems == []
