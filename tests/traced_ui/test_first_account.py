"""The first account begins the login at once, on a server that is running."""

import threading
from collections.abc import Iterator
from pathlib import Path

import anyio
import httpx2
import pytest
from fastapi.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from backend.workspace import Workspace
from tests.cli.invoking import invoked
from tests.db.building import watching
from tests.traced_ui.serving import serving
from traced_ui import login
from traced_ui.login import Guard, LoginRequirement
from traced_ui.server import create_app

PASSWORD = "a long password"
PAGE = {"Accept": "text/html"}


def curators(folder: Path, *arguments: str) -> str:
    environment = {"TRACED_DATA_DIRECTORY": str(folder / "state"), "TRACED_PASSWORD": PASSWORD}
    status, out, err = invoked(environment, "curators", *arguments)
    assert status == 0, err
    return out


@pytest.fixture
def address(workspace: Workspace) -> Iterator[str]:
    with serving(workspace, login=None) as address:
        yield address


def answers(client: httpx2.Client) -> list[int]:
    """The statuses of a page, a picture, the API, an act of the review page, a file, and Gradio's
    own routes."""
    act = {"verdicts": [], "acts": [], "redraw": True, "state": {"dataset": 1}, "have": {}}
    return [
        client.get("", headers=PAGE).status_code,
        client.get("progress", headers=PAGE).status_code,
        client.get("pictures/1").status_code,
        client.get("api/v1/datasets").status_code,
        client.post("review/acts", json=act).status_code,
        client.get("config").status_code,
    ]


def test_the_first_account_begins_the_login(
    workspace: Workspace, address: str, tmp_path: Path
) -> None:
    with httpx2.Client(base_url=address) as client:
        assert set(answers(client)) == {200}
        before = workspace.folders
        message = curators(tmp_path, "add", "Ada")
        # From the moment when the command has ended.
        assert answers(client) == [303, 303, 401, 401, 401, 401]
        assert len(message.splitlines()) > 1, "the command says so"
        assert len(curators(tmp_path, "add", "Ben").splitlines()) == 1, "once"
        assert (before, workspace.folders is not None) == (None, True), "as on a start with login"
        data = {"username": "Ada", "password": PASSWORD}
        assert client.post("login", data=data).status_code == 200
        assert set(answers(client)) == {200}
    with httpx2.Client(base_url=address) as other:
        curators(tmp_path, "remove", "Ada")
        assert answers(other)[0] == 303, "nobody enters because the last account was closed"


def test_an_account_that_is_opened_again_begins_it_too(
    workspace: Workspace, tmp_path: Path
) -> None:
    curators(tmp_path, "add", "Ada")
    curators(tmp_path, "remove", "Ada")
    with serving(workspace, login=None) as other, httpx2.Client(base_url=other) as client:
        assert client.get("", headers=PAGE).status_code == 200, "no account is active"
        curators(tmp_path, "restore", "Ada")
        assert client.get("", headers=PAGE).status_code == 303


def test_no_account_begins_it_where_it_is_switched_off(
    workspace: Workspace, tmp_path: Path
) -> None:
    client = TestClient(create_app(workspace, 1, login=False))
    curators(tmp_path, "add", "Ada")
    assert client.get("/pictures/1").status_code == 200


def test_what_is_open_ends(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that began without a login is cut off as one whose login has ended."""
    monkeypatch.setattr(login, "_CHECKED_EVERY", 0.05)
    begun = threading.Event()

    async def stream(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        begun.set()
        await anyio.sleep(60)

    requirement = LoginRequirement(workspace.accounts, lambda: None)
    guard = Guard(stream, workspace.accounts, requirement.applies)
    scope = {"type": "http", "path": "/stream", "method": "GET", "headers": []}

    async def send(message: object) -> None:
        if begun.is_set() and not workspace.accounts.has_accounts():
            workspace.accounts.add("Ada", PASSWORD)

    async def receive() -> Message:
        await anyio.sleep(60)
        return {"type": "http.disconnect"}

    async def ask() -> None:
        with anyio.fail_after(10):
            await guard(scope, receive, send)

    begun.set()
    anyio.run(ask)


def test_whether_there_are_accounts_is_not_asked_with_each_request(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login, "NOTICED_WITHIN", 1000.0)
    requirement = LoginRequirement(workspace.accounts, lambda: None)
    with watching(workspace.store.opened) as statements:
        for _ in range(100):
            assert not requirement.applies()
    assert sum("FROM curators" in " ".join(text.split()) for text, _ in statements) == 1
    workspace.accounts.add("Ada", PASSWORD)
    monkeypatch.setattr(login, "NOTICED_WITHIN", 0.0)
    assert requirement.applies()
    with watching(workspace.store.opened) as statements:
        assert requirement.applies()
    assert not statements
