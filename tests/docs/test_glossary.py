"""One word for each thing: what docs/glossary.md says a thing is not called, nothing is called."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDERS = ("backend", "db", "research", "traced_ui", "tests")
#: A row of the table: the term, what it is, and its wrong names.
ROW = re.compile(r"^\| (?P<term>[^|]+) \| [^|]+ \| (?P<wrong>[^|]*?) ?\|$", re.MULTILINE)
TEXT = (ROOT / "docs" / "glossary.md").read_text("utf-8")
#: By wrong name, the term.
WRONG = {
    name.strip(): row["term"]
    for row in ROW.finditer(TEXT)
    for name in row["wrong"].split(",")
    if name.strip() and row["term"] not in ("Term", "---")
}


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


def term_for(name: str) -> str:
    """What to say instead of a wrong name, or of a wrong part of one; "" for a right one.

    >>> term_for("told"), term_for("random_key"), term_for("_LotOfPairs")
    ('message, label', '', 'draw, sample')
    """
    parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)
    return next((WRONG[each] for each in (name, *map(str.lower, parts)) if each in WRONG), "")


def modules() -> Iterator[Path]:
    """All modules except migrations, which stay as released."""
    released = ROOT / "db" / "migrations" / "versions"
    for path in (p for folder in FOLDERS for p in sorted((ROOT / folder).rglob("*.py"))):
        if released not in path.parents:
            yield path


def test_the_glossary_has_terms_and_wrong_names() -> None:
    assert len(list(ROW.finditer(TEXT))) >= 40
    assert len(WRONG) >= 10


def test_no_name_is_a_wrong_one() -> None:
    problems = [
        f"{path.relative_to(ROOT)}:{line}: '{name}': say '{term}'"
        for path in modules()
        for name, line in bound_names(path.read_text(encoding="utf-8"))
        if not name.startswith("test_") and (term := term_for(name))
    ]
    assert problems == []
