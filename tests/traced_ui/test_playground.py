"""Uploads to the playground are opened like any untrusted image."""

import html
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from gradio.data_classes import ImageData
from PIL import Image

from backend.engine.presets import EMBEDDED
from backend.errors import SettingsError, UnknownPictures
from backend.jobs.model_manager import Probe
from backend.loaded_models import Engine
from backend.review import ask_models
from backend.store import Store
from backend.workspace import Workspace
from tests.datasets.folders import picture
from tests.fixtures.hub_server import Hub
from tests.jobs.test_models import NAME, checkpoint, hub
from tests.traced_ui.samples import played
from traced_ui import playground

__all__ = ["checkpoint", "hub"]  # fixtures


@pytest.fixture(autouse=True)
def upload_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path))


def cut_jpeg(path: Path) -> None:
    whole = picture(path.with_name("whole.jpg"), (300, 300)).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])


def words(path: Path) -> None:
    path.write_text("not a picture")


def huge_png(path: Path) -> None:
    Image.new("1", (14_000, 14_000)).save(path)


def eps(path: Path) -> None:
    path.write_text("%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n")


def svg(path: Path) -> None:
    path.write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")


@pytest.mark.parametrize(
    ("name", "make", "message"),
    [
        ("cut.jpg", cut_jpeg, "cut.jpg.*broken or incomplete"),
        ("notes.txt", words, "notes.txt.*not an image"),
        ("huge.png", huge_png, "huge.png.*million pixels"),
        ("x.eps", eps, "x.eps.*EPS"),
        ("x.svg", svg, "x.svg.*SVG"),
    ],
)
def test_a_bad_upload_is_reported_with_a_message(
    tmp_path: Path, workspace: Workspace, name: str, make: Callable[[Path], None], message: str
) -> None:
    path = tmp_path / name
    make(path)
    given = playground.Picture(label="Picture").preprocess(
        ImageData(path=str(path), orig_name=name)
    )
    with pytest.raises(gr.Error, match=message):
        playground.checking(workspace)(given, "A dog")


def test_a_picture_given_by_url_is_not_opened(workspace: Workspace) -> None:
    picture = playground.Picture(label="Picture")
    assert picture.preprocess(None) is None
    with pytest.raises(gr.Error, match="Upload"):
        picture.preprocess(ImageData(url="data:image/png;base64,AAAA"))


def test_another_installed_model_can_be_chosen(
    tmp_path: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By name; the playground downloads nothing for a picture."""
    chosen = []

    def play(store: Store, engine: Engine, *others: object) -> None:
        chosen.append(engine.settings.model)
        raise SettingsError("enough")

    monkeypatch.setattr(ask_models, "play", play)
    other = str(EMBEDDED.parent / "seed-1")
    monkeypatch.setattr(playground, "models_here", lambda workspace: ["embedded", other])
    path = str(picture(tmp_path / "a.png", (30, 20)))
    check = playground.checking(workspace)
    for model in ("", other, "embedded"):
        with pytest.raises(gr.Error, match="enough"):
            check(path, "A dog", None, False, model)
    assert chosen == [workspace.settings.model, other, str(EMBEDDED)]
    with pytest.raises(gr.Error, match=r"thorough.* is not on this machine"):
        check(path, "A dog", None, False, "thorough")
    assert len(chosen) == 3


class Knows:
    """Playground checks in which only one model recognises the picture."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, workspace: Workspace, model: str) -> None:
        self.model, self.models_tried = model, list[str | None]()
        monkeypatch.setattr(workspace.review, "playground", self.play)

    def play(self, image: Image.Image, text: str, dataset: Any, anyway: bool, model: Any) -> Any:
        self.models_tried.append(model)
        if model != self.model:
            raise UnknownPictures("It is nothing that this model was trained on.")
        return played(text)


def clicked(model: str, workspace: Workspace, path: str, user: str | None = None) -> list[Any]:
    """The successive states of the page after an offered model is clicked."""
    event, request = gr.EventData(None, {"model": model}), gr.Request(username=user)
    return list(playground.using(workspace)(path, "A dog", None, event, request))


def test_other_models_are_offered_for_an_unrecognised_picture(
    tmp_path: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    local = replace(workspace.models.view("fast"), name="o<wn", is_here=True, core_seconds=None,
                  probe=Probe("o<wn", None, "cpu", "float32", 2500.0, 1.0, 1, 2, ""))  # fmt: skip
    views = [*workspace.models.listed(), local]
    monkeypatch.setattr(workspace.models, "listed", lambda: views)
    Knows(monkeypatch, workspace, "none")
    path = str(picture(tmp_path / "a.png", (30, 20)))
    refused, *others = playground.checking(workspace)(path, "A dog")
    assert others == ["", "", ""]
    assert "nothing that this model was trained on" in refused
    offered = playground.alternatives(views)
    assert [offer.model for offer in offered] == [
        "o<wn", "fast", "balanced", "large", "thorough", "multilingual", "vlm"
    ]  # fmt: skip
    assert (offered[0].action, offered[0].cost) == ("o<wn", "on this machine · about 2.5 s a pair")
    assert re.fullmatch(r"605 MB to download · roughly [\d.]+ s a pair", offered[1].cost)
    for offer in offered:
        assert f'data-model="{html.escape(offer.model)}">{html.escape(offer.action)}<' in refused
        assert offer.cost in refused
    assert "--" not in refused


def test_one_click_downloads_a_model_and_checks_with_it(
    tmp_path: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch, hub: Hub
) -> None:
    knows = Knows(monkeypatch, workspace, NAME)
    path = str(picture(tmp_path / "a.png", (30, 20)))
    steps = clicked(NAME, workspace, path)
    assert f"Downloading the model {NAME}" in steps[0][0]
    assert 'id="traced-stage-playground"' in steps[-1][0]
    assert steps[-1][-1].value == NAME
    assert (NAME, NAME) in steps[-1][-1].choices
    assert knows.models_tried == [NAME]
    hub.requests.clear()
    assert len(clicked(NAME, workspace, path)) == 1  # the second time it is installed
    assert hub.requests == []


def test_a_failed_download_says_what_to_copy(
    tmp_path: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch, hub: Hub
) -> None:
    knows = Knows(monkeypatch, workspace, NAME)
    path = str(picture(tmp_path / "a.png", (30, 20)))
    monkeypatch.setattr("huggingface_hub.hf_api.constants.ENDPOINT", "http://127.0.0.1:9")
    message = html.unescape(clicked(NAME, workspace, path)[-1][0])
    assert "models--somebody--tiny-clip" in message
    workspace.accounts.add("bob", "a long password", "curator")
    with pytest.raises(gr.Error, match="Only an adjudicator"):
        clicked(NAME, workspace, path, "bob")
    assert knows.models_tried == []
    assert len(workspace.jobs.recent()) == 1


def test_models_that_are_not_installed_are_not_offered(workspace: Workspace) -> None:
    assert playground.models_here(workspace) == ["embedded"]
