"""The images of an export: their bytes, and names that no loader misinterprets.

Hugging Face's loaders infer splits from folder names (`test`, `train2014`, `my-eval`) and skip
hidden ones (`.x`, `__x`). An image's own path must not trigger either, so a tilde is put before
such words (`images/~test/a.jpg`). Bytes are never changed.
"""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Literal

from backend.datasets.containers import ImageFile, Member, ProvedFile, file_of
from backend.datasets.regular_files import LeadsOut, NotRegular, open_regular, read_regular
from backend.errors import ExportError

#: The split of pairs that have none; Hugging Face's default.
UNNAMED = "train"
#: Words that its loaders interpret as a split if delimited by the characters of `_SAYS_SPLIT`.
_SPLIT_WORDS = (
    "training|train|validation|valid|dev|val|testing|test|evaluation|eval"  # longest first
)
_IS_SPLIT = re.compile(_SPLIT_WORDS)
_SAYS_SPLIT = re.compile(rf"(?:^|(?<=[-._ 0-9]))(?=(?:{_SPLIT_WORDS})(?:[-._ 0-9]|$))")
_IS_HIDDEN = re.compile(r"^(?=\.|__)")
#: The position that precedes the name of a tar member (`containers.tar_member`).
_TAR_PLACE = re.compile(r"\d+\+\d+/")
_ROW = re.compile(r"(\d+)/.*")
_LONGEST = 200
Plain = Literal["nothing", "file", "path"]
#: Magic bytes of each image format and its file extensions, the usual one first.
_KINDS: tuple[tuple[re.Pattern[bytes], tuple[str, ...]], ...] = (
    (re.compile(rb"\xff\xd8\xff"), (".jpg", ".jpeg", ".jpe", ".jfif")),
    (re.compile(rb"\x89PNG\r\n\x1a\n"), (".png", ".apng")),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), (".webp",)),
    (re.compile(rb"GIF8[79]a"), (".gif",)),
    (re.compile(rb"BM"), (".bmp", ".dib")),
    (re.compile(rb"II\*\0|MM\0\*"), (".tiff", ".tif")),
    (re.compile(rb"P[1-6]\s"), (".ppm", ".pgm", ".pbm", ".pnm")),
    (re.compile(rb"....ftyp(?:avif|avis)", re.DOTALL), (".avif",)),
)
#: Extensions by Pillow's format names, for images without an extension.
ENDING_OF = {
    "JPEG": ".jpg", "PNG": ".png", "WEBP": ".webp", "GIF": ".gif", "BMP": ".bmp",
    "TIFF": ".tiff", "PPM": ".ppm", "AVIF": ".avif",
}  # fmt: skip
_ENDINGS = frozenset(ending for _, endings in _KINDS for ending in endings)


def image_and_ending(image: ImageFile) -> tuple[bytes, str]:
    """The image's bytes and file extension: its own, unless the bytes are of another format. Raises
    ExportError if the image is missing or no longer a regular file, and ImageError if its bytes
    are not those that were imported."""
    with _refused(image.name):
        data = read_regular(image, is_resolved=True) if isinstance(image, Path) else image.read()
    ending = Path(image.name).suffix.lower()
    for beginning, endings in _KINDS:
        if beginning.match(data):
            return data, ending if ending in endings else endings[0]
    return data, ending if ending in _ENDINGS else ".img"


@contextmanager
def _refused(name: str) -> Iterator[None]:
    """Raise ExportError if an image that is read in the block is missing or no regular file."""
    try:
        yield
    except FileNotFoundError as problem:
        raise ExportError(f"The image '{name}' is gone. Nothing was kept.") from problem
    except (NotRegular, LeadsOut) as problem:
        raise ExportError(
            f"The image '{name}' is not a regular file. Nothing was kept."
        ) from problem


def split_name(split: str | None) -> str:
    """A split as part of a file name; `UNNAMED` if no usable character is left.

    >>> split_name(None), split_name("Test"), split_name("my split"), split_name("__x")
    ('train', 'test', 'mysplit', 'x')
    """
    plain = "".join(c for c in split or "" if c.isalnum() or c == "_").strip("_")[:80]
    return plain.lower() if _IS_SPLIT.fullmatch(plain.lower()) else plain or UNNAMED


def is_known_split(name: str) -> bool:
    """Whether Hugging Face's loaders interpret a folder of this name as a split."""
    return _SAYS_SPLIT.search(name) is not None


class ImageCopies:
    """Copies images below a folder, with names that are unique on any file system.

    Raises ExportError for an image that is missing or outside `root`, and ImageError for one that
    is not as it was imported.
    """

    def __init__(self, part: Path, root: Path) -> None:
        self._part, self._root = part, root
        self._names: dict[tuple[str, ImageFile], str] = {}
        self._taken: set[str] = set()

    def once(self, image: ImageFile, folder: str, may_say_split: Plain = "nothing") -> str:
        """The path of the copy relative to the export; the copy is made at the first call. The
        image's folders are kept. `may_say_split`: which part of its path may name a split."""
        key = (folder, image)
        if key not in self._names:
            parts, data = self._parts(image)
            head, last = parts[:-1], parts[-1]
            if may_say_split != "path":
                head = [_neutral(part) for part in head]
                last = _neutral(last) if may_say_split == "nothing" else _IS_HIDDEN.sub("~", last)
            name = self._free(PurePosixPath(folder, *head), last, by_stem=False)
            self._write(image, data, name)
            self._names[key] = name
        return self._names[key]

    def flat(self, image: ImageFile, folder: str) -> str:
        """Copy directly into the folder, under a stem that no other copy has; return its path."""
        parts, data = self._parts(image)
        name = self._free(PurePosixPath(folder), _neutral("_".join(parts)), by_stem=True)
        self._write(image, data, name)
        return name

    def _parts(self, image: ImageFile) -> tuple[list[str], bytes | None]:
        """The parts of the image's path, and its bytes if it is inside a container."""
        inside = file_of(image).resolve()
        if not inside.is_relative_to(self._root):
            raise ExportError(
                f"The image '{image.name}' lies outside {self._root}. Nothing was kept."
            )
        relative = inside.relative_to(self._root)
        if not isinstance(image, Member):
            return list(relative.parts), None
        data, ending = image_and_ending(image)
        inner = _TAR_PLACE.sub("", image.inner, count=1)
        if row := _ROW.fullmatch(inner):
            inner = f"{int(row[1]):06d}"
        cells = (re.sub(r"[^\w.-]+", "_", part).strip(".") for part in inner.split("/"))
        parts = [part for part in cells if part] or ["_"]
        stem = parts.pop()
        stem = stem[: -len(ending)] if stem.lower().endswith(ending) else stem
        return [*relative.with_suffix("").parts, *parts, f"{stem or '_'}{ending}"], data

    def _free(self, folder: PurePosixPath, last: str, by_stem: bool) -> str:
        path = PurePosixPath(last)
        stem, ending = path.stem[:_LONGEST], path.suffix
        number = 1
        while True:
            name = stem if number == 1 else f"{stem}-{number}"
            # File systems may be case-insensitive.
            key = str(folder / (name if by_stem else name + ending)).casefold()
            if key not in self._taken:
                self._taken.add(key)
                return str(folder / (name + ending))
            number += 1

    def _write(self, image: ImageFile, data: bytes | None, name: str) -> None:
        target = self._part / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with _refused(str(image)):
            if isinstance(image, ProvedFile):
                data = image.read()  # what is written is what was checked
            if data is not None:
                target.write_bytes(data)
                return
            source = open_regular(file_of(image), is_resolved=True)
            with source, target.open("wb") as copy:
                shutil.copyfileobj(source, copy, 1 << 20)


def _neutral(part: str) -> str:
    """A part of a path, changed so that it names no split and is not hidden.

    >>> _neutral("test"), _neutral("my-train2014"), _neutral("contest"), _neutral("__x")
    ('~test', 'my-~train2014', 'contest', '~__x')
    """
    return _SAYS_SPLIT.sub("~", _IS_HIDDEN.sub("~", part))
