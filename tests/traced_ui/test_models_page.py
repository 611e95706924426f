"""The Models page and the choice of a scoring model: their texts and the jobs that they start."""

import html
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr
import pytest

from backend.jobs.scoring.known_pictures import Recognition
from backend.workspace import Workspace
from tests.fixtures.hub_server import Hub
from tests.jobs.test_models import COMMIT, NAME, checkpoint, hub
from traced_ui import models_page
from traced_ui.model_cards import ModelCards, cards_html, chosen_for
from traced_ui.models_page import models_html

__all__ = ["checkpoint", "hub"]  # fixtures


def test_the_table_shows_costs_and_installed_models(workspace: Workspace) -> None:
    html = models_html(workspace.models.list_models())
    for text in ("fast", "laion/CLIP-ViT-B-32", "605 MB", "MIT", "4afec35ffe57", "no captioner: ",
                 "not measured", "151 million", "BSD 3-Clause"):  # fmt: skip
        assert text in html
    assert html.count("<span>yes") == 1  # the embedded one
    assert html.count('data-model-action="download"') == len(workspace.models.list_models()) - 1
    assert 'data-model-action="download"' not in row_of(html, "embedded")
    assert 'data-model-action="remove"' not in row_of(html, "embedded")


def test_cards_say_which_models_know_the_pictures(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    cards = ModelCards(workspace)
    names = ["embedded", "fast", "thorough"]
    assert [card.view.name for card in cards.of(None)] == names
    assert [card.knows for card in cards.of(None)] == [None] * 3, "there are no pictures yet"
    # The embedded model does not know these pictures: its card says so, and is the last.
    photographs = cards.of(1)
    assert [card.view.name for card in photographs] == ["fast", "thorough", "embedded"]
    assert [card.knows for card in photographs] == [None, None, False]
    presets, others = {card.why for card in photographs[:2]}, ModelCards(workspace)
    assert others._test("somebody/model", 1) not in [(None, why) for why in presets], (
        "nobody knows what other models were trained on"
    )
    assert chosen_for(photographs) == "fast"
    local = photographs[1]._replace(view=replace(photographs[1].view, is_here=True))
    assert chosen_for([photographs[0], local, photographs[2]]) == "thorough", "nothing to download"
    html = cards_html(photographs, "fast")
    assert html.count(" checked") == 1
    assert 'value="fast" checked' in html
    assert 'data-download="fast"' in html
    assert 'data-download="embedded"' not in html
    familiar = Recognition("embedded", 20, 1)
    monkeypatch.setattr(
        type(workspace.jobs), "recognition",
        lambda self, dataset, model: familiar if model == "embedded" else None,
    )  # fmt: skip
    drawn = ModelCards(workspace).of(1)
    assert [card.view.name for card in drawn] == names
    assert "19 of 20" in drawn[0].why
    assert chosen_for(drawn) == drawn[0].value == "", "the dataset's own model"


class ModelsPage:
    """The page in Gradio: calls the functions of its buttons and timer."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        with gr.Blocks() as self.blocks:
            models_page.build(workspace)
        self.job: int | None = None
        self.to_remove = ""

    def click(self, button: str, model: str | None, username: str | None = None) -> dict[str, Any]:
        """Click `models-BUTTON` with this model; returns the new values by element id or type."""
        name = self.to_remove if button == "removal-sure" else model
        changed = self._call(f"models-{button}", "click", name, gr.Request(username=username))
        if button == "remove":
            self.to_remove = changed.get("state", "")
        else:
            self.job = changed.get("state", self.job)
        return changed

    def act(self, action: str, model: str, username: str | None = None) -> dict[str, Any]:
        """Click a button in the row of this model; the new values as those of `click`."""
        event = gr.EventData(None, {"modelAction": action, "model": model})
        return self._call("models-table", "select", event, gr.Request(username=username))

    def tick(self, model: str | None) -> dict[str, Any]:
        """What the timer does every second."""
        return self._call("timer", "tick", self.job, model)

    def ended(self, model: str) -> dict[str, Any]:
        """What the timer does after the job has ended."""
        assert self.workspace.jobs.background.wait(250)
        return self.tick(model)

    def _call(self, component: str, event: str, *inputs: Any) -> dict[str, Any]:
        (function,) = [
            function for function in self.blocks.fns.values()
            for id, name in function.targets
            if name == event and _called(self.blocks.blocks[id]) == component
        ]  # fmt: skip
        assert function.fn is not None
        takes = [_called(block) for block in function.inputs]
        states = ["state"] if event == "tick" or component == "models-removal-sure" else []
        has_name = component not in ("models-removal-sure", "models-table")
        assert takes == states + ["models-choice"] * has_name
        values = function.fn(*inputs)
        outputs = [_called(block) for block in function.outputs]
        return dict(zip(outputs, values, strict=True))


def _called(block: Any) -> str:
    return getattr(block, "elem_id", None) or block.get_block_name()


def row_of(table: str, model: str) -> str:
    """The line of the table with this model; recommendations stand before the table."""
    lines = table.partition("<table")[2].split("<tr>")
    (line,) = [part for part in lines if f"<b>{html.escape(model)}</b>" in part]
    return line


def test_a_model_is_downloaded_measured_chosen_and_removed(workspace: Workspace, hub: Hub) -> None:
    page = ModelsPage(workspace)
    assert page.click("download", NAME)["timer"].active
    brought = page.ended(NAME)
    assert not brought["timer"].active
    assert COMMIT[:12] in brought["models-message"]
    assert workspace.models.view(NAME).is_here

    page.click("probe", f" {NAME} ")
    measured = page.ended(NAME)
    assert workspace.models.view(NAME).probe is not None
    assert "not measured" not in row_of(measured["models-table"], NAME)
    assert "not measured" in row_of(measured["models-table"], "fast")

    answer = page.click("default", NAME)
    assert workspace.models.default() == NAME
    assert '"chip">for new datasets' in row_of(answer["models-table"], NAME)
    assert '"chip">for new datasets' not in row_of(answer["models-table"], "embedded")
    assert 'data-model-action="download"' not in row_of(answer["models-table"], NAME)
    assert 'data-model-action="remove"' in row_of(answer["models-table"], NAME)

    shown = page.click("remove", NAME)
    assert shown["models-removal"]["visible"]
    assert f"'{NAME}'" in html.unescape(shown["models-removal-question"])
    assert workspace.models.view(NAME).is_here, "nothing is removed without confirmation"
    removed = page.click("removal-sure", "fast")
    assert not removed["models-removal"]["visible"]
    assert 'data-model-action="download"' in row_of(removed["models-table"], NAME)
    assert '"chip">for new datasets' in row_of(removed["models-table"], "embedded")
    assert not workspace.models.view(NAME).is_here
    assert workspace.models.default() == "embedded"


def test_a_row_does_what_the_fields_below_do(workspace: Workspace, hub: Hub) -> None:
    page = ModelsPage(workspace)
    assert page.act("download", NAME)["timer"].active
    assert workspace.jobs.background.wait(250)
    assert workspace.models.view(NAME).is_here
    answer = page.act("default", NAME)
    assert workspace.models.default() == NAME
    assert '"chip">for new datasets' in row_of(answer["models-table"], NAME)
    assert page.act("remove", NAME)["models-removal"]["visible"]
    assert workspace.models.view(NAME).is_here
    assert "no action" in page.act("delete", NAME)["models-message"]
    workspace.accounts.add("bob", "a long password", "curator")
    for action in ("download", "probe", "default", "remove"):
        assert "Only an adjudicator" in page.act(action, NAME, "bob")["models-message"]
    assert len(workspace.jobs.recent()) == 1


def test_each_button_requires_permission_and_a_model(workspace: Workspace) -> None:
    workspace.accounts.add("bob", "a long password", "curator")
    page = ModelsPage(workspace)
    for button in ("download", "probe", "default", "remove"):
        refused = page.click(button, "embedded", "bob")
        assert "Only an adjudicator" in refused["models-message"]
        assert "Choose a model" in page.click(button, " ")["models-message"]
    assert workspace.jobs.recent() == []


def test_a_hostile_name_is_escaped_everywhere_on_the_page(
    workspace: Workspace, tmp_path: Path
) -> None:
    folder = tmp_path / "<img src=x onerror=alert(1)>"
    folder.mkdir()
    for name in ("config.json", "model.safetensors"):
        (folder / name).write_text("{}")
    page = ModelsPage(workspace)
    started = page.click("download", str(folder))
    ended = page.ended(str(folder))
    answer = page.click("default", str(folder))
    for part in (started["models-message"], ended["models-message"], *answer.values()):
        assert "<img" not in part
        assert "&lt;img src=x" in part
