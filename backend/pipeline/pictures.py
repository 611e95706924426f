"""Images of many pairs, decoded ahead of the model and encoded once each."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from PIL import Image

from backend.datasets.images import load_image
from backend.engine import Engine
from backend.errors import ImageError, UnsafePath
from backend.scoring.protocol import ImageState

#: Pictures decoded together; more only costs memory.
_WORKERS = 4


def inside(root: Path, relative: str) -> Path:
    """`relative` below `root`, or UnsafePath if it leads out of it, by links too."""
    path = (root / relative).resolve()
    if not path.is_relative_to(root.resolve()):
        raise UnsafePath(f"'{relative}' leads out of {root}. It is not opened.")
    return path


def open_images(root: Path, names: Sequence[str]) -> Iterator[tuple[str, Image.Image | str]]:
    """(name, image) for each name, in order; a message in place of an image that cannot be read."""

    def opened(name: str) -> Image.Image | str:
        try:
            return load_image(inside(root, name))
        except (ImageError, UnsafePath) as problem:
            return str(problem)
        except OSError as problem:
            return f"'{name}' cannot be opened: {problem.strerror or problem}."

    with ThreadPoolExecutor(_WORKERS) as pool:
        yield from zip(names, pool.map(opened, names), strict=True)


def encode_images(
    engine: Engine, root: Path, names: Sequence[str]
) -> tuple[dict[str, ImageState], dict[str, str]]:
    """States of the readable images by name, and what is wrong with the others.

    Equal names are opened and encoded once.
    """
    images: dict[str, Image.Image] = {}
    problems: dict[str, str] = {}
    for name, opened in open_images(root, list(dict.fromkeys(names))):
        if isinstance(opened, str):
            problems[name] = opened
        else:
            images[name] = opened
    states = engine.encode(list(images.values())) if images else []
    return dict(zip(images, states, strict=True)), problems
