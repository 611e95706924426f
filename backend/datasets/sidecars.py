"""Folders of images with captions in sidecar files, or embedded in the images.

* Sidecars: `a.jpg` with `a.txt` or `a.caption`, as in training datasets, and with `a.json` for the
  other columns, as in img2dataset's `files` output.
* Embedded: XMP, IPTC and EXIF, as written by photo software, and the texts of a PNG.

Subfolders are read too; one named train, validation or test is a split.
"""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from backend.datasets.cells import shown
from backend.datasets.columns import CAPTION_NAMES, IMAGE_ENDINGS
from backend.datasets.image_texts import captions_in
from backend.datasets.regular_files import read_within
from backend.datasets.rows import TableRow
from backend.datasets.shards import named_split
from backend.datasets.text_files import decoded_text
from backend.errors import DatasetFormatError, ImageError

#: Extensions of caption files; the first that exists is used.
CAPTION_ENDINGS = (".txt", ".caption", ".text", ".cap")
#: Maximum file size in bytes. A caption has at most 20,000 characters.
_MOST_TEXT = 4_000_000
#: Common text files that are not captions.
_NO_CAPTIONS = ("readme", "license", "licence", "copyright", "requirements")


def has_sidecars(folder: Path) -> bool:
    """Whether the folder contains an image with a sidecar caption."""
    return any(
        _caption_file(name, names) or PurePosixPath(name).stem + ".json" in names
        for _, names in _folders(folder)
        for name in names
        if _is_image(name)
    )


def has_images(folder: Path) -> bool:
    """Whether the folder contains an image."""
    return any(_is_image(name) for _, names in _folders(folder) for name in names)


def sidecar_rows(
    folder: Path, encoding: str | None = None, note: Callable[[str], None] = lambda _: None
) -> Iterator[TableRow]:
    """One row per image, sorted by folder and name, and a problem per caption without an image.

    `encoding`, `note`: for the texts, see `text_files.decoded_text`. The row number is the position
    in that order.
    """
    number = 0
    for place, names in _folders(folder):
        taken: set[str] = set()
        for name in sorted(name for name in names if _is_image(name)):
            number += 1
            text = _caption_file(name, names)
            taken.add(text)
            yield _row(number, place, name, text, names, folder, encoding, note)
        for name in sorted(names - taken):
            path = PurePosixPath(name)
            if path.suffix.lower() in CAPTION_ENDINGS and path.stem.lower() not in _NO_CAPTIONS:
                number += 1
                shown_path = shown((place / name).relative_to(folder).as_posix())
                yield TableRow(number, None, f"There is no image for the caption '{shown_path}'.")


def metadata_rows(folder: Path) -> Iterator[TableRow]:
    """One row per image, with the caption embedded in the file. The first field that contains one
    is used (see `image_texts`), the others become columns."""
    number = 0
    for place, names in _folders(folder):
        for name in sorted(name for name in names if _is_image(name)):
            number += 1
            values = _known(place, name, folder)
            try:
                captions = captions_in(place / name)
            except ImageError as problem:
                yield TableRow(number, None, str(problem))
                continue
            if not captions:
                yield TableRow(
                    number, None,
                    f"'{shown(values['file_name'])}' has no caption in its XMP, IPTC, EXIF or PNG "
                    "text.",
                )  # fmt: skip
                continue
            caption = next(iter(captions.values()))
            others = {key: text for key, text in captions.items() if text != caption}
            yield TableRow(number, {**others, **values, "caption": caption})


def _folders(folder: Path) -> Iterator[tuple[Path, set[str]]]:
    """Each folder with the names of its files, in order; hidden ones are skipped."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield Path(place), {name for name in files if not name.startswith(".")}


def _is_image(name: str) -> bool:
    return name.lower().endswith(IMAGE_ENDINGS)


def _caption_file(name: str, names: set[str]) -> str:
    """The name of the image's caption file: a.txt, or a.jpg.txt in some datasets; "" if none."""
    stem = PurePosixPath(name).stem
    return next((n + e for n in (stem, name) for e in CAPTION_ENDINGS if n + e in names), "")


def _known(place: Path, name: str, folder: Path) -> dict[str, Any]:
    path = (place / name).relative_to(folder).as_posix()
    split = named_split(path.partition("/")[0]) if "/" in path else None
    return {"file_name": path, **({"split": split} if split else {})}


def _row(
    number: int, place: Path, name: str, text: str, names: set[str], folder: Path,
    encoding: str | None, note: Callable[[str], None],
) -> TableRow:  # fmt: skip
    values = _known(place, name, folder)
    beside = PurePosixPath(name).stem + ".json"
    read = ""
    try:
        more: dict[str, Any] = {}
        if (read := beside) in names:
            content = read_within(folder, place / beside, _MOST_TEXT)
            more = json.loads(decoded_text(content, shown(beside), encoding, note))
            if not isinstance(more, dict):
                raise ValueError("it holds no object")
        if read := text:
            content = read_within(folder, place / text, _MOST_TEXT)
            plain = decoded_text(content, shown(text), encoding, note)
            # A final newline, written by editors and scripts, is not part of the caption.
            more = {**more, "caption": plain.removesuffix("\n").removesuffix("\r")}
    except DatasetFormatError as problem:
        return TableRow(number, None, str(problem))
    except (OSError, ValueError, RecursionError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        return TableRow(number, None, f"'{shown(read)}' cannot be read: {reason}.")
    if not any(key.strip().lower() in CAPTION_NAMES for key in more):
        shown_path = shown(values["file_name"])
        stem = shown(PurePosixPath(name).stem)
        return TableRow(
            number,
            None,
            f"'{shown_path}' has no caption: there is no {stem}.txt or {stem}.caption.",
        )
    return TableRow(number, {**more, **values})
