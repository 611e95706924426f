"""Pictures are decoded while a model works on the previous batch."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from backend.jobs.scoring import image_batches
from backend.jobs.scoring.image_batches import open_ahead, open_pictures
from tests.datasets.folders import picture
from tests.fixtures.interrupting import Hanging


@dataclass
class Row:
    image_path: str


def test_a_scorer_may_see_a_picture_s_name_and_metadata(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    about = PngInfo()
    about.add_text("licence", "by")
    Image.new("RGB", (8, 8)).save(tmp_path / "in/a.png", pnginfo=about)
    picture = image_batches.open_picture(tmp_path, "in/a.png")
    assert isinstance(picture, Image.Image)
    assert (picture.info["file_name"], picture.info["licence"]) == ("in/a.png", "by")


def test_one_batch_is_decoded_while_the_one_before_is_processed(tmp_path: Path) -> None:
    for number in range(6):
        picture(tmp_path / f"{number}.png")
    begun: list[int] = []

    def batches() -> Iterator[list[Row]]:
        for first in (0, 2, 4):
            begun.append(first)
            yield [Row(f"{first}.png"), Row(f"{first + 1}.png")]

    walk = open_ahead(tmp_path, batches())
    pairs, opened = next(walk)
    assert [pair.image_path for pair in pairs] == list(opened) == ["0.png", "1.png"]
    assert all(isinstance(image, Image.Image) for image in opened.values())
    assert begun == [0, 2]
    assert len(list(walk)) == 2


def test_pictures_are_reduced_as_soon_as_they_are_decoded(tmp_path: Path) -> None:
    picture(tmp_path / "good.png")
    rows = [Row("good.png"), Row("gone.png")]
    ((_, opened),) = open_ahead(tmp_path, [rows], lambda image: image.size)
    assert opened["good.png"] == Image.open(tmp_path / "good.png").size
    assert isinstance(opened["gone.png"], str)


def test_a_model_at_work_does_not_stop_decoding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next batch's pictures are ready before the model is done with this one's."""
    for number in range(4):
        picture(tmp_path / f"{number}.png")
    is_open = {f"{number}.png": threading.Event() for number in range(4)}
    opener = image_batches.open_picture

    def open_picture(root: Path, name: str) -> Image.Image | str:
        image = opener(root, name)
        is_open[name].set()
        return image

    monkeypatch.setattr(image_batches, "open_picture", open_picture)
    walk = open_ahead(tmp_path, [[Row("0.png"), Row("1.png")], [Row("2.png"), Row("3.png")]])
    next(walk)
    # This is the model, in the thread that asks for batches.
    assert all(is_open[name].wait(timeout=60) for name in ("2.png", "3.png"))


@pytest.mark.parametrize("ahead", [True, False])
def test_ctrl_c_does_not_wait_for_pictures(
    ahead: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hanging: Hanging
) -> None:
    monkeypatch.setattr(image_batches, "open_picture", hanging)
    rows: Any = [Row(f"{i}.png") for i in range(9)]
    with pytest.raises(KeyboardInterrupt):
        _ = list(open_ahead(tmp_path, [rows])) if ahead else open_pictures(tmp_path, ["a", "b"])
    assert hanging.is_begun
    assert not hanging.is_done


def test_a_picture_that_cannot_be_opened_is_returned_as_a_message(tmp_path: Path) -> None:
    picture(tmp_path / "good.png")
    (tmp_path / "text.png").write_text("no picture")
    rows = [Row("good.png"), Row("text.png"), Row("gone.png"), Row("../out.png")]
    ((_, opened),) = open_ahead(tmp_path, [rows])
    assert isinstance(opened["good.png"], Image.Image)
    assert all(isinstance(opened[name], str) for name in ("text.png", "gone.png", "../out.png"))
    assert list(open_ahead(tmp_path, [])) == []
