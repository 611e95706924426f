"""Several processes answer the review page; one that dies loses nothing."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from backend.workspace import Workspace
from tests.fixtures import programs
from tests.traced_ui.pages import Page, decisions
from tests.traced_ui.serving import serving
from traced_ui.board import Post, answer_in
from traced_ui.board_processes import BoardProcesses


@pytest.fixture
def processes(workspace: Workspace) -> Iterator[BoardProcesses]:
    started = BoardProcesses(workspace.settings, 2)
    yield started
    started.end()


@pytest.fixture(scope="module")
def shared_process(served: Workspace) -> Iterator[BoardProcesses]:
    """One for all tests that store no verdict."""
    started = BoardProcesses(served.settings, 1)
    yield started
    started.end()


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
        answer = httpx.post(f"{self.address}review/acts", json=content, timeout=120)
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
        page.post(page.verdict(page.pair, "correct"), page.verdict(page.pair + 1, "drop"))
        assert decisions(workspace)[:2] == ["correct", "drop"]
        page.press("tag-add", edit={"name": "odd", "of": str(page.pair)})
        assert "odd" in page.shown["stage"], "what can be undone has a time, which JSON has not"


def test_a_process_that_is_killed_is_replaced_and_each_verdict_is_stored_once(
    workspace: Workspace, processes: BoardProcesses
) -> None:
    with serving(workspace, processes=processes) as address:
        page = ServedPage(workspace, address)
        before = answering()
        assert len(before) == 2
        for process in before:
            process.kill()
        page.post(page.verdict(page.pair, "correct"))
        page.post(page.verdict(page.pair + 1, "correct"))
        assert len(answering()) == 2
        assert decisions(workspace)[:2] == ["correct"] * 2
        assert not {p.pid for p in answering()} & {p.pid for p in before}


def test_a_language_model_is_asked_by_the_server_alone(
    served: Workspace, shared_process: BoardProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its limits count what one program asks."""
    asked = []
    monkeypatch.setattr(
        served.review, "suggest", lambda pair, claim: asked.append(pair) or ("a suggestion",)
    )
    with serving(served, processes=shared_process) as address:
        page = ServedPage(served, address)
        page.press("suggest")
        assert asked == [page.pair]


def test_a_queue_by_meaning_is_answered_by_the_server_alone(
    served: Workspace, shared_process: BoardProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its model is loaded once, before the queue is shown."""
    sought = {"meaning": "a dog"}
    served.review.save_view(1, "dogs", sought)
    asked: list[str] = []

    def search(dataset_id: int, meaning: str = "", like: str = "") -> tuple[int, ...] | None:
        asked.append(meaning)
        return (1, 2) if meaning else None

    monkeypatch.setattr(served.review, "search", search)
    with serving(served, processes=shared_process) as address:
        page = ServedPage(served, address)
        for action, more in (
            ("find-meaning", {"text": "a dog"}), ("filter", {"filter": sought}), ("next", {}),
            ("filter", {"filter": {}}), ("view", {"name": "dogs"}), ("visit", {"address": sought}),
        ):  # fmt: skip
            asked.clear()
            page.press(action, **more)
            assert ("a dog" in asked) == (more != {"filter": {}}), action


def test_a_malformed_act_is_refused_as_by_one_process(
    served: Workspace, shared_process: BoardProcesses
) -> None:
    with serving(served, processes=shared_process) as address:
        answers = [
            httpx.post(f"{address}review/acts", json=body).status_code
            for body in ({}, {"state": {"rows": -1}})
        ]
    assert answers == [422, 422]


def test_each_sees_what_its_curator_may_see(workspace: Workspace) -> None:
    """Once there is an account, also in processes that were started before."""
    processes = BoardProcesses(workspace.settings, 1)
    page = Page(workspace)
    body = {"state": page.state.model_dump(), "redraw": True}
    post = Post.model_validate(body)
    assert processes.answer(post, None, False) == answer_in(workspace, post, None)
    workspace.accounts.add("Ada", "a long enough password")
    workspace.confine()
    with_login = processes.answer(post, "Ada", True)
    assert with_login == answer_in(workspace, post, "Ada")
    processes.end()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_they_end_with_the_server(tmp_path: Path, how: signal.Signals) -> None:
    environment = {**os.environ, "TRACED_DATA_DIRECTORY": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    command = ["app.py", "serve", "--port", "0", "--processes", "2"]
    server = programs.start(command, environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert server.stdout is not None
    address = next(filter(None, (re.search(r"http://[^ ]+", line) for line in server.stdout)))[0]
    assert httpx.get(f"{address}healthy", timeout=200).is_success
    children = psutil.Process(server.pid).children(recursive=True)
    assert sum("spawn_main" in " ".join(child.cmdline()) for child in children) == 2
    server.send_signal(how)
    server.wait(60)
    assert psutil.wait_procs(children, timeout=60)[1] == []
