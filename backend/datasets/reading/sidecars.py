"""Folders of images with captions in sidecar files, or embedded in the images.

Sidecars: `a.jpg` with `a.txt` or `a.caption`, as in training datasets, with `a_tags.txt` and such
for captions of other kinds, and with `a.json` for the other columns, as in img2dataset's `files`
output. All captions are of one kind, unless kinds are stated.

Subfolders are read too, and those that are named like splits are splits.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from os.path import splitext
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from backend.datasets.cells import TableRow, json_object, trim
from backend.datasets.columns import CAPTION_NAMES, OBJECT_NAMES, usual_name
from backend.datasets.export_row import MARK
from backend.datasets.read_options import (
    CAPTIONS,
    PICTURES,
    UNREADABLE_PICTURES,
    ReadOptions,
    is_hidden,
)
from backend.datasets.reading.caption_fields import FIELD_COLUMN, PLAIN, main_kind, texts_by_field
from backend.datasets.reading.caption_texts import TextReader
from backend.datasets.reading.conversations import TURN_COLUMNS
from backend.datasets.reading.embedded_captions import captions_in
from backend.datasets.reading.json_captions import (
    beside_text,
    caption_field,
    no_caption_in,
    one_field,
    read_of_metadata,
)
from backend.datasets.reading.sample_fields import NAMED_LIKE_CAPTIONS, column_and_path
from backend.datasets.safe_files.images import unreadable_picture
from backend.datasets.safe_files.regular_files import read_within
from backend.datasets.splits import SplitFolders
from backend.errors import DatasetFormatError, ImageError
from db.texts import compose

#: Maximum file size in bytes. A caption has at most 20,000 characters.
MOST_TEXT = 4_000_000
#: What OneTrainer puts beside a picture: where it learns, and what it is shown besides.
_MASKS = ("-masklabel", "-condlabel")
#: JSON files that tell whether those beside pictures have captions.
_PEEKED = 20
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


@dataclass(frozen=True)
class SidecarChoice:
    """What is read of the files beside pictures. `captions`: the column of captions that the user
    named, "" to detect it; `kind`: of all captions, None for those that each picture has;
    `may_lack_captions`: a picture without a caption is no problem."""

    captions: str = ""
    kind: str | None = None
    may_lack_captions: bool = False

    @property
    def ending(self) -> str:
        """Of the text that counts where a picture has several, "" if no such was named."""
        ending = f".{self.captions.lower().removeprefix('.')}"
        return ending if ending in (*CAPTIONS, *NAMED_LIKE_CAPTIONS) else ""


class FolderTexts(NamedTuple):
    """What lies beside the pictures of a folder, and what reads one of these files: it raises
    OSError or ValueError."""

    beside: Mapping[str, "Beside"]
    read_file: Callable[[str], bytes]


def sidecar_choice(
    folders: Iterable[FolderTexts], options: ReadOptions, captions: str, texts: TextReader
) -> SidecarChoice:
    """What is read, of which `texts` is told; `captions`: as there. Raises DatasetFormatError where
    it is uncertain which kind of captions is meant."""
    kind = None
    if not (captions or options.caption_fields):
        numbers, pictures, from_json, endings = _count_kinds(folders, texts)
        kind = main_kind(numbers, pictures, options.language)
        if 0 < from_json < numbers[""] and not kind:
            texts.note("Pictures without a text beside them have the caption of their .json.")
        if not kind and len(endings) > 1:
            shown = ", ".join(f"{count:,} of {ending}" for ending, count in sorted(endings.items()))
            texts.note(f"Captions are in texts of several endings ({shown}), one a picture.")
        others = sorted(numbers.keys() - {kind, ""})
        if has_plain := bool(kind) and numbers[""] > from_json:
            others.append(PLAIN)
        if others:
            texts.note(_of_several_kinds(kind, others, has_plain))
    return SidecarChoice(captions, kind, options.uncaptioned)


def _count_kinds(
    folders: Iterable[FolderTexts], texts: TextReader
) -> tuple[Counter[str], int, int, Counter[str]]:
    """How many pictures have a caption of each kind ("": in a file of their name), how many have
    one, how many have it in their JSON, and how many have a text of their name with each ending.
    Whether JSON has captions is decided by the first ones."""
    numbers, pictures, from_json, has_captions = Counter[str](), 0, 0, list[bool]()
    endings = Counter[str]()
    for folder in folders:
        for files in folder.beside.values():
            kinds = set(files.kinds)
            if files.metadata and not files.texts:
                if len(has_captions) < _PEEKED:
                    has_captions.append(_is_caption_in(folder, files.metadata[0], texts))
                kinds |= {""} if any(has_captions) else set()
                from_json += any(has_captions)
            numbers.update(kinds)
            if len(files.texts) == 1:
                endings[splitext(files.texts[0])[1].lower()] += 1
            pictures += bool(kinds)
    return numbers, pictures, from_json, endings


def _is_caption_in(folder: FolderTexts, metadata: str, texts: TextReader) -> bool:
    try:
        return _has_caption(json_object(texts.decode(folder.read_file(metadata), metadata)))
    except (DatasetFormatError, OSError, ValueError, RecursionError):
        return False  # it is reported when the row is read


def sidecar_rows(
    folder: Path, texts: TextReader, options: ReadOptions, captions: str = ""
) -> Iterator[TableRow]:
    """One row per image, sorted by folder and name, and a problem per caption without an image. The
    row number is the position in that order. `captions`: the column of captions that the user
    named."""
    number = 0
    splits = _splits(folder)
    folders = (
        FolderTexts(files_beside(names), partial(_read_beside, folder, place))
        for place, names in folders_below(folder)
    )
    choice = sidecar_choice(folders, options, captions, texts)
    for place, names in folders_below(folder):
        split = splits.of(place.relative_to(folder))
        beside = files_beside(names, choice.ending)
        used = {text for files in beside.values() for text in (*files.texts, *files.named.values())}
        used |= owners_of(names, CAPTIONS).keys()  # also those of other endings than was named
        for picture, files in beside.items():
            number += 1
            if files.problem:
                yield TableRow(number, None, files.problem)
            else:
                row = sidecar_row(
                    number, (place / picture).relative_to(folder).as_posix(), files,
                    partial(_read_beside, folder, place), texts, choice,
                )  # fmt: skip
                yield replace(row, split=split)
        for name in sorted(name for name in names - used if is_caption_file(name)):
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

    @property
    def kinds(self) -> list[str]:
        """Of its texts; "" for one with the picture's name."""
        return [*([""] if self.texts else []), *self.named]


def files_beside(names: Iterable[str], ending: str = "") -> dict[str, Beside]:
    """What lies beside each picture of a folder, sorted. `ending`: of the text that counts where a
    picture has several, "" for none."""
    names = list(names)
    named = texts_by_field(names)
    captions = {**_captions_of(names), **(owners_of(names, (ending,)) if ending else {})}
    metadata = owners_of(names, (".json",))
    beside: dict[str, tuple[list[str], list[str]]] = {
        name: ([], []) for name in sorted(filter(is_image, names))
    }
    for kind, owners in enumerate((captions, metadata)):
        for text, pictures in owners.items():
            for picture in pictures:
                beside[picture][kind].append(text)
    owners = {**captions, **metadata}
    files = {}
    for picture, (every, own_metadata) in beside.items():
        texts = [text for text in every if ending and text.lower().endswith(ending)] or every
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
    names = sorted(names)
    texts = [name for name in names if name.lower().endswith(endings)]
    if not texts:  # as where no picture has a .json
        return {}
    pictures: list[dict[str, list[str]]] = [{} for _ in (*_FORMS, *_FORMS)]
    for name in names:
        if is_image(name):
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
            "caption, or name its ending as the column with captions: "
            f"{splitext(several[0])[1].removeprefix('.')}."
        )
    return ""


def metadata_rows(folder: Path) -> Iterator[TableRow]:
    """One row per image, with the caption embedded in the file. The first field that contains one
    is used (see `embedded_captions`), the others become columns."""
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


def is_caption_file(name: str) -> bool:
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
    texts: TextReader, choice: SidecarChoice,
) -> TableRow:  # fmt: skip
    """The row of a picture; `beside`: the files beside it, whose content `read_file` returns, or
    raises OSError or ValueError."""
    more: dict[str, Any] = {}
    stated = choice.captions
    file = metadata = next(iter(beside.metadata), "")
    try:
        if metadata:
            more = json_object(texts.decode(read_file(metadata), trim(metadata)))
        caption, kind, others = _texts_by_role(beside, choice, _has_caption(more))
        if kind:
            more[FIELD_COLUMN] = kind
        for name, file in others.items():
            text = texts.captions(read_file(file), trim(file))
            more = {**more, **({f"json.{name}": more[name]} if name in more else {}), name: text}
        file = metadata
        if file := caption:
            text = texts.captions(read_file(caption), trim(caption))
            if choice.ending and stated not in more:
                more = {stated: text, **more}
            elif metadata and stated.lower().startswith("json["):
                more = {"txt": text, **more}
            else:
                more = beside_text(more, text, texts.note)
        elif not stated and not _has_caption(more) and (name := caption_field(more)):
            texts.note(read_of_metadata(name))
            more = {**more, "caption": one_field({name: more.pop(name)}, name)}
    except DatasetFormatError as problem:
        return TableRow(number, None, str(problem))
    except (OSError, ValueError, RecursionError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        return TableRow(number, None, f"'{trim(file or metadata)}' cannot be read: {reason}.")
    if not _has_caption(more) and column_and_path(stated, more)[0] not in more:
        if choice.may_lack_captions:
            return TableRow(number, {**more, "file_name": file_name, "caption": ""})
        stem = trim(PurePosixPath(file_name).stem)
        return TableRow(
            number,
            None,
            f"'{trim(file_name)}' has no caption: there is no {stem}.txt or {stem}.caption"
            + (f", and '{trim(metadata)}': {no_caption_in(more, 'json')}." if metadata else "."),
        )
    return TableRow(number, {**more, "file_name": file_name})


def _texts_by_role(
    beside: Beside, choice: SidecarChoice, has_caption: bool
) -> tuple[str, str, dict[str, str]]:
    """The text with the caption of a picture, its kind, and its other texts by their columns.
    `has_caption`: its JSON has one. Raises DatasetFormatError if it has but other kinds."""
    plain, named = next(iter(beside.texts), ""), dict(beside.named)
    kind = choice.kind
    if kind is None and named and not (plain or choice.captions or has_caption):
        kind = usual_name(named, OBJECT_NAMES) or next(iter(named))
    if kind and kind in named:
        caption = named.pop(kind)
        return caption, kind, named | ({"txt": plain} if plain else {})
    is_missing = bool(kind) or bool(named and not (plain or has_caption))
    if is_missing and beside.kinds and choice.kind is not None and not choice.may_lack_captions:
        found = ", ".join(f"'{trim(text)}'" for text in (*beside.texts, *named.values()))
        what = f"of the kind '{trim(kind or '', 80)}'" if kind else "with the picture's name alone"
        kinds = [each or PLAIN for each in (kind or "", *beside.kinds)]
        raise DatasetFormatError(
            f"Beside the picture is no text {what}, as beside others, but {found}. To read these "
            f"too, state the kinds of captions: {_shown_kinds(kinds)}."
        )
    if kind:
        return "", "", named | ({"txt": plain} if plain else {})
    return plain, "", named


def _of_several_kinds(kind: str, others: list[str], has_plain: bool) -> str:
    """That one kind of captions is read, and the others are not; `has_plain`: the last of these is
    that of the texts with their picture's name, which are in the column `txt`."""
    columns = [*others[:-1], "txt"] if has_plain else others
    names = ", ".join(f"'{trim(name, 80)}'" for name in columns)
    what = f"those named '{trim(kind, 80)}'" if kind else "those of the picture's name alone"
    return (
        f"Beside pictures are captions of several kinds. Unless kinds are stated, {what} are the "
        f"captions, and {names} columns. (To read all as captions, state the kinds: "
        f"{_shown_kinds([kind or PLAIN, *others])}.)"
    )


def _shown_kinds(kinds: Iterable[str]) -> str:
    """As they are stated."""
    return ",".join(trim(kind, 80) for kind in kinds)


def _has_caption(columns: Iterable[str]) -> bool:
    return any(name.strip().lower() in (*CAPTION_NAMES, *TURN_COLUMNS) for name in columns)
