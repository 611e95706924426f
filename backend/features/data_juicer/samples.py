"""Samples of Data-Juicer: a text with marks for its images, in chunks that end with a mark.

Its converter from LLaVA's JSON (`llava_to_dj` of py-data-juicer 1.6.1) leaves LLaVA's `<image>` in
the text and writes the turns of a conversation behind `[[human]]: ` and `[[gpt]]: `.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from backend.datasets.cells import TableRow
from backend.datasets.reading.conversations import NoPair, image_path
from backend.datasets.reading.row_forms import RowContext, RowForm
from db.texts import is_blank

#: Special tokens (data_juicer/utils/mm_utils.py: SpecialTokens).
_IMAGE, _END = "<__dj__image>", "<|__dj__eoc|>"
_LLAVA_IMAGE = "<image>"
_TURN = re.compile(r"^\[\[(\w+)\]\]: ", re.MULTILINE)


def _is_sample(values: dict[str, Any], _: RowContext) -> bool:
    text = values.get("text")
    return (
        isinstance(text, str)
        and isinstance(values.get("images"), list)
        and (_IMAGE in text or _END in text)
    )


def _rows(row: TableRow, values: dict[str, Any], _: RowContext) -> Iterator[TableRow]:
    """A row with `image` and `text` for each chunk: the n-th mark in the text is the n-th image. A
    sample with turns is one row with `images` and `conversations`, as LLaVA has them."""
    images = [image_path(image) for image in values["images"]]
    text = values["text"]
    if _IMAGE not in text:
        text = text.replace(_LLAVA_IMAGE, _IMAGE)
    marks = text.count(_IMAGE)
    if marks != len(images):
        raise NoPair(
            f"Its text has {marks} image marks ({_IMAGE}), but its list has {len(images)} images."
        )
    rest = {key: value for key, value in values.items() if key not in ("images", "text")}
    # A blank stands between a text and the mark of its end.
    chunks = [chunk.removesuffix(" ") for chunk in text.split(_END) if not is_blank(chunk)]
    if _TURN.match(text):
        turns = _turns("\n".join(chunk.removeprefix("\n") for chunk in chunks))
        yield replace(row, values={**rest, "images": images, "conversations": turns})
        return
    place = 0
    for number, chunk in enumerate(chunks):
        count = chunk.count(_IMAGE)
        chunk_images, place = images[place : place + count], place + count
        if count != 1:
            yield TableRow(
                row.number, None,
                f"Piece {number + 1} of its text shows {count} images; a pair has one.",
            )  # fmt: skip
            continue
        chunk_values = {**rest, "text": chunk.replace(_IMAGE, "").strip(), "image": chunk_images[0]}
        if len(chunks) > 1 and rest.get("id") is not None:
            chunk_values["id"] = f"{rest['id']}#{number}"
        yield replace(row, values=chunk_values)


def _turns(text: str) -> list[dict[str, str]]:
    starts = [*_TURN.finditer(text)]
    ends = [start.start() - 1 for start in starts[1:]] + [len(text)]  # less a line break
    return [
        {"from": start[1], "value": text[start.end() : end].replace(_IMAGE, _LLAVA_IMAGE)}
        for start, end in zip(starts, ends, strict=True)
    ]


FORM = RowForm(_is_sample, _rows)
