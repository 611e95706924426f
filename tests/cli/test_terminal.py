"""Nothing from data reaches the terminal but visible text."""

import ast
import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import app as program
from backend.cli import log_output, output
from backend.errors import SettingsError
from tests.datasets.folders import image_folder
from tests.fixtures.features import needs
from tests.hostile.security import ROOT

#: Clears the screen, renames the window, rings; C1's CSI; reversed text; half of a surrogate pair.
HOSTILE = "\x1b[2J\x1b]0;owned\x07\x9b1m\u202ereversed\r"
FORBIDDEN = [*HOSTILE[:1], "\x07", "\x9b", "\u202e", "\r"]


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "state"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TRACED_DATA_DIRECTORY", str(folder))
    output.console.quiet = False  # as each command begins
    monkeypatch.setenv("TRACED_MODEL", "/nowhere")  # none says whether it knows the pictures
    return folder


def run(*arguments: str) -> Any:
    return CliRunner().invoke(program.app, list(arguments), env={"COLUMNS": "2000"})


def assert_visible(text: str) -> None:
    assert [c for c in FORBIDDEN if c in text] == []
    assert not any(line.startswith("Error: forged") for line in text.splitlines())


@needs("bulk_edit")
def test_names_and_captions_are_printed_visibly_and_forge_no_line(tmp_path: Path) -> None:
    hostile = f"{HOSTILE}\nError: forged"
    folder = tmp_path / f"p{hostile}"
    rows = [
        {"id": "1", "file_name": "a.png", "caption": f"a dog {hostile}"},
        {"id": "2", "file_name": f"{hostile}.png", "caption": "gone"},
        {"id": f"3{hostile}", "file_name": "a.png", "caption": "its id"},
    ]
    image_folder(folder, rows, ("a.png",))
    imported = run("import", str(folder), "--name", "pairs")
    as_json = run("edit", "pairs", "--suffix", "!", "--json", "--dry-run")
    edited = run("edit", "pairs", "--suffix", "!")
    gone = run("import", str(tmp_path / f"gone{hostile}"))
    for done in (imported, edited, as_json, gone):
        assert_visible(done.stdout + done.stderr)
    visible = r"\x1b[2J\x1b]0;owned\x07\x9b1m\u202ereversed\x0d\nError: forged"
    assert visible in imported.stderr
    assert f"a dog {visible}" in edited.stdout
    assert f"gone{visible}" in gone.stderr
    assert json.loads(as_json.stdout)["examples"][0]["after"] == f"a dog {hostile}!"


def test_a_file_name_that_is_not_unicode_can_be_printed() -> None:
    assert output.visible(os.fsdecode(b"a\xff.png")).encode() == rb"a\udcff.png"


def test_errors_logs_progress_and_questions_are_visible(
    capsys: pytest.CaptureFixture[str], state: Path
) -> None:
    hostile = f"{HOSTILE}\nError: forged"
    for error in (SettingsError(f"no {hostile}"), RuntimeError(f"no {hostile}")):
        for as_json in (True, False):
            with pytest.raises(typer.Exit), output.report_errors(as_json):
                raise error
    output.Lines("Reading").update(1, 2, hostile)
    record = logging.LogRecord("x", logging.ERROR, "", 1, "%s", (hostile,), None)
    log = (state / "traced.log").read_text("utf-8")
    printed = capsys.readouterr()
    assert_visible(printed.out + printed.err + log_output.VisibleLog().format(record) + log)
    assert "RuntimeError" in log
    assert "owned" not in log


def test_a_home_that_cannot_be_written_to_is_an_error_like_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRACED_DATA_DIRECTORY", "/dev/null/state")
    with pytest.raises(typer.Exit), output.report_errors(False):
        raise RuntimeError("unexpected")
    assert "TRACED_DATA_DIRECTORY=FOLDER" in capsys.readouterr().err
    monkeypatch.setenv("HOME", "/dev/null/home")
    for name in ("TRACED_DATA_DIRECTORY", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    done = run("import", str(image_folder(tmp_path / "p", [], ())))
    assert done.exit_code == 7
    assert "another location" in done.stderr


def test_all_output_goes_through_the_one_module() -> None:
    """No command prints past `backend/cli/output.py`."""
    past = []
    for path in (*(ROOT / "backend/cli").glob("*.py"), *(ROOT / "research/commands").glob("*.py"),
                 ROOT / "app.py"):  # fmt: skip
        if path.name == "output.py":
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                if called in ("print", "typer.echo", "typer.secho", "typer.confirm", "Console",
                              "sys.stdout.write", "sys.stderr.write"):  # fmt: skip
                    past.append(f"{path.name}:{node.lineno} {called}")
    assert past == []


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8"])
def test_an_output_that_cannot_show_a_character_escapes_it(tmp_path: Path, encoding: str) -> None:
    name = "壁 👍"
    image_folder(tmp_path / "p", [{"id": "1", "file_name": "a.png", "caption": "a"}], ("a.png",))
    assert run("import", str(tmp_path / "p"), "--name", name).exit_code == 0
    environment = {**os.environ, "PYTHONIOENCODING": encoding}

    def program_run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "app.py", *arguments], cwd=ROOT, env=environment, capture_output=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.decode(encoding)

    assert (name if encoding == "utf-8" else r"\u58c1 \U0001f44d") in program_run(
        "datasets", "list"
    )
    assert name in [
        row["name"] for row in json.loads(program_run("datasets", "list", "--json"))["datasets"]
    ]
