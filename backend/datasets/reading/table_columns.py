"""What each column of a table says, by its name and its first values, unless that was stated."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from backend.datasets.cells import UNREAD_BYTES, EmbeddedImage, plain_text, trim
from backend.datasets.columns import (
    CAPTION_NAMES,
    PICTURE_NAMES,
    WEAK_IDS,
    Columns,
    find_columns,
    listed_names,
    usual_name,
)
from backend.datasets.read_options import ReadOptions
from backend.datasets.reading.guessed_columns import column_of_pictures
from backend.datasets.reading.named_pictures import PicturesBelow

#: A column with a larger share of repeated values is not an id column, whatever its name.
_REPEATED = 0.1


def detect_columns(
    rows: Sequence[Mapping[str, Any]],
    table: str,
    captions: str,
    options: ReadOptions,
    pictures: PicturesBelow,
    note: Callable[[str], None],
) -> Columns:
    """Detect the role of each column by the first rows of a table; `captions`: the column of
    captions, "" to detect it. A column with repeated values is used for ids only if requested."""
    names = list(dict.fromkeys(key for row in rows for key in row))
    picture_columns = {
        key for row in rows for key, value in row.items() if isinstance(value, EmbeddedImage)
    }
    unread = dict.fromkeys(
        key for row in rows for key, value in row.items() if value is UNREAD_BYTES
    )
    names = [name for name in names if name not in unread]
    if options.uncaptioned and not usual_name(names, CAPTION_NAMES):
        names.append("caption")  # a column without a text
    image = options.image_column
    if image is None and not picture_columns and not usual_name(names, PICTURE_NAMES):
        image = column_of_pictures(names, rows, pictures)
        if image is not None:
            note(f"'{table}': '{trim(image)}' names the pictures.")
    columns = find_columns(
        names, table, image, captions or None, options.id_column,
        options.split_column, options.writer_column, picture_columns, unread,
    )  # fmt: skip
    if unread:
        note(
            f"'{table}': bytes that are neither pictures nor text are left out: "
            f"{listed_names(unread)}."
        )
    if columns.writer and options.writer_column is None:
        note(f"'{table}': '{columns.writer}' says who or what wrote each caption.")
    if columns.id is None or options.id_column is not None:
        return columns
    values = [text for row in rows if (text := plain_text(row.get(columns.id)))]
    repetitions = len(values) - len(set(values))
    weak = columns.id.strip().lower() in WEAK_IDS
    if repetitions > (0 if weak else _REPEATED * len(values)):
        note(
            f"'{table}': values of '{columns.id}' repeat, so they are not ids; ids are derived "
            "from image and caption. (To use them anyway, name that column as the ids'.)"
        )
        return replace(columns, id=None)
    return columns
