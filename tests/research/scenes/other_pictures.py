"""Pictures that no embedded model was trained on: those inside installed packages (photographs,
icons, figures), and generated ones of six kinds."""

import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from backend.datasets.safe_files.images import to_rgb

SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")
Random = np.random.Generator


def of_packages() -> Iterator[tuple[str, Image.Image]]:
    """(path, picture) of every picture in the installed packages that is at least 16 pixels."""
    folder = Path(sysconfig.get_paths()["purelib"])
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() not in SUFFIXES or not path.is_file():
            continue
        try:
            image = to_rgb(Image.open(path))
        except OSError:
            continue  # broken on purpose, for that package's own tests
        if min(image.size) >= 16:
            yield str(path.relative_to(folder)), image


def generated(seed: int, count: int) -> list[tuple[str, Image.Image]]:
    """(kind, picture): each kind in turn."""
    rng = np.random.default_rng(seed)
    kinds = [KINDS[number % len(KINDS)] for number in range(count)]
    return [(make.__name__, make(rng)) for make in kinds]


def _image(pixels: np.ndarray) -> Image.Image:
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def _colour(rng: Random) -> tuple[int, int, int]:
    red, green, blue = (int(value) for value in rng.integers(0, 256, 3))
    return red, green, blue


def _size(rng: Random) -> tuple[int, int]:
    return int(rng.integers(120, 480)), int(rng.integers(120, 480))


def _between(share: np.ndarray, rng: Random) -> Image.Image:
    """Two colours, mixed as `share` [height, width] says."""
    first, second = rng.uniform(0, 255, (2, 3))
    return _image(first + (second - first) * share[..., None])


def white_noise(rng: Random) -> Image.Image:
    width, height = _size(rng)
    return _image(rng.normal(128, 60, (height, width, 3)))


def gradient(rng: Random) -> Image.Image:
    width, height = _size(rng)
    y, x = np.mgrid[:height, :width]
    angle = rng.uniform(0, 6.3)
    ramp = np.cos(angle) * x / width + np.sin(angle) * y / height
    return _between((ramp - ramp.min()) / np.ptp(ramp), rng)


def page_of_text(rng: Random) -> Image.Image:
    width, height = _size(rng)
    image = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(image)
    words = ["the", "error", "is", "in", "third", "line", "what", "was", "written", "there"]
    for top in range(8, height - 10, 14):
        draw.text((8, top), " ".join(rng.choice(words, size=width // 40)), fill=(20, 20, 20))
    return image


def mosaic(rng: Random) -> Image.Image:
    side = int(rng.integers(4, 30))
    small = _image(rng.uniform(0, 255, (side, side, 3)))
    return small.resize((256, 256), Image.Resampling.NEAREST)


def stripes(rng: Random) -> Image.Image:
    y, x = np.mgrid[:256, :256]
    angle = rng.uniform(0, 3.1)
    bands = (x * np.cos(angle) + y * np.sin(angle)) // rng.uniform(5, 40)
    return _between(bands % 2, rng)


def screenshot(rng: Random) -> Image.Image:
    image = Image.new("RGB", (400, 300), (240, 240, 244))
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, 400, 28), fill=_colour(rng))
    for _ in range(int(rng.integers(3, 9))):
        left, top = int(rng.integers(0, 340)), int(rng.integers(34, 270))
        box = (left, top, left + int(rng.integers(40, 200)), top + int(rng.integers(14, 80)))
        draw.rounded_rectangle(box, 5, fill="white", outline=(180, 180, 180))
        draw.text((left + 5, top + 3), "Settings", fill=(30, 30, 30))
    return image


KINDS: tuple[Callable[[Random], Image.Image], ...] = (
    white_noise, gradient, page_of_text, mosaic, stripes, screenshot,
)  # fmt: skip
