"""The images of an export: their bytes, and names that no loader misinterprets.

Hugging Face's loaders infer splits from folder names (`test`, `train2014`, `my-eval`) and skip
hidden ones (`.x`, `__x`). An image's own path must not trigger either, so a tilde is put before
such words (`images/~test/a.jpg`). Bytes are never changed.
"""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, count
from pathlib import Path, PurePosixPath
from typing import Literal

from backend.datasets.export_row import Changes
from backend.datasets.read_options import PICTURES
from backend.datasets.safe_files.containers import ImageFile, Member, ProvedFile, file_of
from backend.datasets.safe_files.picture_kinds import endings_of
from backend.datasets.safe_files.regular_files import (
    LeadsOut,
    NotRegular,
    open_regular,
    read_regular,
)
from backend.datasets.splits import STATED, WORDS, split_in
from backend.datasets.writing.card import code
from backend.errors import ExportError
from db.texts import compose

#: The split of pairs that have none; Hugging Face's default.
UNNAMED = "train"
_IS_HIDDEN = re.compile(r"^(?=\.|__)")
#: The position that precedes the name of a tar member (`containers.tar_member`).
_TAR_PLACE = re.compile(r"\d+\+\d+/")
_ROW = re.compile(r"(\d+)/.*")
_LONGEST, _LONGEST_SPLIT = 200, 80
Plain = Literal["nothing", "file", "path"]


def image_and_ending(image: ImageFile) -> tuple[bytes, str]:
    """The image's bytes and file extension: its own, unless the bytes are of another format. Raises
    ExportError if the image is missing or no longer a regular file, and ImageError if its bytes
    are not those that were imported."""
    with _raise_export_error(image.name):
        data = read_regular(image, is_resolved=True) if isinstance(image, Path) else image.read()
    ending = Path(image.name).suffix.lower()
    if endings := endings_of(data):
        return data, ending if ending in endings else endings[0]
    return data, ending if ending in PICTURES else ".img"


@contextmanager
def _raise_export_error(name: str) -> Iterator[None]:
    """Raise ExportError if an image that is read in the block is missing or no regular file."""
    try:
        yield
    except FileNotFoundError as problem:
        raise ExportError(f"The image '{name}' is gone. Nothing was kept.") from problem
    except (NotRegular, LeadsOut) as problem:
        raise ExportError(
            f"The image '{name}' is not a regular file. Nothing was kept."
        ) from problem


class SplitNames:
    """The splits of an export as parts of file names, each another one on any file system. Pairs
    without a split are in `UNNAMED`, as loaders have it."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {"": UNNAMED}
        self._without = 0

    def of(self, split: str | None) -> str:
        """The name of a split.

        >>> names = SplitNames()
        >>> [names.of(split) for split in (None, "train", "Test", "my-fold", "my fold", "__x")]
        ['train', 'train', 'test', 'my_fold', 'my_fold_2', 'x']
        """
        split = split or ""
        self._without += not split
        if split not in self._names:
            plain = _file_name(split) or "split"
            others = {name.casefold() for other, name in self._names.items() if other}
            alternatives = (f"{plain}_{number}" for number in count(2))
            names = (name for name in chain([plain], alternatives) if name.casefold() not in others)
            self._names[split] = next(names)
        return self._names[split]

    def report(self, changes: Changes, loader: str = "") -> None:
        """Say which splits have other names than in the source, and which are not found by a loader
        of `datasets` that is given the folder alone."""
        for split, name in sorted(self._names.items()):
            if split not in ("", name):
                changes.remarks.append(f"The split {code(split)} is called {code(name)}.")
        if self._without:
            changes.remarks.append(f"{self._without:,} without a split: in {code(UNNAMED)}.")
        splits = {name for split, name in self._names.items() if split or self._without}
        unknown = sorted(name for name in splits if not split_in(name))
        if loader and unknown and len(unknown) < len(splits):
            changes.remarks.append(
                f'`load_dataset(FOLDER)` finds every split. `load_dataset("{loader}", '
                "data_dir=FOLDER)` supports train, validation and test only, and skips: "
                f"{', '.join(unknown)}."
            )


def _file_name(split: str) -> str:
    """The split with letters, digits and underscores alone: loaders refuse others, and `all`."""
    plain = "".join(c if c.isalnum() else "_" for c in compose(split)).strip("_")
    plain = plain.encode()[:_LONGEST_SPLIT].decode(errors="ignore")
    if plain.lower() == "all":
        return f"{plain}_pairs"
    return plain.lower() if plain.lower() in WORDS else plain


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
            if head[:1] == [PurePosixPath(folder).name]:  # no `images/images/`
                head = head[1:]
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
            # File systems may ignore case and normal form.
            key = compose(str(folder / (name if by_stem else name + ending))).casefold()
            if key not in self._taken:
                self._taken.add(key)
                return str(folder / (name + ending))
            number += 1

    def _write(self, image: ImageFile, data: bytes | None, name: str) -> None:
        target = self._part / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with _raise_export_error(str(image)):
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
    return STATED.sub("~", _IS_HIDDEN.sub("~", part))
