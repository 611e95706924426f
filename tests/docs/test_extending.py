"""ARCHITECTURE.md, "How to extend it": one of each is added to a copy of the program, and used."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from db.upgrade import head_revision
from tests.datasets.folders import image_folder

ROOT = Path(__file__).resolve().parents[2]
#: A module for each, by its path.
MODULES = {
    "backend/datasets/line_writing.py": """
def write_lines(rows, target):
    lines = [row.caption for row in rows]
    (target.part / "captions.lst").write_text("\\n".join(lines), encoding="utf-8")
    return len(lines)
""",
    "db/migrations/versions/v9999_offensive.py": f"""
from db.decision_check import replace_decision_check
from db.decisions import DECISIONS

revision, down_revision = "9999", "{head_revision()}"
BEFORE = tuple(name for name in DECISIONS if name != "offensive")


def upgrade():
    replace_decision_check(BEFORE, DECISIONS)
""",
    "backend/engine/trajectories/last_word.py": """
def delete_last_word(caption, words_read, reader, replaceable, exploring):
    raise NotImplementedError
""",
    "backend/engine/scoring/by_name.py": """
from backend.engine.scoring.checkpoints import Family


def load(request):
    return f"the scorer {request[0]}"


FAMILY = Family(("by-name",), load, named=lambda model: model.startswith("by-name:"))
""",
    "backend/engine/correction/shouting.py": """
PROPOSER = "a proposer of corrections"
""",
}
#: The lines in the registries: (file, text before which it stands, line).
LINES = (
    (
        "backend/datasets/export_formats.py",
        '    "csv": ExportFormat(',
        '    "lines": ExportFormat("line_writing:write_lines", "Lines", "one caption a line"),\n',
    ),
    ("db/decisions.py", '"abstract", "unsure"]', '"offensive", '),
    (
        "backend/verdicts.py",
        '    "abstract": VerdictText(',
        '    "offensive": VerdictText("Offensive", "! offensive", "Offensive.", "unsure"),\n',
    ),
    (
        "traced_ui/keyboard.py",
        '    Key(("b", "B")',
        '    Key(("o",), "offensive", "O", "offensive"),\n',
    ),
    (
        "backend/engine/trajectories/explorers.py",
        "#: (caption,",
        "from backend.engine.trajectories.last_word import delete_last_word\n\n",
    ),
    (
        "backend/engine/trajectories/explorers.py",
        '    "gcd":',
        '    "last word": delete_last_word,\n',
    ),
    (
        "backend/engine/correction/proposers.py",
        "PROPOSERS:",
        "from backend.engine.correction import shouting\n\n",
    ),
    (
        "backend/engine/scoring/loading.py",
        "from backend.engine.scoring import blip",
        "from backend.engine.scoring import by_name\n",
    ),
    ("backend/engine/scoring/loading.py", "    clip.FAMILY,", "    by_name.FAMILY,\n"),
    (
        "traced_ui/review_actions.py",
        '    @on("grid", "table")',
        '    @on("shout")\n    def shout(self, *_):\n        pass\n\n',
    ),
    (
        "backend/engine/correction/proposers.py",
        "    guided_infill.PROPOSER",
        "    shouting.PROPOSER,\n",
    ),
)
#: What shows that each is in use.
PROGRAM = """
from backend.engine.correction.proposers import PROPOSERS
from backend.engine.trajectories.explorers import EXPLORERS
from backend.verdicts import TEXTS
from traced_ui.figures import VERDICT_LOOKS
from traced_ui.review_actions import ACTIONS
from traced_ui.review_page import DECISIONS
from backend.engine.scoring.loading import KINDS, load_scorer
assert "by-name" in KINDS and load_scorer("by-name:x", None, "cpu") == "the scorer by-name:x"
assert "shout" in ACTIONS
assert "a proposer of corrections" in PROPOSERS and "last word" in EXPLORERS
assert DECISIONS["offensive"][:2] == ("O", "Offensive")
assert TEXTS["offensive"].caption in VERDICT_LOOKS
"""


@pytest.fixture
def extended(tmp_path: Path) -> Path:
    copy = tmp_path / "program"
    for name in ("backend", "db", "traced_ui"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "app.py", copy)
    (copy / "assets").symlink_to(ROOT / "assets")
    for name, text in MODULES.items():
        (copy / name).write_text(text, encoding="utf-8")
    for name, before, line in LINES:
        path = copy / name
        source = path.read_text(encoding="utf-8")
        assert source.count(before) == 1, f"{name}: {before}"
        path.write_text(source.replace(before, line + before), encoding="utf-8")
    return copy


def test_one_of_each_is_a_module_and_its_line(extended: Path, tmp_path: Path) -> None:
    image_folder(
        tmp_path / "pairs",
        [{"id": f"p{n}", "file_name": "a.png", "caption": f"A dog {n}"} for n in range(3)],
        ("a.png",),
    )
    (tmp_path / "labels.csv").write_text("id,verdict\np1,offensive\n")
    environment = {
        **os.environ,
        "TRACED_DATA_DIRECTORY": str(tmp_path / "state"),
        "PYTHONPATH": str(extended),
        "PYTHONDONTWRITEBYTECODE": "1",
    }

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments], cwd=extended, env=environment, text=True,
            capture_output=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("-c", PROGRAM)
    run("app.py", "import", str(tmp_path / "pairs"))
    report = json.loads(run("app.py", "label", "pairs", str(tmp_path / "labels.csv"), "--json"))
    assert report["by_decision"] == {"offensive": 1}
    out = tmp_path / "out"
    run("app.py", "export", "pairs", str(out), "--format", "lines")
    assert (out / "captions.lst").read_text().splitlines() == ["A dog 0", "A dog 1", "A dog 2"]
    assert "| offensive | 1 |" in (out / "README.md").read_text()
    assert "lines" in run("app.py", "export", "--help")
