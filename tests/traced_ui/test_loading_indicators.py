"""Gradio's loading indicators cost nothing while none is shown."""

from fastapi.testclient import TestClient

from backend.workspace import Workspace
from traced_ui.loading_indicators import ASSETS, EACH_FRAME
from traced_ui.server import create_app


def test_events_without_an_indicator_update_none(served: Workspace) -> None:
    events = TestClient(create_app(served, 1)).get("/config").json()["dependencies"]
    hidden = [event for event in events if event["show_progress"] == "hidden"]
    shown = [event for event in events if event["show_progress"] != "hidden"]
    assert len(hidden) > len(shown) > 0
    assert all(event["show_progress_on"] == [] for event in hidden)
    assert all(event["show_progress_on"] is None for event in shown)


def test_the_indicator_script_differs_from_gradios_in_one_expression(served: Workspace) -> None:
    (file,) = ASSETS.glob("statustracker-*.js")
    answer = TestClient(create_app(served, 1)).get(f"/assets/{file.name}")
    assert answer.headers["content-type"].startswith("text/javascript")
    before, after = file.read_text(encoding="utf-8").split(EACH_FRAME)
    assert answer.text.startswith(before)
    assert answer.text.endswith(after)
    assert "status-tracker]:not(.hide)" in answer.text[len(before) : -len(after)]
