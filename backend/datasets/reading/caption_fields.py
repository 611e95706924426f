"""Captions of several kinds of one picture (short, long, tags), each under a name of its own: a
column, a field of JSON, or what the name of a text beside a picture ends with (`tags` of
a_tags.txt).

Which of them a caption is is kept among the source's other columns, so that queues, tables and
exports treat it as they treat each of these.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import PurePosixPath
from typing import Any

from backend.datasets.cells import trim
from backend.datasets.columns import LIST_NAMES, OBJECT_NAMES, usual_name
from backend.datasets.read_options import CAPTIONS, PICTURES, where_to_state
from backend.errors import DatasetFormatError

#: The column with the name of the field that a caption was read from.
FIELD_COLUMN = "caption_field"
#: Instead of names: every field that is named like a caption.
ALL = "all"
#: The kind of a text that has the name of its picture.
PLAIN = "caption"
#: Parts of names by which a column holds captions ("blip_caption"), and by which it says something
#: about them ("caption_id").
_CAPTIONS = frozenset(
    ("caption", "captions", "recaption", "text", "description", "tags", "alt", "prose")
)
_ABOUT = frozenset(
    ("id", "ids", "kind", "field", "json", "writer", "model", "original", "own", "length", "score",
     "prompt", "date", "lang", "language", "source", "url", "path", "count", "hash")
)  # fmt: skip
_PARTS = re.compile(r"[^\W_]+")
#: What stands between a picture's name and the kind in the name of a text.
MARKS = "_-."
#: The share of a folder's pictures beside which a kind of an unknown name stands.
_USUAL = 0.5


def parts_of(name: str) -> list[str]:
    """The words of a column's name.

    >>> parts_of("image/Key_2")
    ['image', 'key', '2']
    """
    return _PARTS.findall(name.lower())


def is_caption_name(name: str) -> bool:
    """Whether a column is named like captions.

    >>> [is_caption_name(name) for name in ("short", "blip_caption", "caption_id", "width")]
    [True, True, False, False]
    """
    parts = set(parts_of(name))
    return name.strip().lower() in OBJECT_NAMES or bool(parts & _CAPTIONS and not parts & _ABOUT)


def chosen_names(text: str | None) -> tuple[str, ...]:
    """The names that a person chose, with commas between; () for none.

    >>> chosen_names(" tags,short "), chosen_names(None)
    (('tags', 'short'), ())
    """
    return tuple(dict.fromkeys(name for part in (text or "").split(",") if (name := part.strip())))


def chosen_cells(
    row: Mapping[str, Any], column: str, chosen: tuple[str, ...]
) -> list[tuple[str, str, Any]]:
    """The name, the column and the cell of each field of a row that was chosen, that of its column
    of captions first; those without content are left out, unless all of them are."""
    if not chosen:
        return []
    own = str(row.get(FIELD_COLUMN) or column)
    names = list(row) if chosen == (ALL,) else chosen
    cells = [(own, column, row.get(column))] if own in chosen or chosen == (ALL,) else []
    for name in names:
        if name not in (own, column) and (chosen != (ALL,) or is_caption_name(name)):
            # The name of a known field says how a list in it is read.
            field = "tags" if parts_of(name)[-1:] == ["tags"] else name
            cell = row.get(name)
            is_known = usual_name([field], OBJECT_NAMES) and isinstance(cell, list)
            cells.append((name, name, {field: cell} if is_known else cell))
    filled = [cell for cell in cells if not _is_empty(row.get(cell[1]))]
    return filled or cells[:1]


def _is_empty(cell: Any) -> bool:
    return cell in (None, [], {}) or (isinstance(cell, str) and not cell.strip())


def main_kind(numbers: Counter[str], pictures: int, language: str | None) -> str:
    """The kind of the captions of a source: one for all pictures, so that no two are mixed. That of
    the language, else the plain one if half of the pictures have it, else the most usual.
    `numbers`: how many of the pictures with a text have each kind ("": a text with the picture's
    name).

    Raises DatasetFormatError where several are as usual as each other.

    >>> main_kind(Counter({"": 5, "tags": 9}), 9, None), main_kind(Counter(de=2, en=2), 2, "en")
    ('', 'en')
    """
    if language and (name := usual_name(numbers, [language.lower()])):
        return name
    if numbers[""] >= _USUAL * pictures:
        return ""
    most = max(numbers.values())
    usual = [kind for kind in numbers if numbers[kind] == most]
    texts = [kind for kind in usual if kind.lower() not in LIST_NAMES] or usual
    if name := texts[0] if len(texts) == 1 else usual_name(texts, OBJECT_NAMES):
        return name
    names = ", ".join(f"'{trim(kind, 80)}'" for kind in sorted(texts))
    raise DatasetFormatError(
        f"Beside pictures are captions of several kinds ({names}), and which are meant is "
        "uncertain. Choose one.",
        **where_to_state("caption_fields"),
    )


def kind_of(columns: Mapping[str, Any]) -> str:
    """The kind of caption that the columns of a pair name; "" for none."""
    name = columns.get(FIELD_COLUMN)
    return name if isinstance(name, str) else ""


def name_caption(columns: Mapping[str, Any], caption: str) -> Mapping[str, Any]:
    """The columns of an exported pair, with its caption under its own name as well."""
    kind = kind_of(columns)
    return columns if kind in ("", PLAIN) else {**columns, kind: caption}


def ending_of(kind: str) -> str:
    """What the name of a text beside a picture ends with, where the source has none.

    >>> ending_of("short caption"), ending_of("caption")
    ('_short_caption', '')
    """
    return "" if kind in ("", PLAIN) else "_" + re.sub(r"[^\w-]+", "_", kind)


def texts_by_field(
    names: Iterable[str], endings: tuple[str, ...] = CAPTIONS
) -> dict[str, dict[str, str]]:
    """Of the pictures of a folder, the texts of other kinds beside them: those whose names are a
    picture's, a mark, and a kind that is named like a caption or stands beside most pictures.
    `a.jpg.txt` is of no other kind.

    >>> texts_by_field(["a.jpg", "a.txt", "a_tags.txt"])
    {'a.jpg': {'tags': 'a_tags.txt'}}
    """
    names = sorted(names)
    pictures: dict[str, list[str]] = {}
    for name in names:
        if name.lower().endswith(PICTURES):
            pictures.setdefault(PurePosixPath(name).stem, []).append(name)
    names_of_pictures = set(chain.from_iterable(pictures.values()))
    texts = [
        (*pictures[stem], field, name)
        for name in names
        if name.lower().endswith(endings)
        and PurePosixPath(name).stem not in names_of_pictures
        and (owner := _owner(PurePosixPath(name).stem, pictures))
        for stem, field in [owner]
        if len(pictures[stem]) == 1
    ]
    numbers = Counter(field for _, field, _ in texts)
    by_picture: dict[str, dict[str, str]] = {}
    for picture, field, name in texts:
        is_usual = numbers[field] > 1 and numbers[field] >= _USUAL * len(pictures)
        if is_usual or is_caption_name(field):
            by_picture.setdefault(picture, {}).setdefault(field, name)
    return by_picture


def texts_unread(names: Iterable[str]) -> tuple[str, str]:
    """Of the files in a folder, one beside a picture that would be read if it were called
    otherwise, and that name; "" if there is none.

    >>> texts_unread(["a.jpg", "b.jpg", "a.de", "b.de"])
    ('a.de', 'a_de.txt')
    >>> texts_unread(["a.jpg", "b.jpg", "a_de.json", "b_de.json"])
    ('a_de.json', 'a.json')
    """
    names = sorted(names)
    stems = {PurePosixPath(name).stem for name in names if name.lower().endswith(PICTURES)}
    for picture, by_kind in sorted(texts_by_field(names, (".json",)).items()):
        return next(iter(by_kind.values())), f"{PurePosixPath(picture).stem}.json"
    others = [PurePosixPath(n) for n in names if not n.lower().endswith((*PICTURES, ".json"))]
    beside = [path for path in others if path.suffix[1:].isalpha() and path.stem in stems]
    numbers = Counter(path.suffix for path in beside)
    usual = (p for p in beside if numbers[p.suffix] >= max(2, _USUAL * len(stems)))
    file = next(usual, None)
    return (file.name, f"{file.stem}_{file.suffix[1:]}.txt") if file else ("", "")


def _owner(stem: str, pictures: Mapping[str, Any]) -> tuple[str, str] | None:
    """The longest name of a picture that this one begins with, and the kind behind it."""
    if stem in pictures:
        return None
    for end in reversed(range(1, len(stem))):
        if stem[end] in MARKS and stem[:end] in pictures:
            field = stem[end + 1 :]
            return (stem[:end], field) if any(map(str.isalpha, field)) else None
    return None
