"""A region drawn on the map, encoded for a URL: corners in thousandths of the map's sides,
simplified to at most `MOST_CORNERS` by removing the corner that changes the shape least
(Visvalingam and Whyatt).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

#: As many corners as fit into the 200 characters of a queue's field.
MOST_CORNERS = 22
#: Grid resolution along a side of the map.
STEPS = 1000
_FORM = re.compile(r"([0-9]{1,10}):([0-9]{1,4}-[0-9]{1,4}(?:\.[0-9]{1,4}-[0-9]{1,4})*)")

Point = tuple[float, float]


@dataclass(frozen=True)
class Region:
    """A polygon on the map computed by run `run_id`; corners are in the unit square."""

    run_id: int
    corners: tuple[Point, ...]


def drawn_region(run_id: int, line: Sequence[Point]) -> Region:
    """The region inside a freehand line. Raises ValueError if it encloses nothing."""
    corners: list[Point] = []
    for x, y in line:
        corner = (_snap(x), _snap(y))
        if corner not in corners[-1:]:
            corners.append(corner)
    if len(corners) > 1 and corners[0] == corners[-1]:
        corners.pop()
    corners = _simplify(corners)
    if len(corners) < 3:
        raise ValueError("the region encloses nothing")
    return Region(run_id, tuple(corners))


def region_text(region: Region) -> str:
    """The region as encoded in a URL.

    >>> region_text(Region(7, ((0.12, 0.34), (0.2, 0.345), (0.18, 0.41))))
    '7:120-340.200-345.180-410'
    """
    corners = (f"{round(x * STEPS)}-{round(y * STEPS)}" for x, y in region.corners)
    return f"{region.run_id}:{'.'.join(corners)}"


def parse_region(text: str) -> Region:
    """The inverse of `region_text`. Raises ValueError for invalid text."""
    match = _FORM.fullmatch(text)
    if match is None:
        raise ValueError(f"'{text}' is not a region of a map")
    corners = tuple(
        (int(x) / STEPS, int(y) / STEPS)
        for x, _, y in (corner.partition("-") for corner in match[2].split("."))
    )
    if not 3 <= len(corners) <= MOST_CORNERS:
        raise ValueError(f"a region has 3 to {MOST_CORNERS} corners, not {len(corners)}")
    if max(max(corner) for corner in corners) > 1:
        raise ValueError(f"a region's numbers are 0 to {STEPS}")
    return Region(int(match[1]), corners)


def _snap(value: float) -> float:
    """`value` clipped to the map and rounded to the grid of the encoding."""
    return round(min(1.0, max(0.0, value)) * STEPS) / STEPS


def _simplify(corners: list[Point]) -> list[Point]:
    """The polygon without collinear corners, reduced to at most `MOST_CORNERS`; empty if it has no
    area."""
    corners = list(corners)
    while len(corners) > 3:
        areas = [
            _area(corners[index - 1], corner, corners[(index + 1) % len(corners)])
            for index, corner in enumerate(corners)
        ]
        least = min(areas)
        if least > 1e-12 and len(corners) <= MOST_CORNERS:
            break
        corners.pop(areas.index(least))
    return corners if len(corners) < 3 or _area(*corners[:3]) > 1e-12 or len(corners) > 3 else []


def _area(a: Point, b: Point, c: Point) -> float:
    """Twice the area of a triangle."""
    return abs((b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1]))
