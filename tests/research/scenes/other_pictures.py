"""Pictures that no embedded model was trained on: those inside installed packages (photographs,
icons, figures), and generated ones of a dozen kinds."""

import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from backend.datasets.images import to_rgb

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


def natural_noise(rng: Random) -> Image.Image:
    """The spectrum of photographs, without their contents."""
    x, y = np.fft.fftfreq(256)[None, :], np.fft.fftfreq(256)[:, None]
    frequency = np.hypot(x, y)
    frequency[0, 0] = 1
    falling = frequency ** rng.uniform(0.8, 1.8)
    noise = [np.fft.ifft2(np.fft.fft2(rng.normal(size=(256, 256))) / falling).real
             for _ in range(3)]  # fmt: skip
    channels = [(part - part.mean()) / part.std() for part in noise]
    return _image(np.stack([120 + 45 * (0.8 * channels[0] + 0.3 * c) for c in channels], -1))


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


def chart(rng: Random) -> Image.Image:
    width, height = _size(rng)
    image = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(image)
    draw.line((20, 10, 20, height - 20, width - 10, height - 20), fill=(0, 0, 0), width=2)
    tops = rng.uniform(15, height - 25, int(rng.integers(4, 12)))
    step = (width - 40) / len(tops)
    for number, top in enumerate(tops):
        left = 25 + number * step
        draw.rectangle((left, top, left + 0.7 * step, height - 21), fill=_colour(rng))
    return image


def mosaic(rng: Random) -> Image.Image:
    side = int(rng.integers(4, 30))
    small = _image(rng.uniform(0, 255, (side, side, 3)))
    return small.resize((256, 256), Image.Resampling.NEAREST)


def rings(rng: Random) -> Image.Image:
    y, x = np.mgrid[:256, :256]
    left, top = rng.uniform(0, 256, 2)
    return _between(0.5 + 0.5 * np.sin(np.hypot(x - left, y - top) * rng.uniform(0.05, 0.5)), rng)


def stripes(rng: Random) -> Image.Image:
    y, x = np.mgrid[:256, :256]
    angle = rng.uniform(0, 3.1)
    bands = (x * np.cos(angle) + y * np.sin(angle)) // rng.uniform(5, 40)
    return _between(bands % 2, rng)


def blobs(rng: Random) -> Image.Image:
    width, height = _size(rng)
    image = Image.new("RGB", (width, height), _colour(rng))
    draw = ImageDraw.Draw(image)
    for _ in range(int(rng.integers(5, 60))):
        x, y, radius = rng.uniform(0, width), rng.uniform(0, height), rng.uniform(4, width / 5)
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=_colour(rng))
    return image.filter(ImageFilter.GaussianBlur(rng.uniform(0, 6)))


def fractal(rng: Random) -> Image.Image:
    y, x = np.mgrid[:192, :192] / 192 - 0.5
    wide = rng.uniform(0.05, 1.5)
    start = rng.uniform(-0.8, 0.3) + x * wide + 1j * (rng.uniform(-0.6, 0.6) + y * wide)
    value, count = np.zeros_like(start), np.zeros(start.shape)
    for _ in range(40):
        inside = abs(value) < 2
        value[inside] = value[inside] ** 2 + start[inside]
        count += inside
    return _image(np.stack([count * 6, count * 3 + 30, 255 - count * 5], -1))


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


def cells(rng: Random) -> Image.Image:
    points = rng.uniform(0, 192, (int(rng.integers(10, 60)), 2))
    colours = rng.uniform(0, 255, (len(points), 3))
    y, x = np.mgrid[:192, :192]
    distances = (x[..., None] - points[:, 0]) ** 2 + (y[..., None] - points[:, 1]) ** 2
    return _image(colours[distances.argmin(-1)])


KINDS: tuple[Callable[[Random], Image.Image], ...] = (
    white_noise, natural_noise, gradient, page_of_text, chart, mosaic, rings, stripes, blobs,
    fractal, screenshot, cells,
)  # fmt: skip
