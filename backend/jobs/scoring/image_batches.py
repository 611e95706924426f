"""Images of many pairs, decoded ahead of the model and encoded once each."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Protocol, TypeVar

from PIL import Image

from backend.datasets.cells import split_proof
from backend.datasets.safe_files.containers import locate
from backend.datasets.safe_files.daemon_pool import DaemonPool, result_of
from backend.datasets.safe_files.images import load_image
from backend.engine.scoring.protocol import ImageState
from backend.engine.threads import picture_threads
from backend.errors import ImageError, UnsafePath
from backend.loaded_models import Engine


class HasImage(Protocol):
    @property
    def image_path(self) -> str: ...


Q = TypeVar("Q", bound=HasImage)


def open_picture(root: Path, name: str) -> Image.Image | str:
    """The image, or a message if it cannot be read. Its `info` has the picture's metadata, as
    Pillow reads them, and its name in the dataset as `file_name`, for scorers that use them."""
    try:
        image = load_image(locate(root, name))
        image.info["file_name"] = split_proof(name)[0]
        return image
    except (ImageError, UnsafePath) as problem:
        return str(problem)
    except OSError as problem:
        return f"'{split_proof(name)[0]}' cannot be opened: {problem.strerror or problem}."


def open_ahead(
    root: Path,
    batches: Iterable[Sequence[Q]],
    reduce: Callable[[Image.Image], Any] | None = None,
) -> Iterator[tuple[Sequence[Q], dict[str, Any]]]:
    """(pairs, their pictures by name), batch by batch; a message for one that cannot be read.

    While a batch is processed, the pictures of the next one are decoded, so the model never waits.
    By threads: decoding lets others run, and what another process decodes has to be copied here.
    `reduce`: what takes the place of each image.
    """

    def open_one(name: str) -> Any:
        picture = open_picture(root, name)
        return picture if reduce is None or isinstance(picture, str) else reduce(picture)

    with DaemonPool(picture_threads()) as pool:
        waiting: deque[tuple[Sequence[Q], dict[str, Future[Any]]]] = deque()
        for batch in batches:
            names = dict.fromkeys(pair.image_path for pair in batch)
            waiting.append((batch, {name: pool.submit(open_one, name) for name in names}))
            if len(waiting) > 1:
                yield _open_batch(*waiting.popleft())
        while waiting:
            yield _open_batch(*waiting.popleft())


def _open_batch(
    batch: Sequence[Q], futures: dict[str, Future[Any]]
) -> tuple[Sequence[Q], dict[str, Any]]:
    return batch, {name: result_of(future) for name, future in futures.items()}


def open_pictures(root: Path, names: Sequence[str]) -> dict[str, Image.Image | str]:
    """Each distinct name with its image, or with the reason why it cannot be read."""
    distinct = list(dict.fromkeys(names))
    with DaemonPool(picture_threads()) as pool:
        pictures = pool.map(lambda name: open_picture(root, name), distinct)
    return dict(zip(distinct, pictures, strict=True))


def encode_opened(
    engine: Engine, pictures: Mapping[str, Any]
) -> tuple[dict[str, ImageState], dict[str, str]]:
    """States of the readable images by name, and error messages for the others."""
    images = {n: image for n, image in pictures.items() if not isinstance(image, str)}
    problems = {n: message for n, message in pictures.items() if isinstance(message, str)}
    states = engine.encode(list(images.values())) if images else []
    return dict(zip(images, states, strict=True)), problems


def readable(
    batch: Sequence[Q], pictures: Mapping[str, Image.Image | str]
) -> list[tuple[Q, Image.Image]]:
    """Those of the pairs whose picture could be opened, each with it."""
    return [
        (pair, image)
        for pair in batch
        if isinstance(image := pictures[pair.image_path], Image.Image)
    ]
