"""`pack`, `serve` and `merge` as they are typed, and a package judged in a browser."""

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect, sync_playwright

from app import ServeOptions
from backend.errors import DatasetFormatError, SettingsError
from backend.features.package import command, opening
from backend.options import Options
from tests.browser.conftest import FLAGS, PATIENCE, chromium, wait_for
from tests.cli.invoking import as_json, invoked
from tests.features.package.home import COUNT, Home, judge
from tests.fixtures import programs
from tests.fixtures.ports import free_port


def environment(home: Home) -> dict[str, str]:
    return {"TRACED_DATA_DIRECTORY": str(home.workspace.settings.data_directory)}


def test_packed_merged_and_undone_on_the_command_line(home: Home) -> None:
    package, of_home = home.folder / "task.traced", environment(home)
    report = as_json(of_home, "pack", "photos", str(home.folder / "task"), "--reviewer", "Ben")
    assert report["packages"][0]["pairs"] == COUNT
    judge(package, {"p1": "drop"})
    merged = as_json(of_home, "merge", str(package))
    assert merged["packages"][0]["counts"] == {"merged": 1}
    assert as_json(of_home, "merge", str(package), "--undo") == {"undone": {"task.traced": 1}}
    assert invoked(of_home, "merge", str(package), "--undo")[0] == SettingsError.exit_status
    assert invoked(of_home, "merge", str(package))[0] == 0
    assert home.decisions()[1] == "drop"


def test_serve_opens_the_package_with_its_reviewer_as_author(home: Home, tmp_path: Path) -> None:
    package = home.pack(reviewers=["Ada"])

    def opened(**given: Any) -> ServeOptions:
        arguments: dict[str, Any] = {"options": ServeOptions(**given)}
        command.SERVE.run(lambda: None, arguments, Options())
        return arguments["options"]

    options = opened(source=str(package), port=1)
    assert options.db == f"sqlite:///{opening.verdicts_of(package)}"
    assert (options.author, options.port, options.source, options.data) == ("Ada", 1, None, None)
    assert opened(source=str(package), author="Ben").author == "Ben"
    for given in ({}, {"source": "assets/demo"}, {"source": "pairs.csv"}):
        assert opened(**given) == ServeOptions(**given)
    for wrong in ({"data": "photos"}, {"db": "sqlite:////x.db"}):
        with pytest.raises(SettingsError):
            opened(source=str(package), **wrong)
    (folder := tmp_path / "photos.traced").mkdir()
    with pytest.raises(DatasetFormatError):
        opened(source=str(folder))


def test_a_package_is_judged_in_a_browser_and_merged(home: Home, tmp_path: Path) -> None:
    package = home.pack(reviewers=["Ada"])
    port, log = free_port(), tmp_path / "server.log"
    elsewhere = {**os.environ, "TRACED_DATA_DIRECTORY": str(tmp_path / "elsewhere")}
    with log.open("w") as file:
        arguments = ["app.py", "serve", str(package), "--port", str(port)]
        server = programs.start(arguments, elsewhere, stdout=file, stderr=file)
        try:
            wait_for(f"http://127.0.0.1:{port}/healthy", server, log)
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
                page = browser.new_page()
                page.goto(f"http://127.0.0.1:{port}/", timeout=PATIENCE)
                page.get_by_role("button", name="Remove").click(timeout=PATIENCE)
                expect(page.get_by_text("1 verdict this session")).to_be_visible()
                browser.close()
        finally:
            server.terminate()
            server.wait(20)
    assert not list(package.parent.glob("*-wal"))
    assert home.merge(package).counts == {"merged": 1}
    (number,) = [n for n, decision in enumerate(home.decisions()) if decision == "drop"]
    (act,) = home.acts(number)
    assert (act.author, act.sampling) == ("Ada", "queue")
