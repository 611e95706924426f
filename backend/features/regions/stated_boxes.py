"""Boxes that a source states beside descriptions of things in a picture, and whether what speaks
for a word lies in the box of its description.

Only forms whose meaning is published are read, both with the upper, left, lower and right edge in
thousandths of the picture: `bbox` beside `desc` in a list `elements` (Ideogram's captions), and
`box_2d` beside a text (Gemini's answers). Of any other box neither the order nor the unit is known.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from backend.engine.english.word_lists import CLOSED_CLASS
from backend.engine.scoring.protocol import Box

_UNITS = 1000
_TEXTS = ("desc", "label", "description", "caption", "text")
_DEEPEST, _MOST = 8, 500
#: Share of the smaller of two boxes in which they overlap, so that one counts as inside the other:
#: a region is coarse, and often larger than a small thing.
_INSIDE = 0.5
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class StatedBox:
    """`box`: x0, y0, x1, y1 as shares of the picture's width and height."""

    text: str
    box: Box


def stated_boxes(columns: Mapping[str, Any]) -> tuple[StatedBox, ...]:
    """The boxes in the other columns of a pair.

    >>> stated_boxes({"elements": [{"desc": "A dog.", "bbox": [500, 0, 1000, 250]}]})
    (StatedBox(text='A dog.', box=(0.0, 0.5, 0.25, 1.0)),)
    """
    boxes = []
    for name, value in columns.items():
        for box in _boxes_in(value, name, 0):
            boxes.append(box)
            if len(boxes) == _MOST:
                return tuple(boxes)
    return tuple(boxes)


def _boxes_in(value: Any, name: str, depth: int) -> Iterator[StatedBox]:
    if depth > _DEEPEST:
        return
    if isinstance(value, list):
        for item in value:
            yield from _boxes_in(item, name, depth + 1)
    elif isinstance(value, dict):
        edges = value.get("box_2d")
        if edges is None and name == "elements" and "desc" in value:
            edges = value.get("bbox")
        text = next((value[field] for field in _TEXTS if field in value), None)
        if isinstance(text, str) and (box := _box_of(edges)) is not None:
            yield StatedBox(text, box)
        for field, inner in value.items():
            yield from _boxes_in(inner, str(field), depth + 1)


def _box_of(edges: Any) -> Box | None:
    if not isinstance(edges, list) or len(edges) != 4:
        return None
    if not all(isinstance(edge, int | float) and not isinstance(edge, bool) for edge in edges):
        return None
    top, left, bottom, right = (edge / _UNITS for edge in edges)
    is_box = 0 <= top < bottom <= 1 and 0 <= left < right <= 1
    return (left, top, right, bottom) if is_box else None


def compare_with_stated(
    words: str, region: Box | None, size: tuple[int, int], boxes: Sequence[StatedBox]
) -> tuple[Box | None, bool | None]:
    """The box in which these words of a caption are expected, in pixels of the picture of `size`,
    and whether the region that speaks for them is there; None: no description says them, nothing
    in the picture speaks for them, or all of it does. Of several descriptions the one nearest to
    the region counts."""
    wanted = _contents(words)
    width, height = size
    expected = [
        (x0 * width, y0 * height, x1 * width, y1 * height)
        for x0, y0, x1, y1 in (stated.box for stated in boxes if wanted <= _contents(stated.text))
        if wanted
    ]
    if not expected:
        return None, None
    if region is None or _overlap(region, (0, 0, width, height), of=1) >= 1:
        return expected[0], None
    overlap, nearest = max(((_overlap(region, box), box) for box in expected), key=lambda e: e[0])
    return nearest, overlap >= _INSIDE


def _contents(text: str) -> frozenset[str]:
    words = _WORD.findall(text.lower())
    return frozenset(word for word in words if word not in CLOSED_CLASS)


def _overlap(first: Box, second: Box, of: int | None = None) -> float:
    """As a share of the smaller one, or of this one."""
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (first, second)]
    whole = min(areas) if of is None else areas[of]
    return max(0.0, width) * max(0.0, height) / max(whole, 1e-9)
