"""Datasets with one JSON file of annotations, or one JSON file per image.

* Karpathy splits (`dataset_coco.json`, `dataset_flickr30k.json`): an object with `images`, each
  with its sentences and its split; `restval` is part of the training split, as usual.
* A list of objects, one row each, or an object with one list of them (LLaVA's JSON) or one a split;
  objects one behind the other (JSON lines).
* A table that a data frame wrote (see `json_tables`).
* An object with the captions by picture (see `captions_by_picture`).
* What features read (see `row_forms`).
* FiftyOne's own format: `samples.json`, an object with a list, whose labels are objects.
* COCO captions (`captions_val2017.json`): an object with `images` and `annotations`.
* MM-IMDb: a folder with `<id>.json` and `<id>.jpeg` per film; the plot outline is the caption. It
  is split 80/10/10 by the film's id, deterministically.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from backend.datasets.cells import TableRow, UniqueNames, json_object, trim, unique_names
from backend.datasets.columns import IMAGE_NAMES
from backend.datasets.reading.caption_texts import Captions, TextReader
from backend.datasets.reading.captions_by_picture import maps_in, rows_by_picture
from backend.datasets.reading.conversations import (
    CAPTION_TURNS,
    AnswerRule,
    Conversation,
    NoPair,
    conversation_in,
    image_path,
    images_in,
    pairs_in,
    single_image,
)
from backend.datasets.reading.json_stream import JsonFile
from backend.datasets.reading.json_tables import is_one_row, table_rows
from backend.datasets.reading.on_disk import AmbiguousName, Names
from backend.datasets.reading.row_forms import RowContext, RowForm, row_forms
from backend.datasets.reading.token_texts import join_tokens
from backend.datasets.reading.unread_sources import unread_json
from backend.datasets.safe_files.regular_files import read_within
from backend.datasets.safe_files.text_files import as_utf8
from backend.datasets.splits import WORDS
from backend.errors import DatasetFormatError


def plain_rows(
    rows: Iterable[TableRow], rule: AnswerRule, caption_column: str | None = None
) -> Iterator[TableRow]:
    """The rows, with known conversation formats converted to columns `image` and `caption`; one row
    may become several. `rule`: which answers are captions; `caption_column`: if given and present,
    conversations are not converted.

    A row that is not one image with a text becomes a row with a problem.
    """
    before: dict[str, Any] = {}
    forms = row_forms()
    for row in rows:
        if row.values is None:
            yield row
            continue
        try:
            yield from _plain(row, forms, RowContext(rule, caption_column, before))
        except NoPair as problem:
            yield TableRow(row.number, None, str(problem))
        before = row.values


def _plain(row: TableRow, forms: Sequence[RowForm], context: RowContext) -> Iterator[TableRow]:
    """`forms`: those that the row may be of; what one makes of it may be of a later one."""
    if (values := row.values) is None:
        yield row
        return
    for place, form in enumerate(forms, 1):
        if form.fits(values, context):
            for plain_row in form.rows(row, values, context):
                yield from _plain(plain_row, forms[place:], context)
            return
    yield from _of_columns(row, values, context.rule, context.caption_column)


def _of_columns(
    row: TableRow, values: dict[str, Any], rule: AnswerRule, caption_column: str | None
) -> Iterator[TableRow]:
    if _is_fiftyone(values):
        yield replace(row, values=_fiftyone(values))
        return
    if _has_a_caption_each(values):
        yield from _one_by_one(row, values)
        return
    has_caption = (
        caption_column.partition("[")[0] in values
        if caption_column
        else "caption" in values or "captions" in values
    )
    conversation = None if has_caption else conversation_in(values, rule)
    if conversation is not None:
        yield from _of_conversation(row, values, conversation, rule)
    elif _lists_images(values):  # with an ordinary caption
        yield replace(row, values={**_others(values), "image": single_image(images_in(values))})
    else:
        yield row


def _of_conversation(
    row: TableRow, values: dict[str, Any], conversation: Conversation, rule: AnswerRule
) -> Iterator[TableRow]:
    """A row per picture, with its answers that are captions."""
    for number, (image, captions) in enumerate(pairs_in(values, conversation, rule)):
        answers = Captions(each.answer for each in captions)
        pair_values = {
            **_others(values),
            "image": image,
            "caption": answers[0] if len(answers) == 1 else answers,
        }
        if len(conversation.exchanges) > 1:
            pair_values[CAPTION_TURNS] = [each.place for each in captions]
        if len(images_in(values)) > 1 and values.get("id") is not None:
            pair_values["id"] = f"{values['id']}#{number}"
        yield replace(row, values=pair_values)


def _others(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key not in ("image", "images")}


def _lists_images(values: dict[str, Any]) -> bool:
    """Whether its image is in a list or an object."""
    usual = {name for name in values if name.strip().lower() in IMAGE_NAMES}
    if not usual:
        return isinstance(values.get("images"), list)
    return usual == {"image"} and isinstance(values["image"], list | dict)


def _has_a_caption_each(values: dict[str, Any]) -> bool:
    images, captions = values.get("images"), values.get("captions")
    if not isinstance(images, list) or not isinstance(captions, list):
        return False
    return len(images) == len(captions) > 1 and all(isinstance(text, str) for text in captions)


def _one_by_one(row: TableRow, values: dict[str, Any]) -> Iterator[TableRow]:
    """One pair per image, with the caption at its place."""
    rest = {key: value for key, value in values.items() if key not in ("images", "captions")}
    pairs = zip(values["images"], values["captions"], strict=True)
    for number, (image, caption) in enumerate(pairs):
        identity = {"id": f"{rest['id']}#{number}"} if rest.get("id") is not None else {}
        pair_values = {**rest, **identity, "image": image_path(image), "caption": caption}
        yield replace(row, values=pair_values)


def _is_fiftyone(values: dict[str, Any]) -> bool:
    """A sample of FiftyOne's own format, whose labels are objects."""
    return isinstance(values.get("filepath"), str) and any(map(_is_label, values.values()))


def _is_label(value: Any) -> bool:
    return isinstance(value, dict) and value.get("_cls") == "Classification"


def _fiftyone(values: dict[str, Any]) -> dict[str, Any]:
    """The columns of the sample, with the texts of its labels."""
    identity = values.get("_id")
    own_id = {"id": identity["$oid"]} if isinstance(identity, dict) and "$oid" in identity else {}
    rest = {name: value for name, value in values.items() if name != "_id"}
    texts = {name: v.get("label") if _is_label(v) else v for name, v in rest.items()}
    return {**own_id, **texts}


WHERE = (
    "Supported are: dataset_coco.json and dataset_flickr30k.json of Karpathy's splits "
    "(cs.stanford.edu/people/karpathy/deepimagesent, with the folder of COCO's train2014 and "
    "val2014, or of Flickr30k's images), and COCO's captions_*.json "
    "(cocodataset.org, with the folder of its images)."
)
#: Words in a path, and instructions for getting the dataset that they name.
_WHERE_TO_GET = {
    "coco": "COCO: images (train2014, val2014) from cocodataset.org into one folder, "
    "dataset_coco.json from cs.stanford.edu/people/karpathy/deepimagesent anywhere; then "
    "give dataset_coco.json and that folder.",
    "flickr30": "Flickr30k: images on request from shannon.cs.illinois.edu/DenotationGraph into "
    "one folder, dataset_flickr30k.json from cs.stanford.edu/people/karpathy/deepimagesent "
    "anywhere; then give dataset_flickr30k.json and that folder.",
    "imdb": "MM-IMDb: mmimdb.tar.gz from archive.org/details/mmimdb, unpacked; then give the "
    "folder that holds `dataset/` with a .json and a .jpeg per film.",
}
#: Maximum size of a film's JSON file.
_MOST_BYTES = 4_000_000
#: Karpathy's names of splits; `restval` is part of the training split, as usual.
_SPLITS = {**WORDS, "restval": "train"}


def where_to_get(path: Path) -> str:
    """If the path names a known dataset that is missing, a sentence on how to get it; else ""."""
    name = path.name.lower()
    return next((f" {advice}" for word, advice in _WHERE_TO_GET.items() if word in name), "")


def annotation_rows(
    path: Path, encoding: str = "utf-8-sig", folders: Sequence[Path] = ()
) -> Iterator[TableRow]:
    """One row per image (Karpathy), caption (COCO) or object of a list. Raises
    DatasetFormatError for others, and for text that is not in `encoding`."""
    with as_utf8(path, encoding, folders) as copy:
        try:
            file = JsonFile(path, copy, folders)
        except DatasetFormatError as problem:
            raise DatasetFormatError(f"{problem} {WHERE}") from problem
        yield from _rows_of(file, path, folders[-1] if folders else path.parent)


def _rows_of(file: JsonFile, path: Path, root: Path) -> Iterator[TableRow]:
    name = path.name
    if (rows := table_rows(file, name)) is not None:
        yield from rows
        return
    if problem := unread_json(file.arrays, name):
        raise DatasetFormatError(problem)
    for form in row_forms():
        if (rows := form.rows_of_file(file)) is not None:
            yield from rows
            return
    is_row = is_one_row(file, path)
    if maps := maps_in(file, path, root, is_row):
        yield from rows_by_picture(file, maps, (path.parent, root))
        return
    if is_row:
        yield unique_names(file.members()).row(1)
        return
    if file.arrays and all(name.lower() in WORDS for name in file.arrays):
        yield from _splits_of(file)
        return
    is_list = len(file.arrays) == 1 and not file.arrays.keys() & {"images", "classes"}
    if file.is_array or file.is_lines or is_list:
        yield from _read_array(file, next(iter(file.arrays), None))
        return
    if "images" not in file.arrays:
        saw = ", ".join(f"'{trim(name)}'" for name in sorted(file.arrays)) or "no list"
        raise DatasetFormatError(
            f"'{name}' is a JSON object with {saw}: it holds no list of images, and is not a list "
            f"of rows either. {WHERE}"
        )
    if "annotations" in file.arrays:
        yield from _coco(file)
    else:
        yield from _karpathy(file)


def _splits_of(file: JsonFile) -> Iterator[TableRow]:
    """The rows of an object with a list for each split."""
    before = 0
    for name in file.arrays:
        number = 0
        for row in _read_array(file, name):
            number = row.number or number
            problem = row.problem and f"In '{name}': {row.problem}"
            split = WORDS[name.lower()]
            yield replace(row, number=before + number, problem=problem, split=split)
        before += number


def _read_array(file: JsonFile, array: str | None) -> Iterator[TableRow]:
    number = 0
    for value in file.objects(array):
        is_of_objects = isinstance(value, list) and all(isinstance(each, dict) for each in value)
        for item in value if is_of_objects else [value]:  # several arrays in one: `jq -s`
            number += 1
            if isinstance(item, UniqueNames):
                yield item.row(number)
            elif isinstance(item, list):
                yield TableRow(
                    number, None,
                    "This row is a list whose cells have no names. Write the table with them: "
                    "to_json(orient='records') of pandas.",
                )  # fmt: skip
            else:
                yield TableRow(number, None, "This is not an object with an image and a caption.")


def _karpathy(file: JsonFile) -> Iterator[TableRow]:
    for number, image in enumerate(file.objects("images"), 1):
        if isinstance(image, UniqueNames) and image.twice is not None:
            yield image.row(number)
            continue
        try:
            name = "/".join(part for part in (image.get("filepath"), image["filename"]) if part)
            captions = [_sentence(sentence) for sentence in image["sentences"]]
            split = str(image.get("split", ""))
            identity = image.get("cocoid", image.get("imgid"))
        except (AttributeError, KeyError, TypeError) as problem:
            yield TableRow(number, None, f"This image lacks {problem} or is not an object.")
            continue
        yield TableRow(
            number,
            {
                "file_name": name,
                "caption": Captions(captions),
                "split": _SPLITS.get(split, split),
            }
            | ({} if identity is None else {"id": str(identity)}),
        )


def _sentence(sentence: dict[str, Any]) -> str:
    """The text, or, of copies that have only the tokens, these put together. Raises KeyError."""
    if "raw" not in sentence and isinstance(sentence.get("tokens"), list):
        return join_tokens([str(token) for token in sentence["tokens"]])
    return sentence["raw"]


def _coco(file: JsonFile) -> Iterator[TableRow]:
    with closing(Names()) as names:
        for image in file.objects("images"):
            if isinstance(image, dict):
                names[image.get("id")] = image.get("file_name")
        for number, annotation in enumerate(file.objects("annotations"), 1):
            if isinstance(annotation, UniqueNames) and annotation.twice is not None:
                yield annotation.row(number)
                continue
            try:
                # Our own exports add the pair's id and its other columns to COCO's fields.
                caption = annotation["caption"]
                identity = annotation.get("pair_id", annotation.get("id"))
                name = _name_of(names, annotation["image_id"])
                others = {k: v for k, v in annotation.items() if k not in ("image_id", "pair_id")}
            except AmbiguousName as problem:
                message = (
                    f"Several images have the id {trim(str(problem))}, so that the picture of "
                    "this caption is uncertain. Give every image an id of its own."
                )
                yield TableRow(number, None, message)
                continue
            except KeyError as problem:
                field = problem.args[0]
                message = (
                    f"There is no image with the id {trim(str(field))}."
                    if field not in ("caption", "image_id")
                    else f"This annotation has no '{field}'."
                )
                if field == "caption" and "category_id" in annotation:
                    message += " It is of an object: the captions are in another file."
                yield TableRow(number, None, message)
                continue
            except (AttributeError, TypeError):
                yield TableRow(number, None, "This annotation is not an object.")
                continue
            own_id = {} if identity is None else {"id": str(identity)}
            columns = {"file_name": name, "caption": caption} | own_id
            yield TableRow(number, {**others, **columns})


def _name_of(names: Names, identity: Any) -> Any:
    """The name of an image; if no image has just this id, of the one whose id is the same number as
    text, or the same text as a number. Raises KeyError, AmbiguousName."""
    try:
        return names[identity]
    except KeyError:
        other: Any = str(identity)
        if isinstance(identity, str):
            other = int(identity) if re.fullmatch(r"0|-?[1-9]\d{0,17}", identity) else identity
        if isinstance(identity, bool) or other == identity:
            raise
    try:
        return names[other]
    except KeyError:
        raise KeyError(identity) from None


def is_mm_imdb(folder: Path) -> bool:
    """Whether the folder contains films: `<id>.json` with `<id>.jpeg`."""
    first = next((p for p in sorted(folder.glob("*.json")) if p.stem.isdigit()), None)
    return first is not None and first.with_suffix(".jpeg").is_file()


def mm_imdb_rows(folder: Path, texts: TextReader) -> Iterator[TableRow]:
    """One row per film, in order of id; the row number is the position in that order."""
    for number, path in enumerate(sorted(folder.glob("*.json")), 1):
        if not path.stem.isdigit():
            continue
        try:
            content = read_within(folder, path, _MOST_BYTES)
            film = json_object(texts.decode(content, trim(path.name)))
            plot = film.get("plot outline") or next(iter(film.get("plot") or []), "")
        except DatasetFormatError as problem:
            yield TableRow(number, None, str(problem))
            continue
        except OSError as problem:
            reason = problem.strerror or str(problem)
            yield TableRow(number, None, f"'{trim(path.name)}' cannot be opened: {reason}.")
            continue
        except (ValueError, RecursionError, AttributeError, TypeError):
            yield TableRow(number, None, f"'{trim(path.name)}' is not a JSON object with a plot.")
            continue
        yield TableRow(
            number,
            {
                "file_name": path.with_suffix(".jpeg").name,
                "caption": plot,
                "id": path.stem,
                "split": split_of(path.stem),
            },
        )


def split_of(identity: str) -> str:
    """Split by a hash of the id: 80 % train, 10 % validation, 10 % test."""
    place = int.from_bytes(hashlib.sha256(identity.encode()).digest()[:4], "big") / 2**32
    return "train" if place < 0.8 else "validation" if place < 0.9 else "test"
