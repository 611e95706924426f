"""Runs what the documentation shows: the README's shell lines, the Python example, doctests."""

import doctest
import importlib
import json
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from backend.settings import DEMO, load_settings
from backend.workspace import Workspace
from tests.cli.invoking import invoked
from tests.docs.pages import ROOT, fences, shell_lines
from tests.fixtures import programs
from tests.fixtures.small_cold_start import shrink

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


def test_the_readme_s_shell_lines(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them, in order and unchanged, except for the model: the embedded one, which needs no
    download, replaces the hub's. `serve` is started by others (`tests/browser`)."""
    shrink(monkeypatch)
    monkeypatch.chdir(tmp_path)
    environment = {"TRACED_DATA_DIRECTORY": str(tmp_path / "state"), "HF_HUB_OFFLINE": "1"}
    ran = []
    for line in shell_lines(ROOT / "README.md"):
        if line in INSTALLS or "models download" in line:
            continue
        line = line.replace("--model thorough", "--model embedded")
        python, program, *arguments = shlex.split(line)
        assert (python, program) == (".venv/bin/python", "app.py"), line
        assert f"{python} {program} {shlex.join(arguments)}" == line, f"{line} needs a shell"
        if arguments[0] == "serve":
            Workspace(load_settings({}, environment)).find(arguments[arguments.index("--data") + 1])
        else:
            status, _, reported = invoked(environment, *arguments)
            assert status == 0, f"{line}\n{reported}"
        ran.append(arguments[0])
    assert {"import", "score", "serve", "export"} <= set(ran)
    tables = (tmp_path / "cleaned").rglob("metadata.jsonl")
    exported = [line for table in tables for line in table.read_text().splitlines()]
    assert len(exported) == len((photos / "metadata.jsonl").read_text().splitlines())


def test_the_python_example(
    photos: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (example,) = fences(ROOT / "docs" / "python.md", "python")
    shrink(monkeypatch)
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("TRACED_")]:
        monkeypatch.delenv(name)
    exec(example, {})
    printed = capsys.readouterr().out
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
