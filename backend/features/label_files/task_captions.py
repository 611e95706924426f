"""Captions that people wrote in Label Studio, in tasks with their annotations (JSON)."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from backend.datasets.cells import TableRow
from backend.datasets.columns import CAPTION_NAMES
from backend.datasets.reading.caption_texts import Captions
from backend.datasets.reading.conversations import NoPair
from backend.datasets.reading.row_forms import RowContext, RowForm
from db.texts import is_blank

#: Texts of parts of the picture; a text with one of the keys of _PLACE is of such a part.
REGION_TEXTS = "region_texts"
_PLACE = {"x", "y", "width", "height", "points", "rle", "start", "end"}
#: Names of controls whose texts are about the task, and no captions.
NOTES = re.compile(r"note|comment|reason|remark", re.IGNORECASE)


def captions_of_task(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The columns of a task for each annotation with a caption, and its writer; the last one has
    the task's id. Texts of a region are no captions of the picture: they stay in `REGION_TEXTS`.
    Raises NoPair for a task without a caption."""
    data, identity = dict(values["data"]), values.get("id")
    annotations = [each for each in values["annotations"] if _is_submitted(each)]
    answers = [(each, texts) for each in annotations if (texts := _written_texts(each))]
    captions = [(each, texts) for each, texts in answers if "caption" in texts]
    others = {name: text for _, texts in answers for name, text in texts.items()}
    others.pop("caption", None)
    if not captions:
        if "caption" not in data:
            raise NoPair("This task has no annotation with a text about the whole picture.")
        yield {"id": identity, **others, **data}
    for number, (annotation, texts) in enumerate(captions, 1):
        is_last = number == len(captions) or identity is None
        person = annotator_of(annotation)
        yield {
            "id": identity if is_last else f"{identity}#{number}",
            **others,
            **data,
            "caption": texts["caption"],
            **({"writer": person, "writer_kind": "person"} if person else {}),
        }


def _is_submitted(annotation: Any) -> bool:
    is_one = isinstance(annotation, dict) and isinstance(annotation.get("result"), list)
    return is_one and not annotation.get("was_cancelled")


def _written_texts(annotation: Mapping[str, Any]) -> dict[str, Any]:
    """What was typed: `caption`, the texts of regions, and others by the names of their controls.

    A control named like a caption has it, where there is one; else all but notes do.
    """
    by_control: dict[str, list[str]] = {}
    regions: list[dict[str, Any]] = []
    for result in annotation["result"]:
        value = result.get("value") if isinstance(result, dict) else None
        if not isinstance(value, dict) or not isinstance(value.get("text"), str | list):
            continue
        texts = [text for text in texts_in(value["text"]) if not is_blank(text)]
        if not texts:
            continue
        if _PLACE & value.keys():
            regions.append({key: value[key] for key in value if key != "text"} | {"texts": texts})
        else:
            by_control.setdefault(str(result.get("from_name") or "caption"), []).extend(texts)
    controls = [name for name in by_control if not NOTES.search(name)]
    named = [name for name in controls if name.strip().lower() in CAPTION_NAMES]
    captions = [text for name in named or controls for text in by_control.pop(name)]
    columns: dict[str, Any] = {name: "\n".join(texts) for name, texts in by_control.items()}
    if captions:
        columns["caption"] = captions[0] if len(captions) == 1 else Captions(captions)
    return columns | ({REGION_TEXTS: regions} if regions else {})


def annotator_of(annotation: Mapping[str, Any]) -> str:
    """Who annotated, "" if nobody says: a number, an address or a name."""
    return next(iter(names_of(annotation.get("completed_by"))), "")


def names_of(person: Any) -> tuple[str, ...]:
    """What a person is called, the name to show first; empty if nobody is named.

    >>> names_of({"id": 1, "email": "ada@example.org", "first_name": "Ada"}), names_of(2)
    (('ada@example.org', 'Ada', '1'), ('2',))
    """
    if isinstance(person, dict):
        whole = " ".join(str(person[n]) for n in ("first_name", "last_name") if person.get(n))
        names = (person.get("email"), person.get("username"), whole, person.get("id"))
    else:
        names = (person,)
    texts = ("" if name is None else str(name).strip() for name in names)
    return tuple(dict.fromkeys(filter(None, texts)))


def texts_in(content: Any) -> Iterable[str]:
    """The texts in an answer; numbers are written as text."""
    if isinstance(content, list):
        for part in content:
            yield from texts_in(part)
    elif content is not None and not isinstance(content, dict):
        yield str(content)


def _is_task(values: Mapping[str, Any], _: RowContext) -> bool:
    """Whether it is a task as Label Studio exports it in its form `JSON`."""
    return isinstance(values.get("data"), dict) and isinstance(values.get("annotations"), list)


def _rows(row: TableRow, values: Mapping[str, Any], _: RowContext) -> Iterator[TableRow]:
    return (replace(row, values=columns) for columns in captions_of_task(values))


FORM = RowForm(_is_task, _rows)
