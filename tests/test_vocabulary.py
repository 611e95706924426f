"""Names in the code are standard terms of the field, not private jargon."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("backend", "db", "research", "traced_ui", "tests")

#: Forbidden as whole names: they do not say what the variable holds.
EMPTY = {
    "asked", "found", "here", "nobody", "one", "ones", "own", "said", "somebody", "stands",
    "telling", "tells", "there", "told",
}  # fmt: skip
#: Participles that, alone, do not say what a variable or an argument holds.
PARTICIPLES = {
    "added", "asked", "begun", "chosen", "computed", "counted", "described", "drawn", "given",
    "gone", "held", "judged", "kept", "known", "listed", "loaded", "made", "marked", "named",
    "opened", "ranked", "read", "removed", "sampled", "scored", "seen", "shown", "started",
    "stored", "taken", "wanted", "written",
}  # fmt: skip
#: The folders that have none; add to these, never take away.
WITHOUT_PARTICIPLES = ("backend", "db", "traced_ui")
#: An option of exports that stored jobs name, and a field of stored classifiers.
ALLOWED = {"gone", "held"}
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


def bare_participles(source: str) -> list[str]:
    """Variables and arguments that are a participle and nothing else; fields of records, whose
    name follows that of the record, and functions, which are verbs, are allowed.

    >>> bare_participles("known = 1; known_words = 2; record.kept = 3")
    ['known']
    """
    fields, names = set[int](), list[str]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef):
            fields |= {id(x.target) for x in node.body if isinstance(x, ast.AnnAssign)}
        elif isinstance(node, ast.arg) and node.arg.strip("_") in PARTICIPLES:
            names.append(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            is_variable = id(node) not in fields and node.id.strip("_") in PARTICIPLES
            names += [node.id] * is_variable
    return names


#: Participles that do not end in -ed.
_IRREGULAR = {
    "begun", "built", "chosen", "done", "drawn", "found", "given", "gone", "held", "hidden", "kept",
    "known", "left", "lost", "made", "put", "seen", "sent", "shown", "taken", "told", "written",
}  # fmt: skip
_VERBS = {"embed", "feed", "need", "seed"}


def is_participle(name: str) -> bool:
    """
    >>> [is_participle(name) for name in ("_opened", "seen", "embed", "open_file")]
    [True, True, False, False]
    """
    word = name.strip("_")
    return word in _IRREGULAR or (word.endswith("ed") and "_" not in word and word not in _VERBS)


D = TypeVar("D", ast.FunctionDef, ast.ClassDef)


def definitions(kind: type[D]) -> Iterator[tuple[Path, D]]:
    """The functions or classes of all modules but tests, with their file."""
    for path in modules():
        if path.relative_to(ROOT).parts[0] != "tests":
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, kind):
                    yield path, node


def test_a_function_is_a_verb() -> None:
    """What a function does is its name; a property is a noun or a state."""
    for path, function in definitions(ast.FunctionDef):
        if not any("property" in ast.unparse(each) for each in function.decorator_list):
            assert not is_participle(function.name), path


def test_a_class_is_a_noun() -> None:
    """An exception may say what has happened."""
    for path, node in definitions(ast.ClassDef):
        name = node.name.strip("_")
        is_error = any(ast.unparse(base).endswith(("Error", "Exception")) for base in node.bases)
        assert is_error or not name.istitle() or not is_participle(name.lower()), (path, name)


def test_a_name_is_a_noun() -> None:
    for path in modules():
        if path.relative_to(ROOT).parts[0] in WITHOUT_PARTICIPLES:
            names = set(bare_participles(path.read_text(encoding="utf-8")))
            assert names <= ALLOWED, path
