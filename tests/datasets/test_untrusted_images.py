"""Files and bytes that claim to be images: refused with a clear message and in time."""

import ast
import io
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from backend.datasets.containers import file_of
from backend.datasets.images import (
    ImageLimits,
    cached_thumbnail,
    check_image,
    image_size,
    load_image,
    opened_image,
)
from backend.datasets.reading import read_dataset
from backend.datasets.regular_files import RegularFile
from backend.datasets.shard_writing import image_and_ending
from backend.errors import ExportError, ImageError
from tests.datasets.folders import image_folder, picture
from tests.tree import ROOT, modules

EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n(%pipe%id) (r) file\n"


def a_fifo(path: Path) -> None:
    os.mkfifo(path)


def a_socket(path: Path) -> None:
    made = socket.socket(socket.AF_UNIX)
    made.bind(str(path))
    made.close()


def a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


SPECIAL = [a_fifo, a_socket, a_device]


@pytest.mark.parametrize("make", SPECIAL)
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


def test_a_fifo_among_the_images_costs_only_its_row(tmp_path: Path) -> None:
    rows = [{"file_name": name, "caption": "A dog."} for name in ("a.png", "pipe.png", "b.png")]
    folder = image_folder(tmp_path / "pairs", rows, ("a.png", "b.png"))
    os.mkfifo(folder / "pipe.png")
    dataset = read_dataset(folder)
    assert [file_of(pair.image_path) for pair in dataset] == [folder / "a.png", folder / "b.png"]
    (problem,) = dataset.problems
    assert problem.row == 2
    assert "not a regular file" in problem.message


def test_a_file_replaced_by_a_fifo_after_stat_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = picture(tmp_path / "x.png")
    looked_at = path.stat()
    path.unlink()
    os.mkfifo(path)
    monkeypatch.setattr(Path, "stat", lambda *_, **__: looked_at)
    with pytest.raises(ImageError, match="not a regular file"):
        load_image(path)


@pytest.mark.parametrize(
    ("data", "message"),
    [(EPS, "is not an image"), (b"words", "is not an image"), (b"", "is not an image")],
)
def test_bytes_are_checked_like_files(data: bytes, message: str) -> None:
    with pytest.raises(ImageError, match=f"the picture.*{message}"), opened_image(data):
        raise AssertionError("it was opened")


def encoded(size: tuple[int, int], kind: str = "PNG") -> bytes:
    into = io.BytesIO()
    Image.new("RGB", size, "red").save(into, kind)
    return into.getvalue()


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
    (tmp_path / "x.png").write_bytes(data)
    for source in (data, tmp_path / "x.png"):
        with pytest.raises(ImageError, match=message), opened_image(source, limits=limits) as image:
            image.load()
        with opened_image(source) as image:
            assert image.size == (100, 100)


def test_a_slow_disk_times_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.bmp"
    Image.effect_noise((600, 600), 90).save(path)  # many blocks
    plain = RegularFile.readinto
    reads = []

    def slow(self: RegularFile, buffer: bytearray) -> int | None:
        reads.append(len(buffer))
        time.sleep(0.05)
        return plain(self, buffer)

    monkeypatch.setattr(RegularFile, "readinto", slow)
    with (
        pytest.raises(ImageError, match="too long"),
        opened_image(path, limits=ImageLimits(seconds=0.1)) as image,
    ):
        image.load()
    assert len(reads) <= 4, "two of them take all the time"


def test_pillows_own_pixel_limit_is_reported_the_same_way() -> None:
    with pytest.raises(ImageError, match="more than 178 million pixels"):  # noqa: SIM117
        with opened_image(encoded((14_000, 14_000))):
            pass


def test_images_are_opened_in_one_place() -> None:
    opening = {
        f"{module}:{getattr(node, 'lineno', '?')}"
        for module, path in modules(ROOT)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if opens_an_image(node)
    }
    assert len(opening) == 1, opening
    assert opening.pop().startswith("backend.datasets.images:")


def opens_an_image(node: ast.AST) -> bool:
    """`Image.open`, `PIL.Image.open`, an import of it, or a component that calls it."""
    if isinstance(node, ast.ImportFrom):
        return node.module == "PIL.Image" and any(name.name == "open" for name in node.names)
    if isinstance(node, ast.keyword):
        return node.arg == "type" and getattr(node.value, "value", None) == "pil"
    if not isinstance(node, ast.Attribute) or node.attr != "open":
        return False
    return ast.unparse(node.value) in ("Image", "PIL.Image", "PILImage")
