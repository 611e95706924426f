"""Gradio's sessions and events belong to the login that opened them, and streams end with it."""

from collections.abc import Iterator
from contextlib import ExitStack, suppress

import httpx2
import pytest

from backend.workspace import Workspace
from tests.traced_ui.serving import serving

PASSWORD = "a long password"


def log_in(address: str, name: str) -> httpx2.Client:
    client = httpx2.Client(base_url=address, timeout=200)
    answer = client.post("login", data={"username": name, "password": PASSWORD})
    assert answer.json()["success"]
    return client


@pytest.fixture
def address(workspace: Workspace) -> Iterator[str]:
    for name in ("Ada", "Ben"):
        workspace.accounts.add(name, PASSWORD)
    with serving(workspace, login=True) as address:
        yield address


def test_nobody_uses_the_session_of_another(address: str) -> None:
    ada, ben = log_in(address, "Ada"), log_in(address, "Ben")
    join = {"data": ["pairs"], "fn_index": 1, "session_hash": "adas-page"}
    event = ada.post("gradio_api/queue/join", json=join).json()["event_id"]
    cancel = {"session_hash": "adas-page", "fn_index": 1, "event_id": event}
    for method, path, query, sent in (
        ("GET", "heartbeat/adas-page", {}, None),
        ("GET", "queue/data", {"session_hash": "adas-page"}, None),
        ("POST", "queue/join", {}, join),
        ("POST", "run/predict", {}, {"data": [], "fn_index": 1, "session_hash": "adas-page"}),
        ("POST", "cancel", {}, cancel),
        ("POST", "cancel", {}, {**cancel, "session_hash": "bens-page"}),
        ("POST", "reset", {}, {"event_id": event}),
    ):
        request = ben.build_request(method, f"gradio_api/{path}", params=query, json=sent)
        answer = ben.send(request, stream=True)
        assert (answer.status_code, "another login" in answer.read().decode()) == (404, True), path
        answer.close()


def test_a_stream_ends_with_its_login(address: str, workspace: Workspace) -> None:
    """Which is looked at every few seconds: all three at once."""
    workspace.accounts.add("Cid", PASSWORD)
    with ExitStack() as stack:
        streams = []
        for name in ("Ada", "Ben", "Cid"):
            client = log_in(address, name)
            opened = client.stream("GET", f"gradio_api/heartbeat/page-of-{name}")
            stream = stack.enter_context(opened)
            assert stream.status_code == 200
            streams.append(stream.iter_raw())
            next(streams[-1])
        workspace.accounts.change("Ada", active=False)
        workspace.accounts.change("Ben", password="another long password")
        httpx2.post(f"{address}logout", cookies=dict(client.cookies))
        for parts in streams:
            with suppress(httpx2.RemoteProtocolError):
                for _ in parts:  # for ever, if it does not end
                    pass
