"""Open untrusted images, and make thumbnails of them.

`opened_image` is the only place where the app opens an image: of a dataset, an upload, a download.
Refused: files that are not images, broken ones, formats that need an external program,
*decompression bombs* (small files that decompress to gigabytes), anything but regular files, and
files that take too long to read. Normalised: EXIF rotation, palettes, transparency (on white), 16
bits.
"""

import hashlib
import io
import logging
import os
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from backend.datasets.cells import trim
from backend.datasets.read_options import UNREADABLE_PICTURES
from backend.datasets.safe_files.containers import ImageFile, Member, ProvedFile, file_of
from backend.datasets.safe_files.regular_files import NotRegular, TooSlow, open_regular
from backend.errors import ImageError

#: Larger images are refused; a scorer sees a few hundred pixels per side. Pillow itself refuses
#: images above twice its MAX_IMAGE_PIXELS, 178,956,970.
MOST_PIXELS = 178_000_000
#: … and larger files, which a decoder may need half a minute to reject.
MOST_BYTES = 250_000_000
#: … and those that take more seconds to read and decode.
MOST_SECONDS = 60.0
#: Formats used in datasets that Pillow itself can decode. Not EPS and similar ones, for which it
#: would run another program on an untrusted file.
_WANTED = (
    "JPEG", "MPO", "PNG", "WEBP", "GIF", "BMP", "DIB", "TIFF", "PPM", "AVIF", "JPEG2000", "ICO",
    "ICNS", "TGA", "PCX", "SGI", "DDS", "QOI", "PSD",
)  # fmt: skip
Image.init()
FORMATS = tuple(name for name in _WANTED if name in Image.OPEN)
# For broken files Pillow warns and then raises too; the error is reported, the warning is noise.
warnings.filterwarnings("ignore", module=r"PIL\b")
logging.getLogger("PIL").setLevel(logging.CRITICAL)


@dataclass(frozen=True)
class ImageLimits:
    """Limits for one image: pixels once decoded, bytes of its file, seconds to read it."""

    pixels: int = MOST_PIXELS
    bytes: int = MOST_BYTES
    seconds: float = MOST_SECONDS


def load_image(
    source: ImageFile | bytes, name: str = "", limits: ImageLimits | None = None
) -> Image.Image:
    """The image in RGB, upright. Raises ImageError with the reason. `name`: its name in messages,
    by default the file's."""
    with opened_image(source, name, limits) as image:
        return to_rgb(image)


def image_size(path: ImageFile) -> tuple[int, int]:
    """Width and height as displayed, read from the header only. Raises ImageError."""
    with opened_image(path) as image:
        width, height = image.size
        turned = image.getexif().get(0x0112, 1) in (5, 6, 7, 8)
    return (height, width) if turned else (width, height)


def check_image(source: ImageFile | bytes, name: str = "") -> None:
    """Raise ImageError unless the whole picture can be decoded. `name`: as in `load_image`."""
    with opened_image(source, name) as image:
        decode(image)


def check_imported(path: ImageFile) -> None:
    """Raise ImageError unless it is the picture that was imported, which could be decoded then.
    Without a proof it is decoded again."""
    if isinstance(path, Path) or not path.proof:
        return check_image(path)
    try:
        path.check() if isinstance(path, ProvedFile) else path.read()
    except OSError as problem:
        raise _refusal(problem, path.name, ImageLimits()) from problem


def decode(image: Image.Image) -> None:
    """Decode an opened image completely, using as little memory as possible."""
    # JPEG can decode at an eighth of its size: all bytes are read nevertheless.
    image.draft("RGB", (max(1, image.width // 8), max(1, image.height // 8)))
    image.load()


def to_rgb(image: Image.Image) -> Image.Image:
    """A copy in RGB, rotated according to EXIF, with transparency on white."""
    upright = ImageOps.exif_transpose(image)
    if upright.mode.startswith("I;16") or upright.mode in ("I", "F"):
        upright = _scale_to_8_bits(upright)
    if upright.mode in ("RGBA", "LA", "PA") or "transparency" in upright.info:
        rgba = upright.convert("RGBA")
        white = Image.new("RGBA", rgba.size, (255, 255, 255, 255))
        return Image.alpha_composite(white, rgba).convert("RGB")
    return upright.convert("RGB").copy()


def _scale_to_8_bits(image: Image.Image) -> Image.Image:
    """A picture of more than 8 bits in grey, from its darkest to its lightest value; what is not a
    number is black."""
    values = np.asarray(image).astype(np.float64)
    finite = np.isfinite(values)
    low, high = (values[finite].min(), values[finite].max()) if finite.any() else (0.0, 0.0)
    levels = (values - low) * 255 / max(high - low, 1.0 if image.mode != "F" else 1e-12)
    return Image.fromarray(np.where(finite, levels, 0).astype(np.uint8))


def cached_thumbnail(path: ImageFile, size: int, cache: Path) -> bytes:
    """A JPEG at most `size` pixels wide and high, cached in `cache` until the image changes.

    Raises ImageError as `load_image`.
    """
    try:
        status = file_of(path).stat()
    except OSError as problem:
        raise ImageError(f"'{path.name}' cannot be opened: {_reason(problem)}.") from problem
    name = path.resolve() if isinstance(path, Path) else repr(path)
    key = f"{name}|{status.st_mtime_ns}|{status.st_size}|{size}"
    cache_file = cache / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.jpg"
    if cache_file.exists():
        return cache_file.read_bytes()
    image = load_image(path)
    image.thumbnail((size, size), Image.Resampling.LANCZOS)
    cache.mkdir(parents=True, exist_ok=True)
    part = cache_file.with_suffix(f".{os.getpid()}.{id(image)}.part")
    image.save(part, "JPEG", quality=88, optimize=True)
    os.replace(part, cache_file)
    return cache_file.read_bytes()


class _TimedBytes(io.BytesIO):
    """In-memory bytes that can be read until a deadline; then raises TooSlow."""

    def __init__(self, data: bytes, seconds: float) -> None:
        super().__init__(data)
        self._deadline = time.monotonic() + seconds

    def read(self, size: int | None = -1) -> bytes:
        if time.monotonic() > self._deadline:
            raise TooSlow()
        return super().read(size)


@contextmanager
def opened_image(
    source: ImageFile | bytes, name: str = "", limits: ImageLimits | None = None
) -> Iterator[Image.Image]:
    """The opened image, not decoded yet. Errors in the block are raised as ImageError, with `name`
    or else the file's name.

    Decoders read in pieces, and each read checks the time limit.
    """
    name = name or ("the picture" if isinstance(source, bytes) else source.name)
    limits = limits or ImageLimits(MOST_PIXELS, MOST_BYTES, MOST_SECONDS)
    image, file = _open(source, name, limits)
    try:
        yield image
    except ImageError:
        raise
    except Exception as problem:  # decoders raise arbitrary exceptions on hostile files
        raise _refusal(problem, name, limits, "is broken or incomplete") from problem
    finally:
        image.close()
        file.close()


def _open(
    source: ImageFile | bytes, name: str, limits: ImageLimits
) -> tuple[Image.Image, BinaryIO | Any]:
    file: BinaryIO | Any = None
    try:
        file = _source(source, name, limits)
        image = Image.open(file, formats=FORMATS)
        if image.width * image.height > limits.pixels:
            raise ImageError(_too_many(name, limits))
    except BaseException as problem:
        if file is not None:
            file.close()
        raise _refusal(problem, name, limits) from problem
    return image, file


def _source(source: ImageFile | bytes, name: str, limits: ImageLimits) -> BinaryIO | Any:
    """The input of a decoder: a regular file, or bytes."""
    if isinstance(source, bytes | Member):
        data = source if isinstance(source, bytes) else source.read()
        file, size = _TimedBytes(data, limits.seconds), len(data)
    else:
        if isinstance(source, ProvedFile):
            source.check()
        is_resolved = isinstance(source, ProvedFile)
        file = open_regular(file_of(source), limits.seconds, is_resolved)
        size = os.fstat(file.fileno()).st_size
    if size > limits.bytes:
        file.close()
        raise ImageError(f"'{name}' is larger than {limits.bytes / 1e6:g} megabytes.")
    return file


def _refusal(
    problem: BaseException, name: str, limits: ImageLimits, otherwise: str = "cannot be opened"
) -> BaseException:
    """The error to raise if an image could not be opened or decoded. `otherwise`: what is said of a
    problem that has no message of its own."""
    if isinstance(problem, ImageError) or not isinstance(problem, Exception):
        return problem
    if isinstance(problem, FileNotFoundError):
        return ImageError(f"There is no file '{name}'.")
    if isinstance(problem, IsADirectoryError):
        return ImageError(f"'{name}' is a folder.")
    if isinstance(problem, NotRegular):
        return ImageError(f"'{name}' is not a regular file.")
    if isinstance(problem, TooSlow):
        return ImageError(f"'{name}' takes too long to read.")
    if isinstance(problem, MemoryError):
        return ImageError(f"'{name}' is too large for the available memory.")
    if isinstance(problem, UnidentifiedImageError) and name.lower().endswith(UNREADABLE_PICTURES):
        return ImageError(unreadable_picture(name))
    if isinstance(problem, UnidentifiedImageError):
        return ImageError(f"'{name}' is not an image.")
    if isinstance(problem, Image.DecompressionBombError):
        return ImageError(_too_many(name, limits))
    return ImageError(f"'{name}' {otherwise}: {_reason(problem)}.")


def _too_many(name: str, limits: ImageLimits) -> str:
    most = min(limits.pixels, MOST_PIXELS)
    amount = f"{most // 10**6} million" if most >= 10**6 else f"{most:,}"
    return f"'{name}' has more than {amount} pixels."


def _reason(problem: BaseException) -> str:
    text = getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
    return text.splitlines()[0][:160].rstrip(".")


def unreadable_picture(name: str) -> str:
    """What is wrong with a picture in a format that cannot be read."""
    kind = PurePosixPath(name).suffix[1:].upper()
    return f"'{trim(name)}' is in a format that cannot be read ({kind}): save it as JPEG or PNG."
