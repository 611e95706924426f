"""Plug-ins of installed packages: a scorer in use, faulty ones that are named, and commands."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from backend import features, plugins
from backend.cli import doctor
from tests.datasets.folders import picture, write
from tests.docs.pages import fences

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


def test_installed_packages_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0

    def look() -> Any:
        nonlocal looks
        looks += 1
        return entry_points()

    monkeypatch.setattr(plugins, "entry_points", look)
    plugins._of_packages.cache_clear()
    for group in plugins.GROUPS:
        plugins.entries_of(group)
    assert looks == 1


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


def test_the_examples_of_the_documentation_run_and_wrong_shapes_are_named(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    page = ROOT / "docs/extending.md"
    sources = {
        match[1]: source for source in fences(page, "python")
        if (match := re.match(r"# (\w+)\.py\n", source))
    }  # fmt: skip
    toml = next(fence for fence in fences(page, "toml") if "traced_curator.formats" in fence)
    for group, entries in tomllib.loads(toml)["project"]["entry-points"].items():
        for name, entry in entries.items():
            module, value = entry.split(":")
            group_name = group.removeprefix("traced_curator.")
            install(packages, module, sources.pop(module), group_name, value, name)
    assert not sources
    for source in (*fences(page, "html"), *fences(page, "js")):
        (packages / source.split()[1].rstrip(":")).write_text(source, encoding="utf-8")
    for name, source, group, value in WRONG_SHAPES:
        install(packages, name, source, group, value)
    pairs = tmp_path / "pairs"
    pairs.mkdir()
    for number, light in enumerate((10, 240, 20)):
        Image.new("L", (20, 10), light).save(pairs / f"{number}.png")
    words = ("a dark wall", "a dark room", "a bright day")
    rows = "".join(f"{n}.png,{text}\n" for n, text in enumerate(words))
    table = write(pairs / "pairs.csv", f"image,caption\n{rows}")
    state = {"TRACED_DATA_DIRECTORY": str(tmp_path / "state"), "HF_HUB_OFFLINE": "1"}
    command = ("score", str(table), "--model", "brightness", "--captioner", "none",
               "--out", str(tmp_path / "ids.txt"))  # fmt: skip
    done = run(packages, "-c", EXAMPLES, *command, **state)
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout.splitlines()[-1])
    assert answers["best"] == "a bright room by antonyms"
    assert answers["captions"] == list(words)
    assert "- Licence: CC0-1.0\n" in answers["card"]
    assert "CC0-1.0" in answers["file"]
    assert answers["mended"] == [f"{text}." for text in words]
    assert "British English" in answers["part"]
    assert answers["chosen"] == {"least_words": 4}
    assert answers["left"] == {"too few words": len(words)}
    assert answers["tags"] == {"slides": 1}, answers["pressed"]
    assert answers["words"] == 3
    assert ">3 words<" in answers["beside"]
    assert answers["long"] == [1, 3], "one of 12 characters, two of 11"
    assert answers["licences"] == ["CC0-1.0"] * len(words)
    assert json.loads(answers["lengths"]) == [1, 4, 4]
    assert len((tmp_path / "ids.txt").read_text().splitlines()) == len(words)
    assert answers["scripts"] == ["open_picture.js"]
    states = {name: state for name, (state, _) in answers["doctor"].items()}
    assert states == {
        "brightness": "ok", "antonyms": "ok", "captions": "ok", "licences": "ok",
        "full-stop": "ok", "longer-than": "ok", "house-rules": "ok", "licence-of-export": "ok",
        "slides": "ok", "verdict-counts": "ok", "word-count": "ok", "open-picture": "ok",
        "word-lengths": "ok", "ids": "ok", "least-words": "ok", "least-words-field": "ok",
        **dict.fromkeys((name for name, *_ in WRONG_SHAPES), "warning"),
    }  # fmt: skip
    for name, *_ in WRONG_SHAPES:
        assert name in answers["doctor"][name][1] or name in answers["used"][name]
    assert set(answers["used"]) == {"short", "listing", "uncounted"}
    problems = {name: used.partition(":")[0] for name, used in answers["used"].items()}
    assert problems == dict.fromkeys(problems, "SettingsError")


#: Name, source, group and value of plug-ins that give what nobody can use.
WRONG_SHAPES = (
    ("short", "from backend.engine.scoring.function_scorer import scorer_family\n"
     "FAMILY = scorer_family('short', lambda image, captions: [0.5])\n", "scorers", "FAMILY"),
    ("listing", "from backend.engine.correction.suggestion import Proposer\n"
     "PROPOSER = Proposer('listing', lambda context: ['a dog'], asks=False)\n",
     "proposers", "PROPOSER"),
    ("uncounted", "from backend.datasets.export_formats import ExportFormat\n"
     "FORMAT = ExportFormat('uncounted', lambda rows, target: None, '', '')\n",
     "formats", "FORMAT"),
    ("worded", "from db.measures import Measure\n"
     "MEASURE = Measure(name='x_worded', title='', explanation='',\n"
     "                  compute=lambda caption, picture: 'many')\n", "measures", "MEASURE"),
    ("order", "from backend.review.added_filters import AddedFilter\n"
     "FILTER = AddedFilter('order', '', lambda value: None)\n", "filters", "FILTER"),
    ("nowhere", "from sqlalchemy import text\n"
     "from backend.review.added_filters import AddedFilter\n"
     "FILTER = AddedFilter('nowhere', '', lambda value: text('1'), ('yes',))\n",
     "filters", "FILTER"),
    ("no_table", "from sqlalchemy import literal_column\n"
     "from backend.review.added_filters import AddedFilter\n"
     "FILTER = AddedFilter('no_table', '', lambda value: literal_column('no_table.a'), ('yes',))\n",
     "filters", "FILTER"),
)  # fmt: skip
#: Runs a command, then uses what the packages add, and prints what `doctor` finds.
EXAMPLES = """
import json, sys
from pathlib import Path
import app
from PIL import Image
from backend.engine.correction import judge, proposers
import gradio as gr
from backend.cli.doctor import examine
from backend.engine.scoring.loading import load_scorer
from backend.review.queue_form import from_text
from backend.review.caption_edits import change_each, edit_captions, find_mend
from traced_ui.api import Caller, open_pair
from traced_ui.board import FILES, Post, answer
from traced_ui.page_dataset import PageDataset
from traced_ui.page_state import PageState
from traced_ui.pages import build_parts
from traced_ui.review_actions import ALL_KEYS, OpenPage
from traced_ui.review_page import side_panel
from traced_curator import ExportChoice, Workspace, load_settings
good = tuple(each for each in proposers.PROPOSERS if each.name != "listing")
judge.PROPOSERS = good
app.app(sys.argv[1:], standalone_mode=False)
workspace = Workspace(load_settings())
out = Path(sys.argv[2]).parent.parent / "out"
report = workspace.jobs.export(1, ExportChoice(), str(out), "captions", licence="CC0-1.0")
workspace.jobs.export(1, ExportChoice(), f"{out}-jsonl", "jsonl")
left = workspace.jobs.export_counts(1, ExportChoice(least_words=4)).left_out
best = workspace.review.suggest(2)[0]
view = workspace.review.open_pair(1)
everything = workspace.review.filter_of(1, {"review": "all", "order": "position"})
mended = edit_captions(workspace.store, everything, change_each(find_mend("full-stop")))
with gr.Blocks() as blocks:
    build_parts("import", workspace, PageDataset("1"), gr.HTML())
    added = build_parts("export", workspace, PageDataset("1"), gr.HTML())

state = PageState(dataset=1, pair=1)
act = {"action": next(key.action for key in ALL_KEYS if "0" in key.keys), "pair": 1}
post = Post(state=state, acts=[{**act, "request": "a" * 32}])
for _ in range(2):  # the answer was lost
    pressed = answer(OpenPage(workspace, state, None), post)["parts"]["toast"]

long = [len(workspace.review.queue_page(workspace.review.filter_of(1, from_text(query))).rows)
        for query in ("longer_than=11", "where=longer_than = 9 or longer_than = 11")]

def problem(use):
    try:
        use()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""

def score():
    scorer = load_scorer("short")
    texts = scorer.reader.tokenise(["a", "b"])
    (state,) = scorer.encode_images([Image.new("RGB", (9, 9))])
    scorer.open_session().score([(state, texts)])

def suggest():
    (listing,) = set(proposers.PROPOSERS) - set(good)
    list(listing.start(None))

used = {
    "short": problem(score), "listing": problem(suggest),
    "uncounted": problem(lambda: workspace.jobs.export(1, ExportChoice(), f"{out}-2", "uncounted")),
}
found = [f for f in examine(workspace.settings).findings if "plug-in" in f.what]
print(json.dumps({
    "best": f"{best.caption} by {best.proposer}", "used": used,
    "captions": (out / "captions.txt").read_text().splitlines(),
    "mended": [each.after for each in mended.examples],
    "part": " ".join(str(b.value) for b in blocks.blocks.values() if isinstance(b, gr.Markdown)),
    "left": left, "chosen": added[-1].read(1, 4),
    "words": open_pair(Caller(workspace), 1).word_count.words, "beside": side_panel(view),
    "tags": workspace.review.tags(1), "pressed": pressed, "long": long,
    "card": report.card, "file": (out / "LICENCE.txt").read_text(),
    "licences": [json.loads(line)["licence"] for line in open(f"{out}-jsonl/data.jsonl")],
    "lengths": json.loads(open(f"{out}-jsonl/data.jsonl").readline())["word_lengths"],
    "scripts": [name for name in FILES if name == "open_picture.js"],
    "doctor": {f.what.split("'")[1]: (f.state, f.message) for f in found},
}))
workspace.store.close()
"""
BARS = """
from backend.datasets.cells import TableRow
from backend.datasets.table_readers import TableReader

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
print(len(drawn["parts"]) > 1, workspace.review.open_pair(1).opinion.scored_by.split()[0])
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


@pytest.fixture
def folder_of_features(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Features lie here as well; `doctor` knows of none that is ours."""
    folder = tmp_path / "backend" / "features"
    folder.mkdir(parents=True)
    monkeypatch.setattr(plugins, "FEATURES", folder)
    monkeypatch.setattr(plugins, "_LOADED", {})
    monkeypatch.setattr(features, "__path__", [*features.__path__, str(folder)])
    plugins._features.cache_clear()
    yield folder
    monkeypatch.undo()
    plugins._features.cache_clear()


def test_every_part_of_our_features_is_there() -> None:
    assert plugins._features()[1] == ()
    assert plugins.faulty_features() == []
    for entry in plugins._of_features():
        assert entry.load() is not None, entry


def test_half_a_feature_is_named_and_what_is_there_is_used(folder_of_features: Path) -> None:
    text = "ENTRY_POINTS = {'notices': {name: f'backend.features.%s.{name}:IT' for name in %r}}\n"
    for name, parts in (("half_gone", "ab"), ("torn_part", "ac")):
        (folder_of_features / name).mkdir()
        (folder_of_features / name / "feature.py").write_text(text % (name, parts))
        (folder_of_features / name / "a.py").write_text("IT = 1\n")
    (folder_of_features / "torn_part" / "c.py").write_text("raise OSError('torn')\n")
    (folder_of_features / "torn_whole").mkdir()
    (folder_of_features / "torn_whole" / "feature.py").write_text("ENTRY_POINTS = {\n")
    (folder_of_features / "only_rests").mkdir()
    (folder_of_features / "only_rests" / "a.py").write_text("IT = 1\n")
    assert plugins.load("notices", int) == (1, 1)
    faulty = {(p.group, p.name): p.problem for p in plugins.faulty_features()}
    assert set(faulty) == {("notices", "b"), ("notices", "c"), ("", "torn_whole")}
    assert "half_gone.b" in faulty["notices", "b"]
    assert "torn" in faulty["notices", "c"]
    found = {each.what: (each.state, bool(each.advice)) for each in doctor._plugins()}
    assert found == {
        f"feature '{name}": ("warning", True)
        for name in ("b' (notices)", "c' (notices)", "torn_whole'")
    }
