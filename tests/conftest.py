"""The quick lane: `pytest --quick` runs the tests that are fast enough to run at each save.

Files outside it are not even imported, because importing the libraries for models and pages takes
longer than running all its tests. A quick run that imports one of them fails and names it.
"""

import atexit
import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

import pytest

pytest_plugins = [
    "tests.fixtures.shared",  # which others import
    "tests.fixtures.demo", "tests.fixtures.examples", "tests.fixtures.interrupting",
    "tests.fixtures.object_store", "tests.fixtures.passwords",
    "tests.fixtures.sizes", "tests.fixtures.stores",
]  # fmt: skip

# The tests start a hub of their own on this machine, also for people who work offline.
for _variable in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
    os.environ.pop(_variable, None)

# No test reads or writes the home folder of whoever runs it: a second run would find its exports.
if "PYTEST_XDIST_WORKER" not in os.environ:  # the workers have that of the process that starts them
    os.environ["HOME"] = tempfile.mkdtemp(prefix="traced-tests-home-")
    atexit.register(shutil.rmtree, os.environ["HOME"], ignore_errors=True)

# Gradio would call home whenever a test builds a page.
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

# As in the program (`app.run`).
gc.set_threshold(20_000)

TESTS = Path(__file__).resolve().parent
#: Tests that need no browser, PostgreSQL or models, as patterns relative to this folder.
QUICK = (
    "test_architecture.py", "test_errors.py", "test_settings.py",
    "cli/test_output.py",
    "datasets/reading/test_annotations.py", "datasets/reading/test_json_stream.py",
    "datasets/reading/test_reading.py",
    "datasets/writing/test_writing.py",
    "db/test_blobs.py", "db/test_classifiers.py", "db/test_clock.py", "db/test_datasets.py",
    "db/test_pairs.py", "db/test_plane.py", "db/test_progress.py", "db/test_queue.py",
    "db/test_saved_views.py", "db/test_scores.py", "db/test_suggestions.py", "db/test_team.py",
    "db/test_verdicts.py", "db/test_word_marks.py",
    "features/corrections/test_answers.py", "features/corrections/test_prompting.py",
    "engine/correction/test_proposals.py", "engine/correction/test_ranking.py",
    "engine/detection/test_features.py", "engine/scoring/towers/test_prefix_tree.py",
    "engine/statistics/test_*.py", "engine/test_captions.py",
    "jobs/test_export_decision.py", "jobs/test_export_scores.py", "jobs/test_runner.py",
    "review/test_queue_form.py",
)  # fmt: skip
#: Folders whose files take longest, in the order in which processes should take them: short files
#: come last, so that all processes end at about the same time.
LONGEST_FIRST = (
    "browser", "faults", "research", "packaging", "docs", "jobs", "traced_ui", "cli", "engine",
)  # fmt: skip
#: Where PostgreSQL can differ from SQLite: locks, orders, searches, migrations. The other tests of
#: stores run on it in `make nightly` only.
POSTGRESQL_DIFFERS = (
    "db/test_clock.py", "db/test_many_curators.py", "db/test_migrations.py", "db/test_queue.py",
    "db/test_rankings.py", "db/test_session.py",
    "db/test_verdict_concurrency.py", "db/test_verdicts.py", "features/rules/test_deciding.py",
)  # fmt: skip
#: Browser tests of single details; the journeys run in `make test`.
NIGHTLY_IN_BROWSER = ("browser/test_duplicates_and_map.py", "browser/test_jobs_and_pages.py")
#: The tests of `research` that run in `make test`; the others train or measure, and are `nightly`.
RESEARCH_SAMPLE = (
    "research/bench/test_report.py", "research/captioning/test_curriculum.py",
    "research/commands/test_*.py", "research/evaluation/test_demo.py",
    "research/evaluation/test_metrics.py", "research/scenes/test_embedded_models.py",
    "research/scenes/test_world.py", "research/test_noisy_dataset.py",
)  # fmt: skip
#: Libraries that no test in the quick lane imports.
SLOW_LIBRARIES = ("torch", "transformers", "gradio", "playwright")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="only the quick lane, see conftest.py")
    parser.addoption("--retake", action="store_true", help="keep the pages as they look now")


def is_among(path: Path, patterns: Sequence[str]) -> bool:
    return any(fnmatch(path.relative_to(TESTS).as_posix(), pattern) for pattern in patterns)


def is_nightly(item: pytest.Item) -> bool:
    """Whether a test runs in `make nightly` only, besides those marked where they stand."""
    if item.path.is_relative_to(TESTS / "research"):
        return not is_among(item.path, RESEARCH_SAMPLE)
    if is_among(item.path, NIGHTLY_IN_BROWSER):
        return True
    return needs_postgresql(item) and not is_among(item.path, POSTGRESQL_DIFFERS)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Whether to ignore a file; None leaves the decision to pytest."""
    if config.getoption("--quick") and collection_path == TESTS / "browser":
        return True  # its conftest imports Playwright
    is_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    if not config.getoption("--quick") or not is_test:
        return None
    return None if is_among(collection_path, QUICK) else True


def rank(path: Path) -> int:
    folder = path.relative_to(TESTS).parts[0]
    return LONGEST_FIRST.index(folder) if folder in LONGEST_FIRST else len(LONGEST_FIRST)


def needs_postgresql(item: pytest.Item) -> bool:
    values = getattr(getattr(item, "callspec", None), "params", {}).values()
    names = getattr(item, "fixturenames", ())
    return "postgresql" in values or any("postgresql" in name for name in names)


@pytest.hookimpl(tryfirst=True)  # before `-m` selects by marker
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run the longest files first; the quick lane tests stores on SQLite only."""
    items.sort(key=lambda item: rank(item.path))
    for item in filter(is_nightly, items):
        item.add_marker(pytest.mark.nightly)
    if not config.getoption("--quick"):
        return
    left_out = [item for item in items if needs_postgresql(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def pytest_collection_finish() -> None:
    """Leave what the tests import, a million objects, out of garbage collections: these took a
    sixth of the time, and the last one so long that execnet interrupted a worker at its end."""
    gc.freeze()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail if a slow library was imported in the quick lane."""
    imported: Sequence[str] = [name for name in SLOW_LIBRARIES if name in sys.modules]
    if session.config.getoption("--quick") and imported:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        print(f"\nThe quick lane imports {', '.join(imported)}: see tests/conftest.py.")
