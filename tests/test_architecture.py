"""The rules of ARCHITECTURE.md on imports and on the use of the store and of Gradio."""

import itertools
from collections import Counter, defaultdict
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

from tests.tree import ROOT, imports_of, modules

#: Higher levels may import lower ones, never the reverse; folders on one level are independent.
LEVELS = [
    {"app"},
    {"research"},
    {"backend.features"},
    {"traced_ui", "backend.cli"},
    {"backend.workspace"},
    {"backend.operations"},
    {"backend.accounts"},
    {"backend.review"},
    {"backend.jobs"},
    {"backend.loaded_models"},
    {"backend.engine"},
    {"backend.datasets"},
]
#: Modules outside the levels, which any module may import.
COMMON = {
    "bound", "bundled", "errors", "learning_texts", "measures", "options", "plugins", "plurals",
    "progress", "settings", "store", "templating", "verdict_texts", "version",
}  # fmt: skip
#: The same within the engine.
ENGINE_LEVELS = [
    {"correction"},
    {"detection"},
    {"trajectories", "phrases", "noise"},
    {"scoring", "english"},
]
#: The same within reading and writing files.
DATASET_LEVELS = [{"writing"}, {"reading"}, {"safe_files"}]
#: Modules that may import `db`.
STORE_USERS = (
    "backend.accounts", "backend.operations", "backend.review", "backend.jobs", "backend.workspace",
    "backend.store", "backend.features", "backend.cli.doctor", "backend.cli.curator_commands",
)  # fmt: skip
#: Modules of `db` without SQL, which any module may import.
WITHOUT_SQL = ("db.authors", "db.decisions", "db.measures", "db.processes", "db.texts")
#: File names that occur in several folders because they cover one subject on several levels: its
#: queries, operations, page, commands and evaluation.
ONE_THING_ON_SEVERAL_LEVELS = {
    "errors", "export", "measures", "progress",
    "retrain", "score", "support",
}  # fmt: skip
#: How many other names may occur twice: the name of a file should identify it.
MOST_NAMES_TWICE = 1
#: Folders of tests that mirror no source folder: they test several of them.
TESTS_OF_THE_WHOLE = {
    "browser", "crossings", "docs", "engine/scoring/contracts", "faults", "hostile",
    "packaging",
}  # fmt: skip


def is_in(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def is_page(module: str) -> bool:
    """Whether it is the page of a feature, its part of the review page, what it serves, or what
    it shows in notebooks."""
    last = module.split(".")[-1]
    return is_in(module, "backend.features") and last in ("page", "part", "service", "display")


def is_free(module: str) -> bool:
    return module == "db" or any(is_in(module, name) for name in WITHOUT_SQL)


def level_of(module: str, levels: list[set[str]], prefix: str = "") -> tuple[int, str] | None:
    for number, names in enumerate(levels):
        for name in names:
            if is_in(module, prefix + name):
                return number, name
    return None


def packages(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir() if (p / "__init__.py").exists())


def test_imports_run_downwards() -> None:
    for module, path in modules(ROOT):
        for levels, prefix in (
            (LEVELS, ""), (ENGINE_LEVELS, "backend.engine."), (DATASET_LEVELS, "backend.datasets."),
        ):  # fmt: skip
            this = level_of(module, levels, prefix)
            for imported in imports_of(path):
                other = level_of(imported, levels, prefix)
                if this is not None and other is not None and this[1] != other[1]:
                    assert other[0] > this[0], f"{module} must not import {imported}"


def test_nothing_imports_in_a_circle() -> None:
    """Neither files nor folders: what lies in a folder can be read in an order in which each part
    comes after those that it imports. Imports for types and within functions count as well."""
    order: defaultdict[str, dict[str, set[str]]] = defaultdict(dict)
    for module, path in modules(ROOT):
        for imported in imports_of(path):
            folder = common_folder(module, imported)
            importer, target = (top_of(name[len(folder) :]) for name in (module, imported))
            if importer not in ("__init__", target):
                order[folder].setdefault(importer, set()).add(target)
    for imports in order.values():
        TopologicalSorter(imports).prepare()  # raises CycleError, which names the circle


def top_of(name: str) -> str:
    """
    >>> top_of("backend.features.patterns.page"), top_of("backend.jobs.runner"), top_of("app")
    ('backend.features', 'backend', 'app')
    """
    return "backend.features" if is_in(name, "backend.features") else name.split(".")[0]


def common_folder(module: str, other: str) -> str:
    """
    >>> common_folder("db.queries.pair_queries", "db.models")
    'db.'
    """
    parts = zip(module.split(".")[:-1], other.split(".")[:-1], strict=False)
    common = itertools.takewhile(lambda pair: pair[0] == pair[1], parts)
    return "".join(f"{name}." for name, _ in common)


def test_the_product_does_without_research() -> None:
    """Only the door for outside commands names it, and imports it where it is there."""
    for module, path in modules(ROOT):
        if not is_in(module, "research"):
            assert not any(is_in(name, "research") for name in imports_of(path)), module


def test_the_core_does_without_features_and_a_feature_without_others() -> None:
    """`backend.plugins` imports what a feature's `feature.py` names, where it is there."""
    for module, path in modules(ROOT):
        feature = ".".join(module.split(".")[:3]) if is_in(module, "backend.features") else ""
        if not is_in(module, "research"):
            features = [n for n in imports_of(path) if n.startswith("backend.features.")]
            assert [n for n in features if not (feature and is_in(n, feature))] == [], module


def test_the_core_has_no_words_of_features() -> None:
    """A feature that says in `NOUNS` what is its own lies in its folder, whole. Migrations are
    history: they made tables of features before these were folders."""
    core = [path for name, path in modules(ROOT) if not is_in(name, "backend.features")]
    elsewhere = (ROOT / "research", ROOT / "db" / "migrations")
    core = [path for path in core if not any(map(path.is_relative_to, elsewhere))]
    for pattern in ("*.html", "*.js", "*.css"):
        core += sorted((ROOT / "traced_ui").rglob(pattern))
    texts = {path: path.read_text(encoding="utf-8").lower() for path in core}
    for feature in packages(ROOT / "backend" / "features"):
        module = import_module(f"backend.features.{feature}.feature")
        for noun in getattr(module, "NOUNS", ()):
            places = [path for path, text in texts.items() if noun in text]
            assert places == [], f"'{noun}' is of {feature}"


def test_only_allowed_modules_use_the_store_and_the_user_interface() -> None:
    for module, path in modules(ROOT):
        for imported in imports_of(path):
            library = imported.split(".")[0]
            if module.startswith("backend") and library == "db" and not is_free(imported):
                assert any(is_in(module, user) for user in STORE_USERS), f"{module} -> {imported}"
            if module.startswith(("backend", "db", "research")) and not is_page(module):
                assert library not in ("gradio", "traced_ui"), f"{module} -> {imported}"
            if module.startswith("db"):
                assert library not in ("backend", "torch"), f"{module} -> {imported}"
            if module.startswith("traced_ui"):
                assert library not in ("db", "sqlalchemy"), f"{module} -> {imported}"


def test_every_folder_has_a_level() -> None:
    levels = {name for names in LEVELS for name in names}
    for name in packages(ROOT / "backend"):
        assert f"backend.{name}" in levels
    for path in (ROOT / "backend").glob("*.py"):
        if path.stem != "__init__":
            assert path.stem in COMMON or f"backend.{path.stem}" in levels, path.name


def test_few_file_names_are_used_twice() -> None:
    """A file of a feature is named by its folder."""
    outside = [p for name, p in modules(ROOT) if not is_in(name, "backend.features")]
    names = Counter(p.stem for p in outside if p.stem not in ("__init__", "env"))
    twice = {name for name, count in names.items() if count > 1}
    assert sorted(ONE_THING_ON_SEVERAL_LEVELS - twice) == []
    other = sorted(twice - ONE_THING_ON_SEVERAL_LEVELS)
    assert len(other) <= MOST_NAMES_TWICE, other


def test_only_the_hub_module_loads_models() -> None:
    for module, path in modules(ROOT):
        text = path.read_text(encoding="utf-8")
        if module not in ("backend.engine.hub", "backend.engine.torchvision_compat"):
            assert "import backend.engine.torchvision_compat" not in text, module
            assert ".from_pretrained(" not in text, module


def test_every_folder_is_in_the_architecture() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert [n for n in packages(ROOT / "backend") if f"`{n}/`" not in text] == []
    features = (ROOT / "backend/features/README.md").read_text(encoding="utf-8")
    for name in packages(ROOT / "backend/features"):
        assert f"({name}/README.md)" in features, f"backend/features/README.md has no row of {name}"
    assert [n for n in packages(ROOT / "backend/engine") if f"    {n}/" not in text] == []


def test_tests_mirror_the_folders() -> None:
    sources = {"db", "traced_ui"} | {
        str(p.parent.relative_to(base))
        for folder, base in ((ROOT / "backend", ROOT / "backend"), (ROOT / "research", ROOT))
        for p in folder.rglob("__init__.py")
        if p.parent != ROOT / "backend"
    }
    tests = {
        str(p.parent.relative_to(ROOT / "tests")) for p in (ROOT / "tests").rglob("test_*.py")
    } - {"."}
    assert sorted(tests - sources - TESTS_OF_THE_WHOLE) == []
    assert sorted(sources - tests) == []
