"""Which columns of a table hold pictures and captions where none has a usual name: that whose
values name pictures below the dataset's folder, and those that are named like captions."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from backend.datasets.cells import plain_text
from backend.datasets.columns import CAPTION_NAMES
from backend.datasets.reading.caption_fields import is_caption_name, parts_of
from backend.datasets.reading.named_pictures import PicturesBelow

#: Different values of a column that all have to be the names of pictures.
_SAMPLE = 20
#: Parts of the names of columns that may name pictures: a height may be a picture's number too.
_NAMING = frozenset(
    ("image", "img", "picture", "photo", "file", "name", "path", "key", "id", "uid")
)  # fmt: skip
_NUMBERED = re.compile(r"([a-z_]*[a-z])[ _.-]?\d{1,3}")


def column_of_pictures(
    names: Iterable[str], rows: Sequence[Mapping[str, Any]], pictures: PicturesBelow
) -> str | None:
    """The first column whose first values are all the names of pictures; None if there is none, or
    another names other pictures."""
    pictures_by_column: dict[str, list[list[str]]] = {}
    for name in names:
        if not _NAMING & {*parts_of(name)}:
            continue
        values = dict.fromkeys(text for row in rows if (text := plain_text(row.get(name))))
        named = [pictures.ending_in(value) for value in islice(values, _SAMPLE)]
        if named and all(named):
            pictures_by_column[name] = named
    if not pictures_by_column:
        return None
    column, named = next(iter(pictures_by_column.items()))
    return column if all(each == named for each in pictures_by_column.values()) else None


def caption_columns(names: Collection[str]) -> tuple[str, ...]:
    """The columns with captions where none is just called so: those that are numbered, each a
    caption of the picture, or the only one that is named like captions.

    >>> caption_columns(["image", "caption_0", "caption_1"]), caption_columns(["blip_caption"])
    (('caption_0', 'caption_1'), ('blip_caption',))
    >>> caption_columns(["short_caption", "blip_caption"]), caption_columns(["caption_id"])
    ((), ())
    """
    numbered: dict[str, list[str]] = {}
    for name in names:
        match = _NUMBERED.fullmatch(name.strip().lower())
        if match and match[1] in CAPTION_NAMES:
            numbered.setdefault(match[1], []).append(name)
    if numbered:
        return tuple(numbered[min(numbered, key=CAPTION_NAMES.index)])
    like = tuple(filter(is_caption_name, names))
    return like if len(like) == 1 else ()
