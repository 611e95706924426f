"""`models …` and `score --estimate` as people and scripts use them, against a local hub."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import app as program
from research.scenes import demo
from tests.fixtures.hub_server import Hub
from tests.jobs.test_models import COMMIT, NAME, checkpoint, hub

__all__ = ["checkpoint", "hub"]  # fixtures


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACED_DATA_DIRECTORY", str(tmp_path / "state"))


def run(*arguments: str) -> Any:
    return CliRunner().invoke(program.app, list(arguments), env={"COLUMNS": "200"})


def as_json(*arguments: str) -> Any:
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def test_a_model_is_downloaded_measured_made_the_default_and_removed(hub: Hub) -> None:
    refused = run("models", "probe", NAME)
    assert refused.exit_code == 4
    assert f"models download {NAME}" in " ".join(refused.stderr.split())
    assert run("models", "default", NAME).exit_code == 2, "it is not here yet"
    assert run("models", "default").stdout.strip() == "embedded"

    report = as_json("models", "download", NAME)
    assert report["models"] == [[NAME, COMMIT]]
    assert report["downloaded"] > 10_000
    again = run("models", "download", NAME).stdout
    assert "0 MB" in again
    assert f"{NAME} at {COMMIT[:12]}" in again

    probe = as_json("models", "probe", NAME)
    assert (probe["model"], probe["device"]) == (NAME, "cpu")
    assert probe["seconds"] > 0

    assert run("models", "default", NAME).stdout.strip() == NAME
    (added,) = [v for v in as_json("models", "list")["models"] if v["name"] == NAME]
    assert (added["is_here"], added["is_default"]) == (True, True)
    assert added["probe"]["seconds"] == probe["seconds"]
    text = run("models", "list").stdout
    assert f"{NAME} (on this machine, default)" in text
    assert re.search(r"roughly [\d.]+ (s|min|h).*models probe fast", text)
    assert re.search(r"\d million parameters", text[text.index(NAME) :])

    removed = run("models", "remove", NAME)
    assert removed.exit_code == 0
    assert {f"'{NAME}'", "'embedded'"} <= set(removed.stdout.replace(",", "").split())
    assert run("models", "default").stdout.strip() == "embedded"
    assert run("models", "remove", NAME).exit_code == 8, "it is gone"


def test_impossible_downloads_and_removals_are_refused(hub: Hub) -> None:
    refused = run("models", "download", "nobody/nothing", "--json")
    assert (refused.exit_code, json.loads(refused.stdout)["exit_status"]) == (4, 4)
    assert run("models", "download", "embedded").exit_code == 8
    assert run("models", "remove", "embedded").exit_code == 8


def test_an_estimate_scores_nothing(tmp_path: Path) -> None:
    demo.write(tmp_path / "pairs", 14, 0, 96, seed=3)
    folder = str(tmp_path / "pairs")
    assert as_json("score", folder, "--estimate")["pairs"] == 14
    text = run("score", folder, "--estimate", "--no-suggestions").stdout
    output = " ".join(text.split())
    assert "for 14 pairs on cpu, measured on 14: trajectories" in output
    assert "noisy copies for the first detector" in output
    assert "corrections" not in output
    assert "0 scored" in run("datasets", "list").stdout
