"""Folders of images with captions in sidecar files, or embedded in the images.

* Sidecars: `a.jpg` with `a.txt` or `a.caption`, as in training datasets, with `a_tags.txt` and such
  for captions of other kinds, and with `a.json` for the other columns, as in img2dataset's `files`
  output.
* Embedded, in the order of the Metadata Working Group (2.0, section 4.1: Description), the newest
  standard first: XMP `dc:description`, IPTC `Caption/Abstract` (2:120), EXIF `ImageDescription`,
  Windows' `XPComment` and `XPTitle`, and a PNG's `Description` text.

Subfolders are read too, and those that are named like splits are splits.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from os.path import splitext
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from PIL import ExifTags, Image, IptcImagePlugin
from PIL.ImageFile import ImageFile as OpenedFile

from backend.datasets.caption_fields import FIELD_COLUMN, texts_by_field
from backend.datasets.caption_texts import TextReader, unreadable_picture
from backend.datasets.cells import TableRow, json_object, trim
from backend.datasets.columns import CAPTION_NAMES, OBJECT_NAMES, usual_name
from backend.datasets.containers import ImageFile
from backend.datasets.conversations import TURN_COLUMNS
from backend.datasets.export_row import MARK
from backend.datasets.images import opened_image
from backend.datasets.json_captions import (
    beside_text,
    caption_field,
    no_caption_in,
    one_field,
    read_of_metadata,
)
from backend.datasets.read_options import CAPTIONS, PICTURES, UNREADABLE_PICTURES, is_hidden
from backend.datasets.regular_files import read_within
from backend.datasets.sample_fields import NAMED_LIKE_CAPTIONS, column_and_path
from backend.datasets.splits import SplitFolders
from backend.errors import DatasetFormatError, ImageError
from db.texts import compose, is_blank

_IPTC_CAPTION = (2, 120)
_PNG_TEXTS = ("Description", "description", "Caption", "caption", "Comment", "comment", "Title")


def captions_in(path: ImageFile) -> dict[str, str]:
    """Non-empty captions by the field that contains them, in order of preference.

    Raises ImageError if the file is not an image.
    """
    with opened_image(path) as image:
        image.load()  # a PNG may store its texts after its pixels
        return {place: text.strip() for place, text in _texts(image) if not is_blank(text)}


def _texts(image: Image.Image) -> Iterator[tuple[str, str]]:
    yield "xmp_description", _xmp(image)
    yield "iptc_caption", _iptc(image)
    exif = image.getexif()
    description = exif.get(ExifTags.Base.ImageDescription)
    yield "exif_description", _utf8(description) if isinstance(description, str | bytes) else ""
    for place, tag in (
        ("exif_comment", ExifTags.Base.XPComment),
        ("exif_title", ExifTags.Base.XPTitle),
    ):
        content = exif.get(tag)
        if isinstance(content, bytes | tuple):
            yield place, bytes(content).decode("utf-16-le", "replace").rstrip("\0")
    for name in _PNG_TEXTS:
        if isinstance(text := image.info.get(name), str):
            yield f"png_{name.lower()}", str(text)


def _xmp(image: Image.Image) -> str:
    """`dc:description`; if there are several languages, the default one."""
    description: Any = image.getxmp().get("xmpmeta", {})
    for name in ("RDF", "Description"):
        description = description.get(name, {}) if isinstance(description, dict) else {}
    content: Any = ""
    for part in description if isinstance(description, list) else [description]:
        content = content or (part.get("description", "") if isinstance(part, dict) else "")
    for name in ("Alt", "li"):
        if isinstance(content, dict):
            content = content.get(name, content.get("text", ""))
    entries = content if isinstance(content, list) else [content]
    texts = [e.get("text", "") if isinstance(e, dict) else e for e in entries]
    default = [
        e.get("text", "") for e in entries if isinstance(e, dict) and e.get("lang") == "x-default"
    ]
    return next((text for text in (*default, *texts) if isinstance(text, str) and text), "")


def _iptc(image: Image.Image) -> str:
    about: Any = IptcImagePlugin.getiptcinfo(image) if isinstance(image, OpenedFile) else None
    content = (about or {}).get(_IPTC_CAPTION)
    if isinstance(content, list):
        content = b"\n".join(content)
    if not isinstance(content, bytes):
        return ""
    # Without the UTF-8 marker the standard prescribes ISO 646/4873; in practice it is either.
    return _utf8(content)


def _utf8(content: str | bytes) -> str:
    """Decode as UTF-8, falling back to Latin-1: Pillow reads EXIF text as Latin-1, according to the
    standard, but programs write UTF-8."""
    raw = content.encode("latin-1", "replace") if isinstance(content, str) else content
    raw = raw.rstrip(b"\0")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return content.rstrip("\0") if isinstance(content, str) else raw.decode("latin-1")


#: Maximum file size in bytes. A caption has at most 20,000 characters.
MOST_TEXT = 4_000_000
#: What OneTrainer puts beside a picture: where it learns, and what it is shown besides.
_MASKS = ("-masklabel", "-condlabel")
#: Common text files that are not captions.
_NO_CAPTIONS = ("readme", "license", "licence", "copyright", "requirements")


def has_sidecars(folder: Path) -> bool:
    """Whether the folder contains an image with a sidecar caption."""
    return any(
        _captions_of(names) or owners_of(names, (".json",)) or texts_by_field(names)
        for _, names in folders_below(folder)
    )


def _captions_of(names: Iterable[str]) -> dict[str, list[str]]:
    """The pictures of each caption in a folder; other endings count only where there is none of the
    usual ones."""
    return owners_of(names, CAPTIONS) or owners_of(names, NAMED_LIKE_CAPTIONS)


def has_images(folder: Path) -> bool:
    """Whether the folder contains an image."""
    return any(is_image(name) for _, names in folders_below(folder) for name in names)


def sidecar_rows(
    folder: Path, texts: TextReader, may_lack_captions: bool = False, stated: str = ""
) -> Iterator[TableRow]:
    """One row per image, sorted by folder and name, and a problem per caption without an image. The
    row number is the position in that order. `may_lack_captions`: an image without a caption is no
    problem; `stated`: the column of captions that the user named."""
    number = 0
    splits = _splits(folder)
    for place, names in folders_below(folder):
        split = splits.of(place.relative_to(folder))
        beside = files_beside(names)
        captions = {
            text for files in beside.values() for text in (*files.texts, *files.named.values())
        }
        for picture, files in beside.items():
            number += 1
            if files.problem:
                yield TableRow(number, None, files.problem)
            else:
                row = sidecar_row(
                    number, (place / picture).relative_to(folder).as_posix(), files,
                    partial(_read_beside, folder, place), texts, may_lack_captions, stated,
                )  # fmt: skip
                yield replace(row, split=split)
        for name in sorted(name for name in names - captions if _is_caption(name)):
            number += 1
            stem = PurePosixPath(name).stem
            other = next((stem + e for e in UNREADABLE_PICTURES if stem + e in names), "")
            shown_path = trim((place / name).relative_to(folder).as_posix())
            yield TableRow(
                number,
                None,
                unreadable_picture(other)
                if other
                else f"There is no image for the caption '{shown_path}'.",
            )


class Beside(NamedTuple):
    """What lies beside a picture: the texts with its captions, its JSON, why it is uncertain which
    of them belong to it, "" if it is not, and the texts of other kinds by their names."""

    texts: list[str]
    metadata: list[str]
    problem: str
    named: Mapping[str, str]


def files_beside(names: Iterable[str]) -> dict[str, Beside]:
    """What lies beside each picture of a folder, sorted."""
    names = list(names)
    named = texts_by_field(names)
    captions, metadata = _captions_of(names), owners_of(names, (".json",))
    beside: dict[str, tuple[list[str], list[str]]] = {
        name: ([], []) for name in sorted(filter(is_image, names))
    }
    for kind, owners in enumerate((captions, metadata)):
        for text, pictures in owners.items():
            for picture in pictures:
                beside[picture][kind].append(text)
    owners = {**captions, **metadata}
    files = {}
    for picture, (texts, own_metadata) in beside.items():
        shared_files = [file for file in (*texts, *own_metadata) if len(owners[file]) > 1]
        problem = _uncertain(picture, (texts, own_metadata), shared_files)
        files[picture] = Beside(texts, own_metadata, problem, named.get(picture, {}))
    return files


#: How names are compared, the closest first.
_FORMS: tuple[Callable[[str], str], ...] = (str, compose, lambda name: compose(name).lower())


def owners_of(names: Iterable[str], endings: tuple[str, ...]) -> dict[str, list[str]]:
    """The pictures that each text with one of the endings may belong to: those with its name (a.jpg
    of a.jpg.txt) or else its stem (of a.txt), and only then those that differ in the normal form
    alone, or in case."""
    pictures: list[dict[str, list[str]]] = [{} for _ in (*_FORMS, *_FORMS)]
    texts = []
    for name in sorted(names):
        if name.lower().endswith(endings):
            texts.append(name)
        elif is_image(name):
            stem, _ = splitext(name)
            keys = [form(key) for form in _FORMS for key in (name, stem)]
            for by_key, key in zip(pictures, keys, strict=True):
                by_key.setdefault(key, []).append(name)
    owners = {}
    for text in texts:
        stem, _ = splitext(text)
        keys = [form(stem) for form in _FORMS for _ in range(2)]
        owning = (by_key.get(key) for by_key, key in zip(pictures, keys, strict=True))
        if of := next(filter(None, owning), None):
            owners[text] = of
    return owners


def _uncertain(picture: str, texts: Iterable[list[str]], shared_files: list[str]) -> str:
    """Why it is uncertain which text belongs to the picture; "" if it is not."""
    if shared_files:
        name, stem = trim(picture), trim(splitext(picture)[0])
        return (
            f"'{trim(shared_files[0])}' may belong to '{name}' or to another picture named "
            f"'{stem}'. Name the text after its picture: '{name}.txt'."
        )
    if several := next((files for files in texts if len(files) > 1), None):
        quoted_texts = ", ".join(f"'{trim(text)}'" for text in several)
        return (
            f"Beside '{trim(picture)}' are several texts ({quoted_texts}). Keep the one with its "
            "caption."
        )
    return ""


def metadata_rows(folder: Path) -> Iterator[TableRow]:
    """One row per image, with the caption embedded in the file. The first field that contains one
    is used (see `image_texts`), the others become columns."""
    number = 0
    splits = _splits(folder)
    for place, names in folders_below(folder):
        split = splits.of(place.relative_to(folder))
        for name in sorted(name for name in names if is_image(name)):
            number += 1
            file_name = (place / name).relative_to(folder).as_posix()
            try:
                captions = captions_in(place / name)
            except ImageError as problem:
                yield TableRow(number, None, str(problem))
                continue
            if not captions:
                yield TableRow(
                    number, None,
                    f"'{trim(file_name)}' has no caption in its XMP, IPTC, EXIF or PNG text.",
                )  # fmt: skip
                continue
            caption = next(iter(captions.values()))
            others = {key: text for key, text in captions.items() if text != caption}
            values = {**others, "file_name": file_name, "caption": caption}
            yield TableRow(number, values, split=split)


def folders_below(folder: Path) -> Iterator[tuple[Path, set[str]]]:
    """Each folder with the names of its files, in order; hidden ones and exports are skipped."""
    for place, folders, files in os.walk(folder):
        if MARK in files and Path(place) != folder:
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not is_hidden(name))
        yield Path(place), {name for name in files if not is_hidden(name)}


def is_image(name: str) -> bool:
    stem, ending = splitext(name.lower())
    return ending in PICTURES and not stem.endswith(_MASKS)


def _is_caption(name: str) -> bool:
    path = PurePosixPath(name)
    return path.suffix.lower() in CAPTIONS and path.stem.lower() not in _NO_CAPTIONS


def _splits(folder: Path) -> SplitFolders:
    """The splits of the folders with pictures."""
    places = (place for place, names in folders_below(folder) if any(map(is_image, names)))
    return SplitFolders(place.relative_to(folder) for place in places)


def _read_beside(folder: Path, place: Path, name: str) -> bytes:
    return read_within(folder, place / name, MOST_TEXT)


def sidecar_row(
    number: int, file_name: str, beside: Beside, read_file: Callable[[str], bytes],
    texts: TextReader, may_lack_captions: bool = False, stated: str = "",
) -> TableRow:  # fmt: skip
    """The row of a picture; `beside`: the files beside it, whose content `read_file` returns, or
    raises OSError or ValueError; `stated`: the column of captions that the user named."""
    more: dict[str, Any] = {}
    caption, metadata = next(iter(beside.texts), ""), next(iter(beside.metadata), "")
    file = metadata
    try:
        if metadata:
            more = json_object(texts.decode(read_file(metadata), trim(metadata)))
        named, field = dict(beside.named), ""
        if named and not (caption or stated or _has_caption(more)):
            field = usual_name(named, OBJECT_NAMES) or next(iter(named))
            caption, more[FIELD_COLUMN] = named.pop(field), field
        for name, file in named.items():
            text = texts.captions(read_file(file), trim(file))
            more = {**more, **({f"json.{name}": more[name]} if name in more else {}), name: text}
        if named:
            texts.note(_of_several_kinds(field, named))
        file = metadata
        if file := caption:
            text = texts.captions(read_file(caption), trim(caption))
            is_of_json = bool(metadata) and stated.lower().startswith("json[")
            more = {"txt": text, **more} if is_of_json else beside_text(more, text, texts.note)
        elif not stated and not _has_caption(more) and (name := caption_field(more)):
            texts.note(read_of_metadata(name))
            more = {**more, "caption": one_field({name: more.pop(name)}, name)}
    except DatasetFormatError as problem:
        return TableRow(number, None, str(problem))
    except (OSError, ValueError, RecursionError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        return TableRow(number, None, f"'{trim(file or metadata)}' cannot be read: {reason}.")
    if not _has_caption(more) and column_and_path(stated, more)[0] not in more:
        if may_lack_captions:
            return TableRow(number, {**more, "file_name": file_name, "caption": ""})
        stem = trim(PurePosixPath(file_name).stem)
        return TableRow(
            number,
            None,
            f"'{trim(file_name)}' has no caption: there is no {stem}.txt or {stem}.caption"
            + (f", and '{trim(metadata)}': {no_caption_in(more, 'json')}." if metadata else "."),
        )
    return TableRow(number, {**more, "file_name": file_name})


def _of_several_kinds(field: str, others: Iterable[str]) -> str:
    """That one kind of captions is read, and the others are not."""
    names = ", ".join(f"'{trim(name, 80)}'" for name in others)
    what = f"those named '{trim(field, 80)}'" if field else "those of the picture's name alone"
    return (
        f"Beside pictures are captions of several kinds. Unless kinds are stated, {what} are the "
        f"captions, and {names} columns. (To read others as captions, or all, state their names as "
        "the kinds of captions.)"
    )


def _has_caption(columns: Iterable[str]) -> bool:
    return any(name.strip().lower() in (*CAPTION_NAMES, *TURN_COLUMNS) for name in columns)
