"""What the server keeps of its visitors: little, and sessions without state are dropped first."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from gradio.routes import App

from backend.workspace import Workspace
from traced_ui.server import create_app
from traced_ui.sessions import MOST, Sessions


@pytest.fixture
def client(workspace: Workspace) -> TestClient:
    return TestClient(create_app(workspace, 1))


def sessions_of(client: TestClient) -> Sessions:
    app: Any = client.app
    (mounted,) = (route.app for route in app.routes if isinstance(getattr(route, "app", 0), App))
    assert isinstance(mounted.state_holder, Sessions)
    assert mounted.get_blocks().state_holder is mounted.state_holder
    return mounted.state_holder


def test_sessions_without_state_are_dropped_first(client: TestClient) -> None:
    sessions = sessions_of(client)
    sessions["a page"].state_data[1] = "something"
    for number in range(MOST + 50):
        sessions[f"call-{number}"]
    assert len(sessions.session_data) == MOST
    assert "a page" in sessions
    assert "call-0" not in sessions
    assert f"call-{MOST + 49}" in sessions
    assert len(sessions.time_last_used) == MOST


def test_the_oldest_of_sessions_with_state_is_dropped(client: TestClient) -> None:
    sessions = sessions_of(client)
    for number in range(MOST + 1):
        sessions[f"page-{number}"].state_data[1] = number
    assert "page-0" not in sessions
    assert sessions["page-1"].state_data == {1: 1}
