"""Uploads to the playground are opened like any untrusted image."""

import html
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np
import pytest
from gradio.data_classes import ImageData
from PIL import Image, ImageFilter

from backend.datasets.safe_files.images import load_image
from backend.features.playground import page
from backend.features.playground.checking import Analysis, analyse
from backend.features.playground.shared_result import SharedResult
from backend.jobs.model_manager import ModelView
from backend.workspace import Workspace
from tests.checkpoints import random_clip
from tests.datasets.folders import picture
from tests.fixtures.hub_server import Hub
from tests.hostile.markup import check_escaping
from tests.jobs.test_models import NAME, checkpoint, hub
from tests.traced_ui.samples import concreteness, suggestion, suspects, trajectory

__all__ = ["checkpoint", "hub"]  # fixtures
#: In the answer for a pair.
RESULT = 'id="traced-stage-playground"'


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
    picture = page.Picture(label="Picture").preprocess(ImageData(path=str(path), orig_name=name))
    refusal, *rest = page.checking(workspace)(picture, "A dog")
    assert re.search(message, refusal)
    assert rest == ["", "", ""], "nothing of an earlier answer stays"


def test_a_file_that_is_no_picture_is_refused_as_soon_as_it_is_there(tmp_path: Path) -> None:
    """A browser would show a broken picture, and of a TIFF although the model reads it."""
    text, picture = tmp_path / "text.jpg", tmp_path / "a.tiff"
    text.write_text("no picture")
    Image.new("RGB", (40, 30)).save(picture)
    shown, message = page.check_picture(str(text))
    assert shown is None
    assert "text.jpg" in message
    assert page.check_picture(str(picture))[1] == ""


def test_a_picture_given_by_url_is_not_opened(workspace: Workspace) -> None:
    picture = page.Picture(label="Picture")
    assert picture.preprocess(None) is None
    assert picture.preprocess(ImageData(url="data:image/png;base64,AAAA")) is None


@pytest.fixture
def unfamiliar(tmp_path: Path) -> str:
    """Blurred noise: the embedded model was trained on nothing like it."""
    noise = np.random.default_rng(5).integers(0, 256, (80, 100, 3), np.uint8)
    path = tmp_path / "noise.png"
    Image.fromarray(noise).filter(ImageFilter.GaussianBlur(6)).save(path)
    return str(path)


def clicked(model: str, workspace: Workspace, path: str, user: str | None = None) -> list[Any]:
    """The successive states of the page after an offered model is clicked."""
    event, request = gr.EventData(None, {"model": model}), gr.Request(username=user)
    return list(page.using(workspace)(path, "A dog", None, event, request))


def test_other_models_are_offered_for_an_unrecognised_picture_and_can_be_chosen(
    tmp_path: Path, workspace: Workspace, unfamiliar: str
) -> None:
    """By name; the playground downloads nothing for a picture."""
    local = str(random_clip(tmp_path / "o<wn"))
    workspace.models.set_default(local)
    check = page.checking(workspace)
    refused, *others = check(unfamiliar, "A dog", None, False, "embedded")
    assert others == ["", "", ""]
    assert refused.startswith('<div class="refused">')
    offered = page.alternatives(workspace.models.list_models())
    assert [offer.model for offer in offered] == [
        local, "fast", "balanced", "large", "thorough", "multilingual", "vlm"
    ]  # fmt: skip
    assert (offered[0].action, offered[0].cost) == (local, "on this machine")
    assert re.fullmatch(r"605 MB to download · roughly [\d.]+ s a pair", offered[1].cost)
    for offer in offered:
        assert f'data-model="{html.escape(offer.model)}">{html.escape(offer.action)}<' in refused
        assert offer.cost in refused
    assert "--" not in refused
    assert RESULT in check(unfamiliar, "A dog", None, False, local)[0]
    for given, why in (
        ((unfamiliar, "A dog", None, False, "thorough"), "is not on this machine"),
        ((None, "A dog"), "Choose a picture"),
        ((unfamiliar, ""), "caption"),
    ):
        answer, *others = check(*given)
        assert why in answer
        assert others == ["", "", ""], "said once, where the answer would be"


def test_nothing_is_suggested_by_a_model_that_does_not_know_the_picture(
    workspace: Workspace, unfamiliar: str
) -> None:
    result = analyse(workspace, load_image(Path(unfamiliar)), "Three red dogs.", None, True)
    assert result.is_unfamiliar
    assert result.suggestions == ()


def test_one_click_downloads_a_model_and_checks_with_it(
    workspace: Workspace, unfamiliar: str, hub: Hub
) -> None:
    steps = clicked(NAME, workspace, unfamiliar)
    assert f"Downloading the model {NAME}" in steps[0][0]
    assert RESULT in steps[-1][0]
    assert steps[-1][-1].value == NAME
    assert (NAME, NAME) in steps[-1][-1].choices
    hub.requests.clear()
    assert len(clicked(NAME, workspace, unfamiliar)) == 1  # the second time it is installed
    assert hub.requests == []


def test_a_failed_download_says_what_to_copy(
    workspace: Workspace, unfamiliar: str, monkeypatch: pytest.MonkeyPatch, hub: Hub
) -> None:
    monkeypatch.setattr("huggingface_hub.hf_api.constants.ENDPOINT", "http://127.0.0.1:9")
    message = html.unescape(clicked(NAME, workspace, unfamiliar)[-1][0])
    assert "models--somebody--tiny-clip" in message
    workspace.accounts.add("bob", "a long password", "curator")
    assert "Only an adjudicator" in clicked(NAME, workspace, unfamiliar, "bob")[-1][0]
    assert len(workspace.jobs.recent()) == 1


def analysis(text: str) -> Analysis:
    return Analysis(
        text, 0.3, 0.8, text, 0.4, True, True, suspects(text), trajectory(text),
        (suggestion(text),), text, text, concreteness(text),
    )  # fmt: skip


def offered(text: str) -> list[page.Alternative]:
    model = ModelView(text, text, None, text, None, None, None, "", "", True, False, None)
    return page.alternatives([model])


@pytest.mark.parametrize(
    ("name", "draw"),
    [
        ("result.html", lambda text: page.result_html(analysis(text), text)),
        ("refused.html", lambda text: page.render(
            "refused.html", why=text, alternatives=offered(text))),
        ("examples.html", lambda text: page.render(
            "examples.html", examples=[page.Example(7, text, text)])),
        ("shared.html", lambda text: page.render(
            "shared.html", shared=SharedResult(text, text, 0.5, 0.5, text), state="another",
            digest=text)),
        ("why.html", lambda text: page.render("why.html", abstractness=text)),
    ],
)  # fmt: skip
def test_hostile_text_is_escaped(name: str, draw: Callable[[str], str]) -> None:
    check_escaping(name, draw)
