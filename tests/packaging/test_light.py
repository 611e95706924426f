"""The light installation: without the packages of models, what was scored elsewhere is reviewed,
learnt from and exported, and what needs a model says how to add it."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from backend.errors import (
    MODEL_PACKAGES,
    PackagesMissing,
    TracedError,
    as_traced,
    explain,
    not_loaded,
)
from tests.fixtures import programs
from tests.packaging.light_journey import VERDICTS
from tests.packaging.test_locks import requirements
from tests.tree import ROOT

JOURNEY = Path(__file__).with_name("light_journey.py")
ENVIRONMENTS = ROOT / ".cache" / "light"
MISSING = PackagesMissing.__name__


def is_whole(day: dict[str, Any]) -> None:
    """Everything that needs no model was done, and the rest refused."""
    assert day["imported"] == []
    assert set(day["pages"].values()) == {200}
    assert len(day["pages"]) > 12
    assert day["verdicts"] == [200] * VERDICTS
    assert day["charts"]["reviewed"] == VERDICTS
    assert day["moved"]
    assert {kind: job["status"] for kind, job in day["jobs"].items()} == {
        "train": "done", "score": "failed", "map": "failed", "export": "done",
    }  # fmt: skip
    for refused in (day["jobs"]["score"]["message"], day["jobs"]["map"]["message"], day["try"]):
        assert PackagesMissing.title in refused
        assert "pip install" in refused
    assert day["meaning"]["status"] == 503
    assert day["meaning"]["type"].endswith("packages-missing")
    assert "data.jsonl" in day["exported"]


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    arguments = [str(JOURNEY), str(tmp_path_factory.mktemp("day"))]
    status, printed, reported = programs.run(arguments, {**os.environ, "PYTHONPATH": str(ROOT)})
    assert status == 0, reported
    return json.loads(printed)


def test_a_day_without_models(day: dict[str, Any]) -> None:
    is_whole(day)


def test_a_command_that_needs_them_says_so(tmp_path: Path) -> None:
    program = (
        "import sys, app\nfrom tests.packaging.light_journey import without_models\n"
        "without_models()\nsys.argv = ['app.py', 'score', 'assets/demo', '--json']\napp.run()\n"
    )
    environment = {**os.environ, "TRACED_DATA_DIRECTORY": str(tmp_path)}
    status, printed, reported = programs.run(["-c", program], environment)
    assert status == PackagesMissing.exit_status, reported
    assert PackagesMissing.title in printed + reported


def test_an_import_that_fails_is_the_same_error_everywhere() -> None:
    for name in (*MODEL_PACKAGES, "torch.nn"):
        error = as_traced(ModuleNotFoundError("No module", name=name))
        assert isinstance(error, PackagesMissing)
        assert PackagesMissing.remedies["terminal"] in explain(error, "terminal")
    other = ModuleNotFoundError("No module", name="torchy")
    assert as_traced(other) is other
    missing = not_loaded("A model", "x", ModuleNotFoundError("No module", name="torch"), "")
    assert isinstance(missing, PackagesMissing)
    assert isinstance(missing, TracedError)


def test_what_models_need_is_apart_and_requirements_have_everything() -> None:
    review, models, everything = (
        {each.name for each in requirements(ROOT / f"requirements{part}.txt")}
        for part in ("-review", "-models", "")
    )
    assert review | models == everything
    assert not review & models
    assert "torch" in models
    assert "gradio" in review


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT, check=True,
    )  # fmt: skip
    (built,) = folder.glob("*.whl")
    return built


def new_environment(name: str, *packages: str) -> Path:
    """The `bin` of an empty environment in which these were installed from the package index."""
    home = ENVIRONMENTS / name
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
    install = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    subprocess.run([*install, *packages], check=True)
    return home / "bin"


@pytest.mark.weekly
@pytest.mark.timeout(1200)
def test_the_wheel_in_an_environment_without_models(wheel: Path, tmp_path: Path) -> None:
    python = str(new_environment("wheel", str(wheel)) / "python")
    looks = "from importlib.util import find_spec; import sys; print(*filter(find_spec, sys.argv))"
    found = subprocess.run([python, "-c", looks, *MODEL_PACKAGES], capture_output=True, text=True)
    assert found.stdout.split() == []
    done = subprocess.run(
        [python, str(JOURNEY), str(tmp_path / "day")],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": ""}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    is_whole(json.loads(done.stdout))


@pytest.mark.weekly
@pytest.mark.timeout(1200)
def test_one_line_opens_the_demo(wheel: Path, tmp_path: Path) -> None:
    tools = new_environment("tools", "uv", "pipx")
    lines = {
        "uvx": ["uvx", "--from", str(wheel)],
        "pipx": ["pipx", "run", "--spec", str(wheel)],
    }
    for name, (tool, *words) in lines.items():
        data, said = tmp_path / name, tmp_path / f"{name}.txt"
        environment = {
            **os.environ, "TRACED_DATA_DIRECTORY": str(data), "PIPX_HOME": str(tmp_path / "pipx"),
        }  # fmt: skip
        with said.open("w") as output:
            program = subprocess.Popen(
                [str(tools / tool), *words, "traced-curator", "demo", "--port", "0"],
                cwd=tmp_path, env=environment, stderr=output, start_new_session=True,
            )  # fmt: skip
        try:
            address = None
            while address is None and program.poll() is None:
                time.sleep(0.2)
                address = re.search(r"http://[\d.:]+/", said.read_text())
            assert address is not None, said.read_text()
            with urllib.request.urlopen(f"{address[0]}api/v1/datasets", timeout=60) as answer:
                assert [each["name"] for each in json.load(answer)] == ["demo"]
        finally:
            os.killpg(program.pid, signal.SIGTERM)
            program.wait()
