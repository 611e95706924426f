"""Pictures of strangers."""

from pathlib import Path

import pytest
from PIL import Image

from backend.datasets.images import cached_thumbnail, image_size, load_image
from backend.errors import ImageError
from tests.datasets.folders import picture


@pytest.mark.parametrize("mode", ["RGB", "L", "P", "RGBA", "LA", "1", "I;16"])
def test_every_mode_becomes_rgb(tmp_path: Path, mode: str) -> None:
    path = picture(tmp_path / "x.png", mode=mode)
    image = load_image(path)
    assert (image.mode, image.size) == ("RGB", (20, 10))


def test_what_is_transparent_is_white(tmp_path: Path) -> None:
    path = picture(tmp_path / "x.png", mode="RGBA")
    assert load_image(path).getpixel((3, 3)) == (255, 255, 255)


def test_a_turned_picture_stands_upright(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (20, 10)).save(tmp_path / "x.jpg", exif=exif)
    assert load_image(tmp_path / "x.jpg").size == (10, 20) == image_size(tmp_path / "x.jpg")


def test_what_is_no_picture_is_told(tmp_path: Path) -> None:
    (tmp_path / "text.jpg").write_text("no picture")
    (tmp_path / "empty.png").touch()
    for name, message in [
        ("text.jpg", "is not an image"),
        ("empty.png", "is not an image"),
        ("gone.png", "There is no file"),
        (".", "folder"),
    ]:
        with pytest.raises(ImageError, match=message):
            load_image(tmp_path / name)


def test_half_a_file_is_told(tmp_path: Path) -> None:
    whole = picture(tmp_path / "x.jpg", (300, 300)).read_bytes()
    (tmp_path / "x.jpg").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ImageError, match="broken or incomplete"):
        load_image(tmp_path / "x.jpg")


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = picture(tmp_path / "x.png", (200, 200))
    monkeypatch.setattr("backend.datasets.images.MOST_PIXELS", 10_000)
    with pytest.raises(ImageError, match="pixels"):
        load_image(path)


def test_thumbnails_follow_the_picture(tmp_path: Path) -> None:
    path = picture(tmp_path / "x.png", (400, 100))
    first = cached_thumbnail(path, 80, tmp_path / "cache")
    assert cached_thumbnail(path, 80, tmp_path / "cache") == first
    assert len(list((tmp_path / "cache").iterdir())) == 1
    with Image.open(next((tmp_path / "cache").iterdir())) as small:
        assert small.size == (80, 20)
    Image.new("RGB", (400, 100), "red").save(path)
    assert cached_thumbnail(path, 80, tmp_path / "cache") != first
