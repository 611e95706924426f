"""The named endpoints over a real server: what a program does, and what it is told."""

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn
from gradio_client import Client
from gradio_client.exceptions import AppError

from backend.workspace import QueueFilter, Workspace
from traced_ui.server import create_app

PASSWORD = "a long password"


def served(workspace: Workspace, **options: Any) -> Iterator[str]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
    server = uvicorn.Server(
        uvicorn.Config(create_app(workspace, 1, **options), "127.0.0.1", port, log_level="error")
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}/"
    server.should_exit = server.force_exit = True  # without waiting for clients to go away
    thread.join(20)


@pytest.fixture
def address(workspace: Workspace) -> Iterator[str]:
    yield from served(workspace)


@pytest.fixture
def guarded(workspace: Workspace) -> Iterator[str]:
    workspace.team.add("Ada", PASSWORD)
    yield from served(workspace, login=True)


def test_a_program_reviews_a_queue(address: str, workspace: Workspace) -> None:
    client = Client(address, verbose=False)
    (dataset,) = client.predict(api_name="/datasets")
    name = dataset["name"]
    page = client.predict(name, api_name="/queue", limit=1)
    assert len(page["pairs"]) == 1
    assert page["next"]
    rest = client.predict(name, api_name="/queue", after=page["next"])
    ids = [pair["id"] for pair in page["pairs"] + rest["pairs"]]
    assert len(ids) == len(set(ids)) == dataset["pairs"]
    whole = client.predict(ids[0], api_name="/pair")
    assert whole["caption"] == page["pairs"][0]["caption"]
    decided = client.predict(ids[0], whole["version"], "drop", api_name="/decide")
    assert (decided["verdict"], decided["version"]) == ("drop", whole["version"] + 1)
    assert workspace.open_pair(ids[0]).history[-1].author == "curator"
    assert client.predict(name, api_name="/progress")["reviewed"] == 1
    assert client.predict(name, api_name="/undo")["verdict"] is None
    assert client.predict(name, api_name="/redo")["verdict"] == "drop"
    assert client.predict(name, api_name="/undo")["id"] == ids[0]
    assert client.predict(name, api_name="/undo") is None


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ((1, 0, "nonsense"), "is no verdict"),
        ((1, 7, "drop"), "decided"),
        ((99999, 0, "drop"), "no pair 99999"),
        ((1, 0, "correction"), "empty"),
    ],
)
def test_what_cannot_be_done_is_told_without_the_insides(
    address: str, given: tuple[int, int, str], told: str
) -> None:
    client = Client(address, verbose=False)
    with pytest.raises(AppError, match=told) as problem:
        client.predict(*given, api_name="/decide")
    assert "Traceback" not in str(problem.value)


def test_a_program_logs_in_like_people(guarded: str, workspace: Workspace) -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011  (whatever the client makes of a 401)
        Client(guarded, verbose=False).predict(api_name="/datasets")
    client = Client(guarded, auth=("Ada", PASSWORD), verbose=False)
    pair = workspace.queue_page(QueueFilter(1)).rows[0].pair_id
    client.predict(pair, 0, "unsure", api_name="/decide")
    assert workspace.open_pair(pair).history[-1].author == "Ada"


@pytest.mark.parametrize("mcp", [False, True])
def test_tools_are_there_when_they_are_asked_for(workspace: Workspace, mcp: bool) -> None:
    import httpx

    for address in served(workspace, mcp=mcp):
        found = httpx.get(f"{address}gradio_api/mcp/schema", timeout=20)
        if not mcp:
            assert found.status_code == 404 or "text/html" in found.headers["content-type"]
            continue
        tools = {tool["name"]: tool for tool in found.json()}
        decide = tools["decide"]
        assert "Give a verdict on a pair" in decide["description"]
        assert "pair_id" in decide["inputSchema"]["properties"]
        assert "request" not in decide["inputSchema"]["properties"]
