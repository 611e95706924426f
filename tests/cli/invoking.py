"""Runs commands in this process, on a copy of a scored dataset."""

import json
import shutil
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner

import app as program

COMMANDS: dict[str, Any] = typer.main.get_command(program.app).commands  # type: ignore[attr-defined]


def environment_of(scored: Path, folder: Path) -> dict[str, str]:
    """Variables for commands that work on a copy of the state in `scored` and may change it."""
    shutil.copytree(scored / "state", folder / "state")
    return {"TRACED_DATA_DIRECTORY": str(folder / "state"), "COLUMNS": "200"}


def invoked(environment: dict[str, str], *arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(program.app, list(arguments), env=environment)
    return done.exit_code, done.stdout, done.stderr


def as_json(environment: dict[str, str], *arguments: str) -> Any:
    status, out, err = invoked(environment, *arguments, "--json")
    assert status == 0, err
    return json.loads(out)
