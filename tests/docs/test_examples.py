"""Runs what the documentation shows: the README's shell lines, the Python example, doctests."""

import doctest
import importlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from backend.settings import DEMO
from tests.browser.conftest import free_port
from tests.docs.pages import ROOT, fences, shell_lines
from tests.fixtures import programs

#: Lines that install from a registry; the installed program is tested elsewhere.
INSTALLS = {"make run", "make test"}


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Twelve pairs of the demo, in place of a user's photographs."""
    folder = tmp_path / "photos"
    (folder / "images").mkdir(parents=True)
    lines = (DEMO / "metadata.jsonl").read_text().splitlines()[:12]
    for line in lines:
        name = json.loads(line)["file_name"]
        shutil.copy(DEMO / name, folder / name)
    (folder / "metadata.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def served(arguments: list[str], folder: Path, environment: dict[str, str]) -> None:
    """Start the app, open its page, stop it as Ctrl-C does."""
    port = free_port()
    log = folder / "server.log"
    with log.open("wb") as output:
        process = programs.start(
            arguments, {**environment, "TRACED_PORT": str(port)}, stdout=output, stderr=output,
            folder=folder,
        )  # fmt: skip
    try:
        for _ in range(600):
            assert process.poll() is None, log.read_text()
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as page:
                    assert "TRACED Curator" in page.read().decode()
                    return
            except OSError:
                try:
                    process.wait(0.2)
                except subprocess.TimeoutExpired:
                    continue
        pytest.fail(log.read_text())
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def test_the_readme_s_shell_lines(photos: Path, tmp_path: Path) -> None:
    """All of them, in order and unchanged, in a folder with `app.py`, except for the model: the
    embedded one, which needs no download, replaces the hub's."""
    (tmp_path / "app.py").symlink_to(ROOT / "app.py")
    environment = {
        **os.environ, "TRACED_DATA_DIRECTORY": str(tmp_path / "state"), "HF_HUB_OFFLINE": "1",
    }  # fmt: skip
    ran = []
    for line in shell_lines(ROOT / "README.md"):
        if line in INSTALLS or "models download" in line:
            continue
        line = line.replace("--model thorough", "--model embedded")
        python, *arguments = shlex.split(line)
        assert python == ".venv/bin/python", line
        assert shlex.join(arguments) == " ".join(arguments), f"{line} needs a shell"
        if "serve" in arguments:
            served(arguments, tmp_path, environment)
        else:
            status, _, reported = programs.run(arguments, environment, folder=tmp_path)
            assert status == 0, f"{line}\n{reported}"
        ran.append(line)
    assert any("score" in line for line in ran)
    tables = (tmp_path / "cleaned").rglob("metadata.jsonl")
    exported = [line for table in tables for line in table.read_text().splitlines()]
    assert len(exported) == len((photos / "metadata.jsonl").read_text().splitlines())


def test_the_python_example(photos: Path, tmp_path: Path) -> None:
    (example,) = fences(ROOT / "docs" / "python.md", "python")
    (tmp_path / "example.py").write_text(example)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TRACED_")}
    status, printed, reported = programs.run(["example.py"], clean, folder=tmp_path)
    assert status == 0, reported
    assert re.search(r"^12 pairs imported, 0 rows refused$", printed, re.M)
    assert re.search(r"^\d+ of 12 pairs written", printed, re.M)
    kept = (tmp_path / "cleaned" / "data.jsonl").read_text().splitlines()
    assert 0 < len(kept) < 12


#: Runs the code cells of a notebook in turn, and prints what each one would display.
_NOTEBOOK = """
import ast, json, sys
from pathlib import Path

cells = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["cells"]
names = {}
for cell in cells:
    if cell["cell_type"] != "code":
        continue
    *rest, last = ast.parse("".join(cell["source"])).body
    exec(compile(ast.Module(rest, []), "cell", "exec"), names)
    if isinstance(last, ast.Expr):
        shown = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        print(shown._repr_html_() if hasattr(shown, "_repr_html_") else repr(shown))
    else:
        exec(compile(ast.Module([last], []), "cell", "exec"), names)
"""


@pytest.mark.nightly
def test_the_notebook(photos: Path, tmp_path: Path) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TRACED_")}
    arguments = ["-c", _NOTEBOOK, str(ROOT / "docs" / "notebook.ipynb")]
    status, shown, reported = programs.run(arguments, clean, folder=tmp_path)
    assert status == 0, reported
    assert '<table border="1" class="dataframe">' in shown
    assert re.search(r'class="word suspect[^>]*>\w+</span>', shown), "suspect words"
    assert "data:image/jpeg;base64," in shown
    assert "plotly" in shown
    assert "nothing of this is in the picture" in shown
    assert re.search(r"^\(11, 12\)$", shown, re.M), "the dropped pair is left out"


def _with_examples() -> Iterator[str]:
    for folder in ("backend", "db", "traced_ui"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if ">>> " in path.read_text(encoding="utf-8"):
                yield ".".join(path.relative_to(ROOT).with_suffix("").parts)


def test_doctests() -> None:
    for name in _with_examples():
        result = doctest.testmod(importlib.import_module(name))
        assert result.attempted > 0, name
        assert result.failed == 0, name
