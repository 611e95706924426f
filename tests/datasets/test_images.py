"""Loading of untrusted pictures."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from backend.datasets.images import cached_thumbnail, image_size, load_image
from backend.errors import ImageError
from tests.datasets.folders import picture
from tests.fixtures.sizes import Sizes


@pytest.mark.parametrize("mode", ["RGB", "L", "P", "RGBA", "LA", "1", "I;16"])
def test_every_mode_is_converted_to_rgb(tmp_path: Path, mode: str) -> None:
    path = picture(tmp_path / "x.png", mode=mode)
    image = load_image(path)
    assert (image.mode, image.size) == ("RGB", (20, 10))


@pytest.mark.parametrize("kind", [">u2", "<u2", "<i4", "<f4"])
def test_grey_of_more_than_8_bits_is_scaled(tmp_path: Path, kind: str) -> None:
    """From its darkest to its lightest value, whatever the order of its bytes; a value that is no
    number makes nothing else black."""
    values = np.linspace(100, 900, 200).reshape(10, 20).astype(kind)
    if kind == "<f4":
        values[0, 1], values[0, 2] = np.nan, np.inf
    Image.fromarray(values).save(tmp_path / "x.tif")
    grey = np.asarray(load_image(tmp_path / "x.tif"))[..., 0]
    assert (grey[0, 0], grey[-1, -1]) == (0, 255)
    assert abs(int(grey[5, 0]) - 128) < 3
    assert kind != "<f4" or (grey[0, 1], grey[0, 2]) == (0, 0)


def test_transparent_pixels_become_white(tmp_path: Path) -> None:
    path = picture(tmp_path / "x.png", mode="RGBA")
    assert load_image(path).getpixel((3, 3)) == (255, 255, 255)


def test_exif_rotation_is_applied(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (20, 10)).save(tmp_path / "x.jpg", exif=exif)
    assert load_image(tmp_path / "x.jpg").size == (10, 20) == image_size(tmp_path / "x.jpg")


def test_files_that_are_not_images_are_reported(tmp_path: Path) -> None:
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


@pytest.mark.parametrize("size", [(1, 30_000), (30_000, 1), (1, 1)])
def test_very_thin_pictures_keep_their_size(tmp_path: Path, size: tuple[int, int]) -> None:
    path = picture(tmp_path / "x.png", size)
    assert load_image(path).size == size == image_size(path)
    assert cached_thumbnail(path, 160, tmp_path / "cache").startswith(b"\xff\xd8")


def test_the_first_frame_of_an_animation_is_used(tmp_path: Path) -> None:
    frames = [Image.new("P", (20, 10), colour) for colour in range(4)]
    frames[0].save(tmp_path / "x.gif", save_all=True, append_images=frames[1:])
    assert load_image(tmp_path / "x.gif").size == (20, 10)


def test_a_cmyk_jpeg_with_another_extension_is_read(tmp_path: Path) -> None:
    Image.new("CMYK", (20, 10), (0, 255, 255, 0)).save(tmp_path / "x.jpg")
    (tmp_path / "x.jpg").rename(tmp_path / "x.png")
    red, green, _ = load_image(tmp_path / "x.png").getpixel((3, 3))  # pyrefly: ignore[not-iterable]
    assert red > 200 > 100 > green


def test_a_file_of_half_a_gigabyte_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "x.jpg").open("wb") as file:
        file.write(b"\xff\xd8\xff\xe0" + bytes(range(256)) * 64)
        file.truncate(500_000_000)
    with pytest.raises(ImageError, match=r"x\.jpg.*megabytes"):
        load_image(tmp_path / "x.jpg")


def test_eps_files_are_refused_so_that_no_other_program_runs(tmp_path: Path) -> None:
    (tmp_path / "x.eps").write_text(
        "%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n(%pipe%id) (r) file\n"
    )
    with pytest.raises(ImageError, match=r"\(EPS\)"):
        load_image(tmp_path / "x.eps")


def test_a_truncated_file_is_reported(tmp_path: Path) -> None:
    whole = picture(tmp_path / "x.jpg", (300, 300)).read_bytes()
    (tmp_path / "x.jpg").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ImageError, match="broken or incomplete"):
        load_image(tmp_path / "x.jpg")


def test_a_decompression_bomb_is_refused(tmp_path: Path, sizes: Sizes) -> None:
    path = picture(tmp_path / "x.png", (200, 200))
    sizes(MOST_PIXELS=10_000)
    with pytest.raises(ImageError, match="pixels"):
        load_image(path)


def test_thumbnails_are_cached_until_the_picture_changes(tmp_path: Path) -> None:
    path = picture(tmp_path / "x.png", (400, 100))
    first = cached_thumbnail(path, 80, tmp_path / "cache")
    assert cached_thumbnail(path, 80, tmp_path / "cache") == first
    assert len(list((tmp_path / "cache").iterdir())) == 1
    with Image.open(next((tmp_path / "cache").iterdir())) as small:
        assert small.size == (80, 20)
    Image.new("RGB", (400, 100), "red").save(path)
    assert cached_thumbnail(path, 80, tmp_path / "cache") != first
