"""Plug-ins of installed packages: a scorer in use, faulty ones that are named, and commands."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from backend import plugins
from tests.datasets.folders import picture, write

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "tests/packaging/colour_scorer"


def install(
    folder: Path, name: str, source: str, group: str, value: str, entry_name: str = ""
) -> None:
    """Write an importable package with the metadata of an installed distribution."""
    (folder / f"{name}.py").write_text(source)
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    entry = f"[traced_curator.{group}]\n{entry_name or name} = {name}:{value}\n"
    (metadata / "entry_points.txt").write_text(entry)


def run(packages: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], cwd=ROOT, check=False, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(packages), **environment},
    )  # fmt: skip


def test_a_checkout_has_the_commands_of_research(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"noise", "evaluate", "bench", "captioner", "icc"}
    assert names <= {name for commands in plugins.load("commands", dict) for name in commands}
    monkeypatch.setattr(plugins, "_LOADED", {})
    monkeypatch.setattr(plugins, "RESEARCH_FOLDER", ROOT / "nowhere")
    rest = {name for commands in plugins.load("commands", dict) for name in commands}
    assert rest.isdisjoint(names)


def test_installed_packages_take_part_everywhere_and_faulty_ones_are_named(tmp_path: Path) -> None:
    """The example of docs/extending.md, on two pictures that a reader lists."""
    packages = tmp_path / "packages"
    packages.mkdir()
    points = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]["entry-points"]
    ((module, value),) = [entry.split(":") for entry in points["traced_curator.scorers"].values()]
    source = (EXAMPLE / f"{module}.py").read_text()
    install(packages, module, source, "scorers", value, "colours")
    for name, source, group, value in (
        ("torn", "raise OSError('a torn file')\n", "scorers", "FAMILY"),
        ("odd", "FAMILY = 7\n", "scorers", "FAMILY"),
        ("repaint", REPAINT, "proposers", "PROPOSER"), ("bars", BARS, "readers", "READER"),
        ("echo", ECHO, "captioners", "FAMILY"), ("greeting", GREETING, "commands", "COMMANDS"),
        ("broken", "raise RuntimeError('no such library')\n", "commands", "COMMANDS"),
    ):  # fmt: skip
        install(packages, name, source, group, value)
    picture(tmp_path / "pairs" / "a.png")
    table = write(tmp_path / "pairs" / "captions.bar", "a.png|a red wall\na.png|a blue wall\n")
    state = {"TRACED_DATA_DIRECTORY": str(tmp_path / "state"), "HF_HUB_OFFLINE": "1",
             "TRACED_DETECTOR": "nine signs"}  # fmt: skip
    out = tmp_path / "scores.jsonl"
    words = ("score", str(table), "--model", "colours", "--captioner", "none")
    done = run(packages, "-c", PROGRAM, *words, "--out", str(out), **state)
    assert done.returncode == 0, done.stderr
    assert "a torn file" in done.stderr
    assert "no such library" in done.stderr
    scores = [json.loads(line)["s_0"] for line in out.read_text(encoding="utf-8").splitlines()]
    assert len(scores) == 2
    assert all(0 <= score <= 1 for score in scores)
    assert scores[0] != scores[1]
    assert done.stdout.partition("PAGE\n")[2].splitlines() == [
        "Hello Ada", "True colours", "a red wall by repaint", "('echo', 'cpu', None)", "bars ok",
        "broken warning", "colours ok", "echo ok", "greeting ok", "odd warning", "repaint ok",
        "torn warning",
    ]  # fmt: skip


BARS = """
from backend.datasets.cells import TableRow
from backend.datasets.tables import TableReader

def rows(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        name, caption = line.split("|")
        yield TableRow(number, {"image": name, "caption": caption})

READER = TableReader((".bar",), rows)
"""
ECHO = """
from backend.engine.correction.captioner_loading import CaptionerFamily

FAMILY = CaptionerFamily(lambda model: model == "echo", lambda *given: given)
"""
GREETING = """
def greet(name: str) -> None:
    print("Hello", name)

COMMANDS = {"greet": greet}
"""
#: Proposes another colour.
REPAINT = """
from backend.engine.correction.suggestion import Proposer

def propose(context):
    yield from ()  # asks no captioner
    return [context.caption.text.replace("blue", "red")]

PROPOSER = Proposer("repaint", propose, asks=False)
"""
#: Runs a command, then shows the page of the first pair, the corrections of the second, and what
#: `doctor` finds.
PROGRAM = """
import sys
import app
app.app(sys.argv[1:], standalone_mode=False)
from backend.cli.doctor import examine
from backend.engine.correction.captioner_loading import load_captioner
from traced_curator import Workspace, load_settings
from traced_ui.board import Post, answer
from traced_ui.page_state import PageState
from traced_ui.review_actions import OpenPage
print("PAGE")
app.app(["greet", "Ada"], standalone_mode=False)
workspace = Workspace(load_settings())
state = PageState(dataset=1, pair=1)
drawn = answer(OpenPage(workspace, state, None), Post(state=state, redraw=True))
print(len(drawn["parts"]) > 1, workspace.review.open_pair(1).scored_by.split()[0])
print(*(f"{found.caption} by {found.proposer}" for found in workspace.review.suggest(2)))
print(load_captioner("echo"))
findings = [f for f in examine(workspace.settings).findings if "plug-in" in f.what]
for name, state in sorted((f.what.split("'")[1], f.state) for f in findings):
    print(name, state)
workspace.store.close()
"""


def test_the_package_says_which_folder_shadows_its_own(tmp_path: Path) -> None:
    (tmp_path / "backend").mkdir()
    (tmp_path / "backend" / "__init__.py").write_text("")
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import traced_curator"
    done = run(tmp_path, "-c", program)
    assert done.returncode == 1
    assert "ImportError" in done.stderr
    assert str(tmp_path / "backend") in done.stderr
