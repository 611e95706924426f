"""The quick lane: `pytest --quick` runs the tests that are fast enough to run at each save.

Files outside it are not even imported, because importing the libraries for models and pages takes
longer than running all its tests. A quick run that imports one of them fails and names it.
"""

import gc
import sys
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures import garbage

pytest_plugins = [
    "tests.fixtures.examples", "tests.fixtures.interrupting", "tests.fixtures.passwords",
    "tests.fixtures.processor_times", "tests.fixtures.shared", "tests.fixtures.stores",
]  # fmt: skip

# Imported modules never become garbage: not scanning them repeatedly, and collecting less often,
# saves a sixth of the tests' processor time.
gc.disable()

TESTS = Path(__file__).resolve().parent
#: Tests that need no browser, PostgreSQL or models, as patterns relative to this folder.
QUICK = (
    "test_architecture.py", "test_errors.py", "test_settings.py",
    "cli/test_output.py",
    "datasets/test_annotations.py", "datasets/test_json_stream.py", "datasets/test_reading.py",
    "datasets/test_writing.py",
    "db/test_blobs.py", "db/test_classifiers.py", "db/test_clock.py", "db/test_datasets.py",
    "db/test_pairs.py", "db/test_plane.py", "db/test_progress.py", "db/test_queue.py",
    "db/test_saved_views.py", "db/test_scores.py", "db/test_suggestions.py", "db/test_team.py",
    "db/test_verdicts.py", "db/test_word_marks.py",
    "engine/correction/test_answers.py", "engine/correction/test_prompting.py",
    "engine/correction/test_proposals.py", "engine/correction/test_ranking.py",
    "engine/detection/test_features.py", "engine/scoring/towers/test_prefix_tree.py",
    "engine/statistics/test_*.py", "engine/test_captions.py",
    "jobs/test_export_decision.py", "jobs/test_export_scores.py", "jobs/test_runner.py",
    "review/test_queue_form.py",
)  # fmt: skip
#: Folders whose files take longest, in the order in which processes should take them: short files
#: come last, so that all processes end at about the same time. The browser tests occupy one process
#: for most of the run (`fixtures/scheduling.py`).
LONGEST_FIRST = (
    "browser",
    "faults",
    "lab",
    "packaging",
    "docs",
    "jobs",
    "traced_ui",
    "cli",
    "engine",
)
#: Libraries that no test in the quick lane imports.
SLOW_LIBRARIES = ("torch", "transformers", "gradio", "playwright")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="only the quick lane, see conftest.py")


def is_quick(path: Path) -> bool:
    return any(fnmatch(path.relative_to(TESTS).as_posix(), pattern) for pattern in QUICK)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Whether to ignore a file; None leaves the decision to pytest."""
    if config.getoption("--quick") and collection_path == TESTS / "browser":
        return True  # its conftest imports Playwright
    is_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    if not config.getoption("--quick") or not is_test:
        return None
    return None if is_quick(collection_path) else True


def rank(path: Path) -> int:
    folder = path.relative_to(TESTS).parts[0]
    return LONGEST_FIRST.index(folder) if folder in LONGEST_FIRST else len(LONGEST_FIRST)


def needs_postgresql(item: pytest.Item) -> bool:
    values = getattr(getattr(item, "callspec", None), "params", {}).values()
    names = getattr(item, "fixturenames", ())
    return "postgresql" in values or any("postgresql" in name for name in names)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run the longest files first; the quick lane tests stores on SQLite only."""
    items.sort(key=lambda item: rank(item.path))
    if not config.getoption("--quick"):
        return
    left_out = [item for item in items if needs_postgresql(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


@pytest.hookimpl(optionalhook=True)  # of xdist
def pytest_xdist_setupnodes(specs: list[Any]) -> None:
    """Let all processes share the imports of the slow libraries."""
    from tests.fixtures import programs

    programs.fork_workers(specs)


@pytest.hookimpl(optionalhook=True)  # of xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from tests.fixtures.scheduling import FilesAndTheBrowser

    return FilesAndTheBrowser(config, log)


def pytest_collection_finish() -> None:
    garbage.freeze_imported_modules()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail if a slow library was imported in the quick lane."""
    imported: Sequence[str] = [name for name in SLOW_LIBRARIES if name in sys.modules]
    if session.config.getoption("--quick") and imported:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        print(f"\nThe quick lane imports {', '.join(imported)}: see tests/conftest.py.")
