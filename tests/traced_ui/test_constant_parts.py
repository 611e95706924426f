"""Constant parts stand in a quieter grey, are listed with counts, and switched off and on."""

import fastapi
import pytest
from fastapi.testclient import TestClient

from backend.engine.constants.part import ConstantPart
from backend.jobs.scoring.dataset_constants import ConstantChoice, choice_in, remember_constants
from backend.workspace import Workspace
from db.queries.dataset_queries import get_dataset
from tests.traced_ui.pages import Page
from traced_ui import api, rooms
from traced_ui.highlighting import highlighted_caption

TRIGGER = ConstantPart(("ohwx", "<b>"), "begin", 118, 120)
VISIBLE = ConstantPart(("a", "dog"), "anywhere", 90, 120, is_left_out=False)
TEXT = TRIGGER.text


@pytest.fixture
def with_constants(workspace: Workspace) -> Workspace:
    workspace.store.write(remember_constants, 1, ConstantChoice(), (TRIGGER, VISIBLE))
    return workspace


def test_a_constant_part_says_that_it_is_not_judged() -> None:
    html = highlighted_caption("ohwx, a dog", [], constants=[(0, 4, "in 118 of 120 captions")])
    assert html.count('class="word constant"') == 1
    assert html.count("in 118 of 120 captions") == 1
    assert "constant" not in highlighted_caption("ohwx, a dog", [])


def test_the_drawer_lists_them_and_switches_each(with_constants: Workspace) -> None:
    page = Page(with_constants)
    page.send("filter", filter={"review": "all"})
    assert "switch-constant" not in page.shown["queue"], "the drawer is closed"
    page.state.is_filtering = True
    page.send("switch-constant", name=TEXT)
    shown = page.shown["queue"]
    assert shown.count('data-action="switch-constant"') == 2
    assert "ohwx &lt;b&gt;" in shown
    assert "<b>" not in shown
    states = {each.text: each.is_left_out for each in with_constants.review.constants(1)}
    assert states == {TEXT: False, "a dog": False}
    page.send("switch-constant", name=TEXT)
    page.send("switch-constant", name="a dog")
    assert all(each.is_left_out for each in with_constants.review.constants(1))
    models = with_constants.store.read(get_dataset, 1).models
    assert choice_in(models) == ConstantChoice(("a dog",))


def test_a_program_reads_and_switches_them(with_constants: Workspace) -> None:
    app = fastapi.FastAPI()
    app.mount(rooms.API, api.create_api(with_constants))
    client = TestClient(app, base_url="http://127.0.0.1/api/v1/")
    parts = client.get("datasets/1/constants").json()
    assert [(each["text"], each["captions"], each["of"]) for each in parts] == [
        (TEXT, 118, 120), ("a dog", 90, 120),
    ]  # fmt: skip
    body = {"text": TEXT, "is_left_out": False}
    (changed, other) = client.put("datasets/1/constants", json=body).json()
    assert (changed["was_left_out"], changed["is_left_out"]) == (True, False)
    assert other == parts[1]
    again = client.put("datasets/1/constants", json=body | {"is_left_out": True}).json()
    assert again == parts
    unknown = client.put("datasets/1/constants", json=body | {"text": "ohw"})
    assert unknown.status_code == 404
    assert client.get("datasets/99/constants").status_code == 404
