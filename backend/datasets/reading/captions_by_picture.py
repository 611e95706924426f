"""JSON objects with the captions by the name of their picture: kohya's `meta_cap.json`, the
`labels` of FiftyOne, and the like, at the top of the file or one level down.

A name may lack the ending of its picture, and the folders that it lies in.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from typing import Any

from backend.datasets.cells import TableRow, trim
from backend.datasets.columns import CAPTION_NAMES, IMAGE_NAMES, usual_name
from backend.datasets.reading.caption_texts import Captions
from backend.datasets.reading.json_stream import JsonFile
from backend.datasets.reading.named_pictures import PicturesBelow, is_picture_name, names_picture
from backend.datasets.splits import leading_split
from backend.errors import DatasetFormatError

_FIFTYONE = "labels"
#: Names by which an object is told from others.
_SAMPLE = 20


def maps_in(file: JsonFile, path: Path, root: Path, is_row: bool = False) -> list[str]:
    """The objects of the file with captions by picture: "" for the whole, else their names; empty
    if there are none. `is_row`: the file may be a single row, which has such objects too, of parts
    of its picture: names must be pictures'. Raises DatasetFormatError for several that are not a
    split each."""
    if file.is_array or file.is_lines or "images" in file.arrays:
        return []
    with closing(PicturesBelow(root)) as pictures:
        if _is_map(file, "", path, pictures, is_row):
            return [""]
        first = islice(file.kinds.items(), _SAMPLE)
        inner = [name for name, kind in first if kind == "start_map"]
        places = [within for within in inner if _is_map(file, within, path, pictures, is_row)]
    if len(places) > 1 and not all(map(leading_split, places)):
        few = ", ".join(f"'{trim(name, 80)}'" for name in places[:4])
        raise DatasetFormatError(
            f"'{path.name}' has captions by picture at several places ({few}). Save each as a file "
            "of its own, and import the one that is meant."
        )
    return places


def _beginnings(file: JsonFile, within: str) -> list[tuple[str, str, dict[str, str]]]:
    first = list(islice(file.kinds.items(), _SAMPLE))
    if not within and not any(kind == "start_map" for _, kind in first):
        return [(name, kind, {}) for name, kind in first]  # without a pass
    return list(islice(file.beginnings(within), _SAMPLE))


def _is_map(file: JsonFile, within: str, path: Path, pictures: PicturesBelow, is_row: bool) -> bool:
    """Whether names are pictures' and the values texts, lists or records, or the values are records
    with a caption: as those of trainers are by themselves, all others with their picture."""
    if within == _FIFTYONE and "classes" in file.kinds:
        return True
    names = []
    name_pictures = not is_row
    for name, kind, fields in _beginnings(file, within):
        texts = {key.lower() for key, inner in fields.items() if inner in ("string", "start_array")}
        if texts & {"caption", "tags"} and not is_row:
            return True
        name_pictures &= bool(texts & {*CAPTION_NAMES} and texts & {*IMAGE_NAMES})
        is_named = kind == "start_map" and is_picture_name(name)
        if kind in ("string", "start_array") or is_named or texts & {*CAPTION_NAMES}:
            names.append(name)
    return (
        ((within == _FIFTYONE or name_pictures) and bool(names))
        or any(names_picture(path, name) for name in names)
        or any(pictures.ending_in(name) for name in names)
    )


def rows_by_picture(
    file: JsonFile, maps: Sequence[str], folders: Sequence[Path]
) -> Iterator[TableRow]:
    """A row per name of the objects; `folders`: which the pictures may lie below."""
    numbers = count(1)
    for within in maps:
        is_in_data = within == _FIFTYONE and any((place / "data").is_dir() for place in folders)
        classes = list(file.objects("classes")) if within and "classes" in file.arrays else []
        for name, about in file.members(within):
            for row in _rows_of_picture(next(numbers), name, about, classes, within == _FIFTYONE):
                if is_in_data and row.values is not None and "file_name" in row.values:
                    row.values["file_name"] = f"data/{name}"
                yield replace(row, split=leading_split(within), is_anywhere=True)


def _rows_of_picture(
    number: int, name: str, about: Any, classes: Sequence[Any], are_labels: bool
) -> Iterator[TableRow]:
    if are_labels:
        about, unknown = _label_texts(about, classes)
        if unknown:
            yield TableRow(
                number, None,
                f"'{trim(name)}' has the label {unknown[0]}, which is the number of no class: "
                f"`classes` has {len(classes)}, from 0 on.",
            )  # fmt: skip
            if about is None:
                return
    if isinstance(about, str | list):
        yield TableRow(number, {"file_name": name, "caption": about})
    elif isinstance(about, dict):
        tags = about.get("tags")
        tags = {"tags": tags} if isinstance(tags, list) else tags
        has_caption = any(key.lower() in CAPTION_NAMES for key in about)
        fields = about if has_caption or tags is None else {**about, "caption": tags}
        stated = about.get(usual_name(about, IMAGE_NAMES))
        names_itself = not is_picture_name(name) and is_picture_name(str(stated))
        own = {"id": about.get("id", name)} if names_itself else {"file_name": name}
        yield TableRow(number, {**fields, **own})
    else:
        yield TableRow(number, None, f"'{trim(name)}' has no caption.")


def _label_texts(label: Any, classes: Sequence[Any]) -> tuple[Any, list[int]]:
    """The text of one of FiftyOne's labels, or those of several, and the numbers of no class.

    >>> _label_texts([0, {"label": "A cat."}, 7], ["A dog."])
    (['A dog.', 'A cat.'], [7])
    """
    labels = label if isinstance(label, list) else [label]
    texts = [_label_text(each, classes) for each in labels]
    unknown = [text for text in texts if isinstance(text, int) and not isinstance(text, bool)]
    captions = Captions(text for text in texts if text not in unknown)
    if isinstance(label, list):
        return captions or None, unknown
    return (captions[0] if captions else None), unknown


def _label_text(label: Any, classes: Sequence[Any]) -> Any:
    """A label is a text, the number of a class, or an object with either; what is none stays."""
    if isinstance(label, dict) and "label" in label:
        return _label_text(label["label"], classes)
    is_number = isinstance(label, int) and not isinstance(label, bool)
    return classes[label] if is_number and 0 <= label < len(classes) else label
