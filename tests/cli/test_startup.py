"""Commands import heavy libraries only when they need them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from backend.bundled import restrict_umask
from backend.settings import load_settings
from backend.version import VERSION
from backend.workspace import Workspace
from tests.cli.invoking import COMMANDS, invoked
from tests.datasets.folders import malformed
from tests.fixtures import programs
from tests.tree import chain_to
from traced_ui import server

ROOT = Path(__file__).resolve().parents[2]
#: Importing each takes a tenth of a second to several seconds of processor time.
HEAVY = {
    "torch", "transformers", "scipy", "sklearn", "pandas", "gradio", "sqlalchemy", "alembic",
    "xgboost", "plotly", "PIL", "pyarrow", "numpy", "faiss", "argon2", "uvicorn", "fastapi",
}  # fmt: skip
#: Libraries that no page needs before a model is used.
MODELS = {"torch", "transformers", "scipy", "sklearn", "xgboost", "faiss"}
#: Modules that read stored trajectories and suggestions and compute nothing.
READERS = {
    "backend.jobs", "backend.jobs.correction_writers", "backend.jobs.errors_left",
    "backend.jobs.notices", "backend.jobs.job_view", "backend.jobs.scoring",
    "backend.jobs.scoring.dataset_constants", "backend.jobs.scoring.dataset_models",
    "backend.jobs.scoring.stored_rows",
}  # fmt: skip
#: Runs the program once for each line of arguments and prints what it has imported, however it
#: ends. The modules that all of them import are imported before they fork.
PROGRAM = """
import os, sys
import app
sys.argv[0] = "app.py"
for line in sys.stdin.read().splitlines():
    process = os.fork()
    if not process:
        sys.argv[1:] = line.split()
        try:
            app.app()
        except SystemExit as ended:
            print("IMPORTED", repr(line), ended.code, *{m.split(".")[0] for m in sys.modules})
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(process, 0)
"""
HELP_OF = [[], *([name] for name in COMMANDS), ["curators", "add"]]


@pytest.fixture(scope="module")
def imported_for_help() -> dict[str, set[str]]:
    """The modules that each command imports to print its help, by command."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input="\n".join(map(_help, HELP_OF)),
        cwd=ROOT, capture_output=True, text=True, check=True, timeout=200,
    )  # fmt: skip
    ended = re.findall(r"^IMPORTED '(.*)' 0 (.*)$", done.stdout, re.MULTILINE)
    return {line: set(names.split()) for line, names in ended}


def _help(command: list[str]) -> str:
    return " ".join([*command, "--help"])


def test_help_imports_nothing_heavy(imported_for_help: dict[str, set[str]]) -> None:
    for command in HELP_OF:
        imported = imported_for_help[_help(command)]
        assert "typer" in imported
        for library in sorted(imported & HEAVY):
            chain = " imports ".join(chain_to(library)) or "a library of ours"
            pytest.fail(f"{' '.join(command)} --help imports {library}: {chain}")


#: What a start on the scored demo imports until its first answer beyond an empty Gradio app.
LIBRARIES = {
    "_argon2_cffi_bindings", "_cffi_backend", "alembic", "argon2", "charset_normalizer", "ijson",
    "mako", "markdown_it", "mdurl", "platformdirs", "sqlalchemy",
}  # fmt: skip
#: Prints the libraries of an empty app, then those that ours imports in addition.
FIRST_ANSWER = """
import sys
import fastapi, gradio
from starlette.testclient import TestClient
with gradio.Blocks() as blocks:
    gradio.Textbox()
empty = gradio.mount_gradio_app(fastapi.FastAPI(), blocks, "/")
assert TestClient(empty).get("/").status_code == 200
before = {name.partition(".")[0] for name in sys.modules}

from backend.cli.output import open_workspace
from backend.jobs import scored_demo
from backend.settings import load_settings
settings = load_settings({"data_directory": sys.argv[1]})
scored_demo.unpack(settings)
workspace = open_workspace(settings)
dataset = workspace.start()
from traced_ui.server import create_app
page = TestClient(create_app(workspace, dataset), base_url="http://127.0.0.1").get("/")
assert page.status_code == 200
ours = {name.partition(".")[0] for name in sys.modules}
print(*sorted(ours - before - sys.stdlib_module_names))
"""


def test_a_start_imports_few_libraries(tmp_path: Path) -> None:
    _, printed, reported = programs.run(["-c", FIRST_ANSWER, str(tmp_path)], os.environ)
    imported = set(printed.splitlines()[-1].split()) if printed else set()
    assert "sqlalchemy" in imported, reported
    ours = {"app", "backend", "db", "traced_curator", "traced_ui"}
    assert sorted(imported - ours - LIBRARIES) == []


def test_a_pair_is_opened_without_importing_model_libraries() -> None:
    """It only reads what is stored."""
    opened = "import backend.review.pair, sys\nprint(*sys.modules)"
    _, printed, reported = programs.run(["-c", opened], os.environ)
    imported = set(printed.split())
    assert "backend.review.pair" in imported, reported
    assert {name for name in imported if name.startswith("backend.jobs")} <= READERS
    assert imported.isdisjoint({*MODELS, "gradio"})


def test_the_address_is_shown_before_the_pages_are_imported(tmp_path: Path) -> None:
    state, folder = tmp_path / "state", malformed(tmp_path / "pairs")
    workspace = Workspace(load_settings({"data_directory": str(state)}, {}))
    workspace.jobs.import_dataset(folder)
    workspace.store.close()
    code = (
        "import sys\nfrom backend.cli.output import console\nshown = console.print\n"
        "def look(text, *rest, **more):\n"
        "    shown(text, *rest, **more)\n"
        "    if 'http://' in str(text):\n"
        "        print('IMPORTED', *{m.split('.')[0] for m in sys.modules}, flush=True)\n"
        "        import gc, os\n"
        "        print('COLLECTED', gc.get_stats()[0]['collections'], flush=True)\n"
        "        os._exit(0)\n"
        "console.print = look\nimport app\nsys.argv[0] = 'app.py'\napp.run()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "serve", "--data", str(folder), "--port", "0"],
        cwd=ROOT, capture_output=True, text=True, check=True, timeout=200,
        env={**os.environ, "TRACED_DATA_DIRECTORY": str(state)},
    )  # fmt: skip
    assert re.search(r"http://127\.0\.0\.1:\d+/", done.stderr)
    imported, collected = done.stdout.splitlines()[-2:]
    assert imported.startswith("IMPORTED ")
    assert "gradio" not in imported.split()
    # By default over 400: the objects of a start last.
    assert int(collected.removeprefix("COLLECTED ")) < 250


def test_the_package_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "traced_curator", "--version"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert printed.strip() == VERSION


def run_with(library: str, folder: Path) -> tuple[int, str, str]:
    """Run a command in a process in which a library does this."""
    program = (
        "import app, sys, threading, time\n"
        "from backend.cli import ending\n"
        f"ending.PATIENCE = 0.1\n{library}\n"
        "sys.argv = ['app.py', 'progress', 'nothing']\n"
        "app.run()\n"
    )
    return programs.run(["-c", program], {**os.environ, "TRACED_DATA_DIRECTORY": str(folder)})


def test_a_command_that_is_done_says_what_it_waits_for_and_ends(tmp_path: Path) -> None:
    thread = "threading.Thread(target=time.sleep, args=(5000,), name='a library').start()"
    status, _, reported = run_with(thread, tmp_path)
    assert status == 3
    assert "a library" in reported
    assert (tmp_path / "traced.db").stat().st_mode & 0o007 == 0, "the program restricts its umask"


def test_a_command_ends_whatever_libraries_do_when_they_are_taken_apart(tmp_path: Path) -> None:
    """By then no thread of ours runs, which could end a wait."""
    waits = (
        "class Library:\n"
        "    def __del__(self, sleep=time.sleep):\n"
        "        sleep(5000)\n"
        "sys.library = Library()"
    )
    assert run_with(waits, tmp_path)[0] == 3


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full disk")
def test_results_that_cannot_be_written_at_the_end_are_a_failure(tmp_path: Path) -> None:
    environment = {**os.environ, "TRACED_DATA_DIRECTORY": str(tmp_path), "PYTHONUNBUFFERED": ""}
    command = "import os, app; os.dup2(os.open('/dev/full', os.O_WRONLY), 1); app.run()"
    status, _, reported = programs.run(["-c", command, "datasets", "list", "--json"], environment)
    assert status == 1
    assert "No space left" in reported


@pytest.mark.parametrize(("umask", "modes"), [(0o022, (0o700, 0o600)), (0o002, (0o770, 0o660))])
def test_what_is_written_is_nobody_elses(
    tmp_path: Path, umask: int, modes: tuple[int, int]
) -> None:
    environment = {"TRACED_DATA_DIRECTORY": str(tmp_path / "state")}
    pairs, out = str(malformed(tmp_path / "pairs")), str(tmp_path / "o")
    before = os.umask(umask)
    try:
        restrict_umask()
        for command in (["import", pairs], ["export", "pairs", out]):
            status, _, reported = invoked(environment, *command)
            assert status == 0, reported
    finally:
        os.umask(before)
    places = [*(tmp_path / "state").rglob("*"), tmp_path / "o", *(tmp_path / "o").rglob("*")]
    assert (tmp_path / "state" / "traced.db") in places
    assert not (tmp_path / "state" / "traced.db-wal").exists(), "the database was closed"
    for place in places:
        assert place.stat().st_mode & 0o777 & ~modes[not place.is_dir()] == 0, place


def test_the_demo_opens_in_a_place_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = []
    monkeypatch.setattr(
        server, "serve",
        lambda workspace, _, dataset, **__: served.append(
            (workspace.summary(dataset), workspace.settings)
        ),
    )  # fmt: skip
    theirs = tmp_path / "theirs.db"
    environment = {
        "TRACED_DATA_DIRECTORY": str(tmp_path), "TRACED_DATABASE": f"sqlite:///{theirs}",
    }  # fmt: skip
    assert invoked(environment, "demo", "--port", "0")[0] == 0
    ((summary, settings),) = served
    assert (summary.name, summary.total, summary.scored) == ("demo", 600, 600)
    assert settings.data_directory == tmp_path / "demo"
    assert not theirs.exists()
