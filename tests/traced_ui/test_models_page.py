"""The Models page and the choice of a scoring model: their texts and the jobs that they start."""

import html
import re
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr
import pytest

from backend.engine.presets import recommended, rough_seconds
from backend.errors import ModelUnavailable, UnknownPictures, explain
from backend.jobs.model_manager import Probe
from backend.progress import Progress
from backend.workspace import Workspace
from db.queries import job_queries
from tests.datasets.hub_server import Hub
from tests.jobs.test_models import COMMIT, NAME, checkpoint, hub
from tests.research.scenes.other_pictures import generated
from traced_ui import models_page
from traced_ui.dataset_jobs import DatasetJobs, models_offered
from traced_ui.dataset_messages import imported_note
from traced_ui.models_page import choices, chosen_by, done_message, models_html, suggested

__all__ = ["checkpoint", "hub"]  # fixtures

PROBE = Probe("fast", None, "cpu", "float32", 600.0, 2.0, 700_000_000, 2, "2026-11-23T00:00:00")


def test_the_table_shows_costs_and_installed_models(workspace: Workspace) -> None:
    html = models_html(workspace.models.listed())
    for text in ("fast", "laion/CLIP-ViT-B-32", "605 MB", "MIT", "4afec35ffe57", "no captioner: ",
                 "not measured", "151 million", "BSD 3-Clause"):  # fmt: skip
        assert text in html
    assert html.count(">yes</td>") == 1  # the embedded one


@pytest.mark.parametrize(
    ("gigabytes", "names"), [(0, ["fast", "thorough"]), (12, ["large"]), (24, ["vlm", "large"])]
)
def test_presets_are_recommended_by_the_card(gigabytes: int, names: list[str]) -> None:
    advice = recommended(gigabytes * 1_000_000_000)
    assert [each.preset.name for each in advice] == names
    html = models_html([], advice)
    for each in advice:
        assert f"<b>{each.preset.name}</b> ({each.reason}" in html
        laptop, workstation, card = rough_seconds(each.preset).values()
        assert laptop > workstation > card > 0
    assert "of weights; a thousand pairs take roughly" in html
    assert "For photographs" not in models_html([])


def test_each_model_is_offered_with_size_and_time(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backend.jobs.model_manager.probes", lambda folder: {"fast": PROBE})
    listed = choices(workspace, 785)
    assert listed[0] == ("the dataset's own model", "")
    # 785 pairs, and the noisy copies that the first detector is trained on.
    assert listed[1] == ("fast · 605 MB to download · about 16 min for 785 pairs", "fast")
    rough = next(label for label, name in listed if name == "balanced")
    assert re.search(r"2\.5 GB to download · roughly [\d.]+ (min|h) for 785 pairs", rough)
    assert all("pairs" not in label for label, _ in choices(workspace, 0))
    assert listed[-1][1] == "embedded"


def test_only_adjudicators_change_the_models_of_a_server(workspace: Workspace) -> None:
    workspace.accounts.add("ada", "a long password", "adjudicator")
    workspace.accounts.add("bob", "a long password", "curator")

    class Request:
        def __init__(self, username: str | None) -> None:
            self.username = username

    def chosen(name: str | None, model: str | None) -> str:
        request: Any = Request(name)
        return chosen_by(workspace, model, request)

    assert chosen("ada", " fast ") == chosen(None, "fast") == "fast"
    with pytest.raises(Exception, match="Only an adjudicator"):
        chosen("bob", "fast")
    with pytest.raises(Exception, match="Choose a model"):
        chosen(None, " ")


def test_an_import_of_other_pictures_asks_for_a_model(workspace: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "photographs"
    folder.mkdir()
    rows = ["file_name,caption"]
    for number, (kind, image) in enumerate(generated(6, 12)):
        image.save(folder / f"{number}.png")
        rows.append(f"{number}.png,A {kind} of a holiday")
    (folder / "metadata.csv").write_text("\n".join(rows) + "\n")
    started = workspace.jobs.start("import", path=str(folder))
    assert workspace.jobs.background.wait(250)
    result = workspace.jobs.job(started).result
    assert "12 of 12 pictures" in result["asks_for_model"]
    note = html.unescape(imported_note(result))
    assert "under 'Model'" in note
    assert "--" not in note


def test_an_installed_model_is_suggested_before_one_to_download(workspace: Workspace) -> None:
    views = workspace.models.listed()
    assert suggested(views) == "fast"
    local = replace(views[0], name="somebody/clip", is_here=True)
    assert suggested([*views, local]) == "somebody/clip"


def test_a_refused_scoring_chooses_another_model(workspace: Workspace) -> None:
    def offered() -> Any:
        last = workspace.jobs.last_scoring(1)
        return models_offered(workspace, 1, last is not None and last.asks_for_model)

    assert offered().value == ""
    assert [name for label, name in offered().choices if "recommended" in label] == [""]
    with workspace.store.writing() as session:
        job = job_queries.create_job(session, "score", 1)
        refusal = explain(UnknownPictures("12 of 12 pictures."), "page")
        job_queries.update_job(session, job.id, status="failed", message=refusal)
    assert offered().value == "fast"
    assert [name for label, name in offered().choices if "recommended" in label] == ["fast"]
    assert ("embedded", "embedded") in offered().choices
    jobs_of_page = DatasetJobs(workspace)
    for chosen in ("somebody/clip", ""):  # "": the dataset's own model, scored with anyway
        assert jobs_of_page.models(1, chosen).value == chosen
    refused = jobs_of_page.watch(job.id, "embedded")
    assert refused.model.value == "embedded"
    assert jobs_of_page.watch(job.id, "").model.value == "fast"


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
        given = self.to_remove if button == "remove-sure" else model
        changed = self._call(f"models-{button}", "click", given, gr.Request(username=username))
        if button == "remove":
            self.to_remove = changed.get("state", "")
        else:
            self.job = changed.get("state", self.job)
        return changed

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
        states = ["state"] if event == "tick" or component == "models-remove-sure" else []
        assert takes == states + ["models-choice"] * (component != "models-remove-sure")
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
    started = page.click("download", NAME)
    assert started["timer"].active
    assert NAME in started["models-message"]
    brought = page.ended(NAME)
    assert f"On this machine now: {NAME} at {COMMIT[:12]}." in brought["models-message"]
    assert not brought["timer"].active
    assert workspace.models.view(NAME).is_here

    page.click("probe", f" {NAME} ")
    measured = page.ended(NAME)
    probe = workspace.models.view(NAME).probe
    assert probe is not None
    message = done_message(
        "probe", {"model": NAME, "seconds": probe.seconds, "memory": probe.memory}
    )
    assert html.unescape(measured["models-message"]).count(message) == 1
    assert "not measured" not in row_of(measured["models-table"], NAME)
    assert "not measured" in row_of(measured["models-table"], "fast")

    chosen = page.click("default", NAME)
    assert workspace.models.default() == NAME
    assert f"scored with '{NAME}'" in html.unescape(chosen["models-message"])
    assert "for new datasets" in row_of(chosen["models-table"], NAME)
    assert "for new datasets" not in row_of(chosen["models-table"], "embedded")

    assert ">no</td>" not in row_of(chosen["models-table"], NAME)
    shown = page.click("remove", NAME)
    assert shown["models-removal"].visible
    question = html.unescape(shown["models-what-goes"])
    assert f"Remove '{NAME}' from this machine?" in question
    assert "It is the model for new datasets; the embedded one will take its place." in question
    assert workspace.models.view(NAME).is_here  # nothing is removed without confirmation
    removed = page.click("remove-sure", "fast")
    assert not removed["models-removal"].visible
    message = html.unescape(removed["models-message"])
    assert f"'{NAME}' is removed" in message
    assert "The model for new datasets is the embedded one again." in message
    assert ">no</td>" in row_of(removed["models-table"], NAME)
    assert "for new datasets" in row_of(removed["models-table"], "embedded")
    assert not workspace.models.view(NAME).is_here
    assert workspace.models.default() == "embedded"


def test_a_job_is_followed_until_it_ends(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, over = threading.Event(), threading.Event()

    def download(model: str, progress: Progress) -> None:
        progress(3, 9, f"Downloading {model} (bytes)")
        running.set()
        assert over.wait(250)
        raise ModelUnavailable(f"The hub has no model '{model}'.")

    monkeypatch.setattr("backend.jobs.model_download.download", download)
    page = ModelsPage(workspace)
    assert not page.tick("fast")["timer"].active  # nothing has been started
    page.click("download", "fast")
    assert running.wait(250)
    seen = page.tick("fast")
    assert "Downloading the model fast" in seen["models-message"]
    assert seen["timer"] == seen["models-table"] == gr.skip()
    over.set()
    ended = page.ended("fast")
    assert "The hub has no model 'fast'." in html.unescape(ended["models-message"])
    assert not ended["timer"].active
    assert row_of(ended["models-table"], "fast")


def test_impossible_actions_are_refused_with_the_reason(workspace: Workspace, hub: Hub) -> None:
    page = ModelsPage(workspace)
    with pytest.raises(gr.Error, match="Download it first"):
        page.click("default", NAME)
    with pytest.raises(gr.Error, match="not on this machine"):
        page.click("remove", NAME)
    with pytest.raises(gr.Error, match="comes with the program"):
        page.click("remove", "embedded")
    page.click("probe", NAME)
    failed = html.unescape(page.ended(NAME)["models-message"])
    assert f"'{NAME}' has not been downloaded" in failed
    assert "--" not in failed
    assert workspace.models.default() == "embedded"
    assert hub.requests == []


@pytest.mark.parametrize("button", ["download", "probe", "default", "remove"])
def test_each_button_requires_permission_and_a_model(workspace: Workspace, button: str) -> None:
    workspace.accounts.add("bob", "a long password", "curator")
    page = ModelsPage(workspace)
    with pytest.raises(gr.Error, match="Only an adjudicator"):
        page.click(button, "embedded", "bob")
    with pytest.raises(gr.Error, match="Choose a model"):
        page.click(button, " ")
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
    chosen = page.click("default", str(folder))
    for part in (started["models-message"], ended["models-message"], *chosen.values()):
        assert "<img" not in part
        assert "&lt;img src=x" in part
