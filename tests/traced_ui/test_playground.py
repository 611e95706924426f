"""What is uploaded to the playground is opened as any image that nobody here has made."""

from collections.abc import Callable
from pathlib import Path

import gradio as gr
import pytest
from gradio.data_classes import ImageData
from PIL import Image

from backend.engine.presets import EMBEDDED
from backend.errors import SettingsError
from backend.loaded_models import Engine
from backend.review import ask_models
from backend.store import Store
from backend.workspace import Workspace
from tests.datasets.folders import picture
from traced_ui import playground


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
        ("x.eps", eps, "x.eps.*not an image"),
        ("x.svg", svg, "x.svg.*not an image"),
    ],
)
def test_a_bad_upload_is_reported_in_words(
    tmp_path: Path, workspace: Workspace, name: str, make: Callable[[Path], None], message: str
) -> None:
    path = tmp_path / name
    make(path)
    given = playground.Picture(label="Picture").preprocess(
        ImageData(path=str(path), orig_name=name)
    )
    with pytest.raises(gr.Error, match=message):
        playground.checking(workspace)(given, "A dog")


def test_a_picture_in_an_address_is_not_opened(workspace: Workspace) -> None:
    picture = playground.Picture(label="Picture")
    assert picture.preprocess(None) is None
    with pytest.raises(gr.Error, match="Upload"):
        picture.preprocess(ImageData(url="data:image/png;base64,AAAA"))


def test_a_good_upload_is_checked(
    tmp_path: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def play(image: Image.Image, caption: str, *others: object) -> None:
        seen.append((image.mode, image.size, caption))
        raise RuntimeError("enough")

    monkeypatch.setattr(workspace.review, "playground", play)
    path = picture(tmp_path / "a.png", (30, 20), "RGBA")
    given = playground.Picture().preprocess(ImageData(path=str(path), orig_name="a.png"))
    with pytest.raises(gr.Error):
        playground.checking(workspace)(given, "A dog")
    assert seen == [("RGB", (30, 20), "A dog")]


def test_another_model_of_this_machine_may_be_chosen(
    tmp_path: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its name; nothing is downloaded for a picture in the playground."""
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


def test_models_that_are_not_here_are_not_offered(workspace: Workspace) -> None:
    assert playground.models_here(workspace) == ["embedded"]
