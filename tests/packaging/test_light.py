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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from backend.errors import (
    MODEL_PACKAGES,
    PackagesMissing,
    TracedError,
    as_traced,
    explain,
    not_loaded,
)
from tests.browser.conftest import FLAGS, PATIENCE, chromium, go_to
from tests.browser.test_main_job import press
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
@pytest.mark.browser
@pytest.mark.timeout(1200)
def test_the_wheel_without_models_in_a_browser(wheel: Path, tmp_path: Path) -> None:
    """Review by keys, learn, export, and what needs a model."""
    program = str(new_environment("browser", str(wheel)) / "traced-curator")
    out = tmp_path / "clean"
    with demo_of([program], tmp_path) as address, opened_page(address) as page:
        page.wait_for_selector("#traced-stage [data-pair]")
        for number in range(VERDICTS + 1):
            press(page, "ad"[number % 2])
        page.keyboard.press("z")
        expect(page.locator("#traced-toast")).to_contain_text("Undone")
        go_to(page, "retrain")
        page.locator("#train-start").click()
        expect(page.locator("#train-status")).to_contain_text("Trained")
        go_to(page, "export")
        page.locator("#export-out textarea, #export-out input").fill(str(out))
        page.locator("#export-start").click()
        expect(page.locator("#export-status")).to_contain_text("pairs written to")
        go_to(page, "datasets")
        page.locator("#score-start").click()
        expect(page.locator("#job-status")).to_contain_text("pip install")
    assert (out / "README.md").is_file()


@pytest.mark.weekly
@pytest.mark.timeout(1200)
def test_one_line_opens_the_demo(wheel: Path, tmp_path: Path) -> None:
    tools = new_environment("tools", "uv", "pipx")
    lines = {
        "uvx": ["uvx", "--from", str(wheel)],
        "pipx": ["pipx", "run", "--spec", str(wheel)],
    }
    for tool, *words in lines.values():
        place = tmp_path / tool
        place.mkdir()
        line = [str(tools / tool), *words, "traced-curator"]
        with (
            demo_of(line, place) as address,
            urllib.request.urlopen(f"{address}api/v1/datasets", timeout=60) as answer,
        ):
            assert [each["name"] for each in json.load(answer)] == ["demo"]


@contextmanager
def demo_of(command: list[str], folder: Path) -> Iterator[str]:
    """The address of the demo that this command opens, until the block ends."""
    said = folder / "said.txt"
    environment = {
        **os.environ, "TRACED_DATA_DIRECTORY": str(folder / "data"),
        "PIPX_HOME": str(folder / "pipx"), "PYTHONPATH": "",
    }  # fmt: skip
    with said.open("w") as output:
        program = subprocess.Popen(
            [*command, "demo", "--port", "0"], cwd=folder, env=environment, stderr=output,
            start_new_session=True,
        )  # fmt: skip
    try:
        address = None
        while address is None and program.poll() is None:
            time.sleep(0.2)
            address = re.search(r"http://[\d.:]+/", said.read_text())
        assert address is not None, said.read_text()
        yield address[0]
    finally:
        os.killpg(program.pid, signal.SIGTERM)
        program.wait()


@contextmanager
def opened_page(address: str) -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(address)
        yield page
        browser.close()
