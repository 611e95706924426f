"""Several processes answer the review page; one that dies loses nothing."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from backend.workspace import Workspace
from tests.fixtures import programs
from tests.traced_ui.conftest import workspace_in
from tests.traced_ui.pages import Page
from tests.traced_ui.serving import serving
from traced_ui.board import Post, answer_in
from traced_ui.board_processes import BoardProcesses


@pytest.fixture(scope="module")
def workspace(imported: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """One for all tests, each of which goes on where the one before has ended."""
    folder = tmp_path_factory.mktemp("processes")
    shutil.copytree(imported / "state", folder / "state")
    opened = workspace_in(folder)
    yield opened
    opened.store.close()


@pytest.fixture(scope="module")
def processes(workspace: Workspace) -> Iterator[BoardProcesses]:
    """One: to start it takes longer than all its answers."""
    started = BoardProcesses(workspace.settings, 1)
    yield started
    started.end()
    assert psutil.wait_procs(answering(), timeout=60)[1] == []  # a busy machine takes its time


def answering() -> list[psutil.Process]:
    """The processes that this test's process has started to answer."""
    name = "spawn_main"
    children = psutil.Process().children()  # those that have ended have no command line any more
    return [c for c in children if name in " ".join(c.as_dict(["cmdline"], ad_value=[])["cmdline"])]


class ServedPage(Page):
    """A page whose requests go to a server."""

    def __init__(self, workspace: Workspace, address: str) -> None:
        self.address = address
        super().__init__(workspace)

    def request(self, **body: Any) -> Any:
        content = {"state": self.state.model_dump(), **body}
        answer = httpx2.post(f"{self.address}review/acts", json=content, timeout=120)
        answer.raise_for_status()
        self.state = self.state.model_validate(answer.json()["state"])
        self.shown |= answer.json()["parts"]
        return answer.json()


def test_they_give_the_answers_of_one_process(
    workspace: Workspace, processes: BoardProcesses
) -> None:
    with serving(workspace, processes=processes) as address:
        page, alone = ServedPage(workspace, address), Page(workspace)
        assert page.state == alone.state
        assert page.shown == alone.shown
        first = page.pair
        page.post(page.verdict(first, "correct"), page.verdict(first + 1, "drop"))
        assert [page.view(first + n).verdict.decision for n in (0, 1)] == ["correct", "drop"]
        page.press("tag-add", edit={"name": "odd", "of": str(page.pair)})
        assert "odd" in page.shown["stage"], "what can be undone has a time, which JSON has not"


def test_a_process_that_is_killed_is_replaced_and_each_verdict_is_stored_once(
    workspace: Workspace, processes: BoardProcesses
) -> None:
    with serving(workspace, processes=processes) as address:
        page = ServedPage(workspace, address)
        pair = page.pair
        (before,) = answering()
        before.kill()
        page.post(page.verdict(pair, "unsure"))
        (after,) = answering()
        assert after.pid != before.pid
        assert [act.decision for act in page.view(pair).verdict.history] == ["unsure"]


def test_a_language_model_is_asked_by_the_server_alone(
    workspace: Workspace, processes: BoardProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its limits count what one program asks."""
    asked = []
    monkeypatch.setattr(
        workspace.review, "suggest", lambda pair, claim: asked.append(pair) or ("a suggestion",)
    )
    with serving(workspace, processes=processes) as address:
        page = ServedPage(workspace, address)
        page.press("suggest")
        assert asked == [page.pair]


def test_a_queue_by_meaning_is_answered_by_the_server_alone(
    workspace: Workspace, processes: BoardProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its model is loaded once, before the queue is shown."""
    sought = {"meaning": "a dog"}
    workspace.review.save_view(1, "dogs", sought)
    asked: list[str] = []

    def search(dataset_id: int, meaning: str = "", like: str = "") -> tuple[int, ...] | None:
        asked.append(meaning)
        return (7, 8) if meaning else None

    monkeypatch.setattr(workspace.review, "search", search)
    with serving(workspace, processes=processes) as address:
        page = ServedPage(workspace, address)
        for action, more in (
            ("find-meaning", {"text": "a dog"}), ("filter", {"filter": sought}), ("next", {}),
            ("filter", {"filter": {}}), ("view", {"name": "dogs"}), ("visit", {"address": sought}),
        ):  # fmt: skip
            asked.clear()
            page.press(action, **more)
            assert ("a dog" in asked) == (more != {"filter": {}}), action


def test_a_malformed_act_is_refused_as_by_one_process(
    workspace: Workspace, processes: BoardProcesses
) -> None:
    with serving(workspace, processes=processes) as address:
        answers = [
            httpx2.post(f"{address}review/acts", json=body).status_code
            for body in ({}, {"state": {"rows": -1}})
        ]
    assert answers == [422, 422]


def test_each_sees_what_its_curator_may_see(
    workspace: Workspace, processes: BoardProcesses
) -> None:
    """Once there is an account, also in processes that were started before; the last test here,
    because there is one from now on."""
    page = Page(workspace)
    body = {"state": page.state.model_dump(), "redraw": True}
    post = Post.model_validate(body)
    assert processes.answer(post, None, False) == answer_in(workspace, post, None)
    workspace.accounts.add("Ada", "a long enough password")
    workspace.confine()
    with_login = processes.answer(post, "Ada", True)
    assert with_login == answer_in(workspace, post, "Ada")


def test_they_end_with_the_server_however_that_ends(tmp_path: Path) -> None:
    environment = {**os.environ, "TRACED_DATA_DIRECTORY": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    command = ["app.py", "serve", "--port", "0", "--processes", "2"]
    server = programs.start(command, environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert server.stdout is not None
    address = next(filter(None, (re.search(r"http://[^ ]+", line) for line in server.stdout)))[0]
    assert httpx2.get(f"{address}healthy", timeout=200).is_success
    children = psutil.Process(server.pid).children(recursive=True)
    assert sum("spawn_main" in " ".join(child.cmdline()) for child in children) == 2
    server.kill()
    server.wait(60)
    assert psutil.wait_procs(children, timeout=60)[1] == []
