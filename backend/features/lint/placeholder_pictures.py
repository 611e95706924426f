"""Pictures that are the same file under many names with different captions: what a site sends where
a picture is gone ("no longer available"), whose captions are all wrong."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path

from backend.datasets.cells import split_proof
from backend.datasets.safe_files.containers import (
    Member,
    file_of,
    locate,
    tar_position,
    with_proof,
)
from backend.errors import ImageError, UnsafePath
from backend.features.lint.queries import CaptionInUse

#: Names and captions of a placeholder. Five captions of a picture may lie beside five copies of it.
MANY = 10
#: The first rows, among which placeholders are looked for; all rows are compared with these.
_SAMPLE = 20_000


def pairs_of_placeholders(root: Path, rows: Callable[[], Iterable[CaptionInUse]]) -> frozenset[int]:
    """The ids of the pairs whose picture is a placeholder. `root`: of the dataset; `rows`: all its
    pairs, read once, and again if there is a placeholder. Files are read only where as many have
    the same size; pictures in containers that do not tell their size are not compared."""
    by_size: dict[int, dict[str, str]] = defaultdict(dict)
    for row in islice(rows(), _SAMPLE):
        by_size[_size(root, row.image_path)][row.image_path] = row.caption
    by_size.pop(0, None)
    placeholders: set[tuple[int, str]] = set()
    for size, captions in by_size.items():
        if len(captions) >= MANY:
            by_proof: dict[str, list[str]] = defaultdict(list)
            for name, caption in captions.items():
                by_proof[_proof(root, name)].append(caption)
            placeholders |= {
                (size, proof)
                for proof, same in by_proof.items()
                if proof and len(same) >= MANY and len(set(same)) >= MANY
            }
    if not placeholders:
        return frozenset()
    sizes = {size for size, _ in placeholders}
    return frozenset(
        row.id
        for row in rows()
        if (size := _size(root, row.image_path)) in sizes
        and (size, _proof(root, row.image_path)) in placeholders
    )


def _size(root: Path, name: str) -> int:
    """Bytes of the picture's file; 0: it is gone, or has to be read to say it."""
    try:
        image = locate(root, name)
        if not isinstance(image, Member):
            return file_of(image).stat().st_size
        _, size = tar_position(image.inner) or (0, 0)
        return size
    except (OSError, UnsafePath):
        return 0


def _proof(root: Path, name: str) -> str:
    """The hash of the picture's bytes; "": it cannot be read."""
    try:
        return split_proof(name)[1] or with_proof(locate(root, name)).proof
    except (OSError, UnsafePath, ImageError):
        return ""
