"""Imports run one way: app -> traced_ui -> backend.workspace -> backend parts and db."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

#: Higher may import lower, never the other way round; parts on one level ignore each other.
LEVELS = [
    {"app"},
    {"traced_ui", "backend.commands"},
    {"backend.evaluation", "backend.bench"},
    {"backend.workspace"},
    {"backend.pipeline", "backend.jobs"},
    {"backend.engine"},
    {"backend.correction"},
    {"backend.detection"},
    {"backend.trajectories"},
    {"backend.scoring"},
]


def level_of(module: str) -> int | None:
    for number, names in enumerate(LEVELS):
        if any(module == name or module.startswith(name + ".") for name in names):
            return number
    return None


def imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def modules() -> list[tuple[str, Path]]:
    folders = (ROOT / name for name in ("traced_ui", "backend", "db"))
    paths = [ROOT / "app.py", *(path for folder in folders for path in folder.rglob("*.py"))]
    return [(".".join(p.relative_to(ROOT).with_suffix("").parts), p) for p in paths]


@pytest.mark.parametrize(("module", "path"), modules(), ids=lambda value: str(value)[-40:])
def test_imports_run_downwards(module: str, path: Path) -> None:
    own = level_of(module)
    for imported in imports_of(path):
        other = level_of(imported)
        if own is not None and other is not None:
            assert other >= own, f"{module} must not import {imported}"
        if module.startswith("backend"):
            assert not imported.startswith(("traced_ui", "gradio")), f"{module} -> {imported}"
        if module.startswith("db"):
            assert not imported.startswith(("backend", "traced_ui", "gradio", "torch")), imported
        if module.startswith("traced_ui"):
            assert not imported.startswith(("db", "sqlalchemy")), f"{module} -> {imported}"


def test_every_folder_of_the_engine_is_in_the_architecture() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    folders = [p.name for p in (ROOT / "backend").iterdir() if (p / "__init__.py").exists()]
    missing = [name for name in folders if f"`{name}/`" not in text]
    assert not missing
