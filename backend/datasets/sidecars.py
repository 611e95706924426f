"""Folders of images with captions in sidecar files, or embedded in the images.

* Sidecars: `a.jpg` with `a.txt` or `a.caption`, as in training datasets, and with `a.json` for the
  other columns, as in img2dataset's `files` output.
* Embedded: XMP, IPTC and EXIF, as written by photo software, and the texts of a PNG.

Subfolders are read too; one named train, validation or test is a split.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from backend.datasets.caption_texts import TextReader, unreadable_picture
from backend.datasets.cells import shown
from backend.datasets.columns import CAPTION_NAMES
from backend.datasets.export_row import MARK
from backend.datasets.file_endings import CAPTIONS, PICTURES, UNREADABLE_PICTURES, is_hidden
from backend.datasets.image_texts import captions_in
from backend.datasets.regular_files import read_within
from backend.datasets.rows import TableRow, json_object
from backend.datasets.shards import named_split
from backend.errors import DatasetFormatError, ImageError

#: Maximum file size in bytes. A caption has at most 20,000 characters.
_MOST_TEXT = 4_000_000
#: Common text files that are not captions.
_NO_CAPTIONS = ("readme", "license", "licence", "copyright", "requirements")


def has_sidecars(folder: Path) -> bool:
    """Whether the folder contains an image with a sidecar caption."""
    return any(
        _owners(names, CAPTIONS) or _owners(names, (".json",)) for _, names in _folders(folder)
    )


def has_images(folder: Path) -> bool:
    """Whether the folder contains an image."""
    return any(_is_image(name) for _, names in _folders(folder) for name in names)


def sidecar_rows(folder: Path, texts: TextReader) -> Iterator[TableRow]:
    """One row per image, sorted by folder and name, and a problem per caption without an image. The
    row number is the position in that order."""
    number = 0
    for place, names in _folders(folder):
        captions, metadata = _owners(names, CAPTIONS), _owners(names, (".json",))
        beside = {name: ([], []) for name in sorted(filter(_is_image, names))}
        for kind, owners in enumerate((captions, metadata)):
            for text, pictures in owners.items():
                for picture in pictures:
                    beside[picture][kind].append(text)
        for picture, (own_captions, own_metadata) in beside.items():
            number += 1
            shared = [t for t in (*own_captions, *own_metadata)
                      if len({**captions, **metadata}[t]) > 1]  # fmt: skip
            if problem := _uncertain(picture, (own_captions, own_metadata), shared):
                yield TableRow(number, None, problem)
            else:
                json_file = own_metadata[0] if own_metadata else ""
                caption = own_captions[0] if own_captions else ""
                yield _row(number, place, picture, caption, json_file, folder, texts)
        for name in sorted(name for name in names - captions.keys() if _is_caption(name)):
            number += 1
            stem = PurePosixPath(name).stem
            other = next((stem + e for e in UNREADABLE_PICTURES if stem + e in names), "")
            shown_path = shown((place / name).relative_to(folder).as_posix())
            yield TableRow(
                number,
                None,
                unreadable_picture(other)
                if other
                else f"There is no image for the caption '{shown_path}'.",
            )


def _owners(names: Iterable[str], endings: tuple[str, ...]) -> dict[str, list[str]]:
    """The pictures that each text with one of the endings may belong to: those with its name (a.jpg
    of a.jpg.txt) or else its stem (of a.txt), and only then those that differ in case alone."""
    pictures: list[dict[str, list[str]]] = [{}, {}, {}, {}]
    texts = []
    for name in sorted(names):
        if name.lower().endswith(endings):
            texts.append(name)
        if _is_image(name):
            stem = PurePosixPath(name).stem
            keys = (name, stem, name.lower(), stem.lower())
            for by_key, key in zip(pictures, keys, strict=True):
                by_key.setdefault(key, []).append(name)
    owners = {}
    for text in texts:
        stem = PurePosixPath(text).stem
        keys = (stem, stem, stem.lower(), stem.lower())
        owning = (by_key.get(key) for by_key, key in zip(pictures, keys, strict=True))
        if of := next(filter(None, owning), None):
            owners[text] = of
    return owners


def _uncertain(picture: str, texts: Iterable[list[str]], shared: list[str]) -> str:
    """Why it is uncertain which text belongs to the picture; "" if it is not."""
    name, stem = shown(picture), shown(PurePosixPath(picture).stem)
    if shared:
        return (
            f"'{shown(shared[0])}' may belong to '{name}' or to another picture named '{stem}'. "
            f"Name the text after its picture: '{name}.txt'."
        )
    if several := next((files for files in texts if len(files) > 1), None):
        listed = ", ".join(f"'{shown(text)}'" for text in several)
        return f"Beside '{name}' are several texts ({listed}). Keep the one with its caption."
    return ""


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
    """Each folder with the names of its files, in order; hidden ones and exports are skipped."""
    for place, folders, files in os.walk(folder):
        if MARK in files and Path(place) != folder:
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not is_hidden(name))
        yield Path(place), {name for name in files if not is_hidden(name)}


def _is_image(name: str) -> bool:
    return name.lower().endswith(PICTURES)


def _is_caption(name: str) -> bool:
    path = PurePosixPath(name)
    return path.suffix.lower() in CAPTIONS and path.stem.lower() not in _NO_CAPTIONS


def _known(place: Path, name: str, folder: Path) -> dict[str, Any]:
    path = (place / name).relative_to(folder).as_posix()
    split = named_split(path.partition("/")[0]) if "/" in path else None
    return {"file_name": path, **({"split": split} if split else {})}


def _row(
    number: int, place: Path, picture: str, caption: str, metadata: str, folder: Path,
    texts: TextReader,
) -> TableRow:  # fmt: skip
    """The row of a picture; `caption` and `metadata`: the names of its files, "" without one."""
    values = _known(place, picture, folder)
    more: dict[str, Any] = {}
    file = metadata
    try:
        if metadata:
            content = read_within(folder, place / metadata, _MOST_TEXT)
            more = json_object(texts.decoded(content, shown(metadata)))
        if file := caption:
            content = read_within(folder, place / caption, _MOST_TEXT)
            text = texts.captions(content, shown(caption))
            if isinstance(text, str):
                # A final newline, written by editors and scripts, is not part of the caption.
                text = text.removesuffix("\n").removesuffix("\r")
            more = {**more, "caption": text}
    except DatasetFormatError as problem:
        return TableRow(number, None, str(problem))
    except (OSError, ValueError, RecursionError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        return TableRow(number, None, f"'{shown(file or metadata)}' cannot be read: {reason}.")
    if not any(key.strip().lower() in CAPTION_NAMES for key in more):
        stem = shown(PurePosixPath(picture).stem)
        return TableRow(
            number,
            None,
            f"'{shown(values['file_name'])}' has no caption: there is no {stem}.txt or "
            f"{stem}.caption.",
        )
    return TableRow(number, {**more, **values})
