"""Opening pictures of strangers, and small copies of them.

What is refused: files that are no pictures, broken ones, formats that only another program can
draw, and *decompression bombs*, small files that unpack into gigabytes. What is put right: EXIF
rotation, palettes, transparency (on white), 16 bits.
"""

import hashlib
import io
import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image, ImageOps, UnidentifiedImageError

from backend.datasets.containers import ImageFile, file_of
from backend.errors import ImageError

#: Larger pictures are refused; a scorer sees a few hundred pixels a side.
MOST_PIXELS = 200_000_000
#: … and larger files, which take a decoder half a minute to find out that they are nothing.
MOST_BYTES = 250_000_000
#: What Pillow itself can decode and datasets hold. Not EPS and its like, for which it would start
#: another program on a stranger's file.
_WANTED = (
    "JPEG", "MPO", "PNG", "WEBP", "GIF", "BMP", "DIB", "TIFF", "PPM", "AVIF", "JPEG2000", "ICO",
    "ICNS", "TGA", "PCX", "SGI", "DDS", "QOI", "PSD",
)  # fmt: skip
Image.init()
FORMATS = tuple(name for name in _WANTED if name in Image.OPEN)
# Of broken files Pillow warns and then raises as well; the second is told, the first is noise.
warnings.filterwarnings("ignore", module=r"PIL\b")
logging.getLogger("PIL").setLevel(logging.CRITICAL)


def load_image(path: ImageFile) -> Image.Image:
    """The picture, RGB, upright. Raises ImageError saying what is wrong with the file."""
    with _decoding(path) as image:
        return to_rgb(image)


def image_size(path: ImageFile) -> tuple[int, int]:
    """Width and height as it is shown, from the header alone. Raises ImageError."""
    with _decoding(path) as image:
        width, height = image.size
        turned = image.getexif().get(0x0112, 1) in (5, 6, 7, 8)
    return (height, width) if turned else (width, height)


def check_image(path: ImageFile) -> None:
    """Raise ImageError unless the whole picture can be decoded."""
    with _decoding(path) as image:
        # JPEG decodes at an eighth of its size where it can: all bytes are read all the same.
        image.draft("RGB", (max(1, image.width // 8), max(1, image.height // 8)))
        image.load()


def to_rgb(image: Image.Image) -> Image.Image:
    """A copy in RGB, turned as its EXIF says, transparency on white."""
    upright = ImageOps.exif_transpose(image)
    if upright.mode in ("I;16", "I", "F"):
        low, high = upright.getextrema()
        span = max(1.0, float(high) - float(low))  # type: ignore[arg-type]
        upright = upright.convert("F").point(lambda v: (v - float(low)) * 255 / span).convert("L")  # type: ignore[arg-type]
    if upright.mode in ("RGBA", "LA", "PA") or "transparency" in upright.info:
        rgba = upright.convert("RGBA")
        white = Image.new("RGBA", rgba.size, (255, 255, 255, 255))
        return Image.alpha_composite(white, rgba).convert("RGB")
    return upright.convert("RGB").copy()


def cached_thumbnail(path: ImageFile, size: int, cache: Path) -> bytes:
    """A JPEG at most `size` pixels wide and high, kept in `cache` until the picture changes.

    Raises ImageError as `load_image`.
    """
    try:
        status = file_of(path).stat()
    except OSError as problem:
        raise ImageError(f"'{path.name}' cannot be opened: {_reason(problem)}.") from problem
    name = path.resolve() if isinstance(path, Path) else path
    key = f"{name}|{status.st_mtime_ns}|{status.st_size}|{size}"
    kept = cache / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.jpg"
    if kept.exists():
        return kept.read_bytes()
    image = load_image(path)
    image.thumbnail((size, size), Image.Resampling.LANCZOS)
    cache.mkdir(parents=True, exist_ok=True)
    part = kept.with_suffix(f".{os.getpid()}.{id(image)}.part")
    image.save(part, "JPEG", quality=88, optimize=True)
    os.replace(part, kept)
    return kept.read_bytes()


@contextmanager
def _decoding(path: ImageFile) -> Iterator[Image.Image]:
    """The opened picture; whatever goes wrong with it from here on is an ImageError."""
    image = _open(path)
    try:
        yield image
    except MemoryError as problem:
        raise ImageError(f"'{path.name}' is too large for the memory there is.") from problem
    except Image.DecompressionBombError as problem:
        raise ImageError(f"'{path.name}' unpacks into too many pixels.") from problem
    except Exception as problem:  # decoders raise all sorts of things on hostile files
        raise ImageError(f"'{path.name}' is broken or incomplete: {_reason(problem)}.") from problem
    finally:
        image.close()


def _open(path: ImageFile) -> Image.Image:
    try:
        if isinstance(path, Path) and path.stat().st_size > MOST_BYTES:
            raise ImageError(f"'{path.name}' is larger than {MOST_BYTES // 10**6} megabytes.")
        source = path if isinstance(path, Path) else io.BytesIO(path.read())
        image = Image.open(source, formats=FORMATS)
    except ImageError:
        raise
    except FileNotFoundError as problem:
        raise ImageError(f"There is no file '{path.name}'.") from problem
    except IsADirectoryError as problem:
        raise ImageError(f"'{path.name}' is a folder.") from problem
    except UnidentifiedImageError as problem:
        raise ImageError(f"'{path.name}' is not an image.") from problem
    except Image.DecompressionBombError as problem:
        raise ImageError(f"'{path.name}' unpacks into too many pixels.") from problem
    except Exception as problem:  # as above
        raise ImageError(f"'{path.name}' cannot be opened: {_reason(problem)}.") from problem
    if image.width * image.height > MOST_PIXELS:
        image.close()
        raise ImageError(f"'{path.name}' has more than {MOST_PIXELS // 10**6} million pixels.")
    return image


def _reason(problem: BaseException) -> str:
    text = getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
    return text.splitlines()[0][:160].rstrip(".")
