"""Pictures from anywhere: shown in RGB, or refused with a clear message and in time."""

import os
import socket
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from backend.datasets.safe_files.images import (
    ImageLimits,
    cached_thumbnail,
    check_image,
    image_size,
    load_image,
    opened_image,
)
from backend.datasets.writing.shard_writing import image_and_ending
from backend.errors import ExportError, ImageError
from tests.datasets.folders import encoded, picture, write
from tests.tree import ROOT, modules

#: Pillow would start another program for it.
EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n(%pipe%id) (r) file\n"


@pytest.mark.parametrize("mode", ["RGB", "L", "P", "RGBA", "LA", "1", "I;16"])
def test_every_mode_is_converted_to_rgb(tmp_path: Path, mode: str) -> None:
    image = load_image(picture(tmp_path / "x.png", mode=mode))
    assert (image.mode, image.size) == ("RGB", (20, 10))
    if mode in ("RGBA", "LA"):
        assert image.getpixel((3, 3)) == (255, 255, 255), "what is transparent is white"


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


def test_exif_rotation_is_applied(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (20, 10)).save(tmp_path / "x.jpg", exif=exif)
    assert load_image(tmp_path / "x.jpg").size == (10, 20) == image_size(tmp_path / "x.jpg")


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


def test_thumbnails_are_cached_until_the_picture_changes(tmp_path: Path) -> None:
    path = picture(tmp_path / "x.png", (400, 100))
    first = cached_thumbnail(path, 80, tmp_path / "cache")
    assert cached_thumbnail(path, 80, tmp_path / "cache") == first
    (file,) = (tmp_path / "cache").iterdir()
    assert image_size(file) == (80, 20)
    Image.new("RGB", (400, 100), "red").save(path)
    assert cached_thumbnail(path, 80, tmp_path / "cache") != first


def test_files_that_are_not_images_are_reported(tmp_path: Path) -> None:
    half = encoded((300, 300), format="JPEG")
    for name, content, message in (
        ("text.jpg", b"no picture", "is not an image"),
        ("empty.png", b"", "is not an image"),
        ("x.eps", EPS, r"\(EPS\)"),
        ("x.jpg", half[: len(half) // 2], "broken or incomplete"),
    ):
        with pytest.raises(ImageError, match=message):
            load_image(write(tmp_path / name, content))
    for data in (EPS, b"words", b""):
        with pytest.raises(ImageError, match="the picture' is not an image"):
            load_image(data)
    for name, message in (("gone.png", "There is no file"), (".", "folder")):
        with pytest.raises(ImageError, match=message):
            load_image(tmp_path / name)


def a_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))


@pytest.mark.parametrize("make", [os.mkfifo, a_socket, lambda path: path.symlink_to("/dev/zero")])
def test_only_regular_files_are_opened(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "x.jpg"
    make(path)
    for use in (load_image, image_size, check_image):
        with pytest.raises(ImageError, match=r"x\.jpg.*not a regular file"):
            use(path)
    with pytest.raises(ImageError, match="not a regular file"):
        cached_thumbnail(path, 104, tmp_path / "cache")
    with pytest.raises(ExportError, match="not a regular file"):
        image_and_ending(path)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (ImageLimits(pixels=99 * 100), "pixels"),
        (ImageLimits(bytes=10), "larger than"),
        (ImageLimits(seconds=-1), "too long"),
    ],
)
def test_pixels_bytes_and_seconds_are_limited(
    tmp_path: Path, limits: ImageLimits, message: str
) -> None:
    data = encoded((100, 100))
    for source in (data, write(tmp_path / "x.png", data)):
        with pytest.raises(ImageError, match=message):
            load_image(source, limits=limits)
        with opened_image(source) as image:
            assert image.size == (100, 100)


def test_bombs_are_refused_by_their_header_or_size(tmp_path: Path) -> None:
    small = encoded((1, 1))
    declared = b"IHDR" + struct.pack(">II", 14_000, 14_000) + small[24:29]
    bomb = small[:12] + declared + struct.pack(">I", zlib.crc32(declared)) + small[33:]
    with pytest.raises(ImageError, match="more than 178 million pixels"):
        load_image(bomb)
    with (tmp_path / "x.jpg").open("wb") as file:
        file.write(b"\xff\xd8\xff\xe0" + bytes(range(256)) * 64)
        file.truncate(500_000_000)  # a hole, which takes no disk space
    with pytest.raises(ImageError, match=r"x\.jpg.*megabytes"):
        load_image(tmp_path / "x.jpg")


def test_no_component_opens_an_uploaded_picture_itself() -> None:
    pages = [path for name, path in modules(ROOT) if name.startswith("traced_ui")]
    assert pages
    assert not [path for path in pages if 'type="pil"' in path.read_text("utf-8")]
