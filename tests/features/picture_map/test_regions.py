"""Regions of the map: short enough for a URL, and still the shape that was drawn."""

import math

import pytest

from backend.features.picture_map.regions import (
    MOST_CORNERS,
    drawn_region,
    parse_region,
    region_text,
)  # fmt: skip


def area(corners: tuple[tuple[float, float], ...]) -> float:
    following = (*corners[1:], corners[0])
    return abs(sum(a * d - c * b for (a, b), (c, d) in zip(corners, following, strict=True))) / 2


def test_a_circle_drawn_by_hand_stays_round_and_fits_a_url() -> None:
    turns = [2 * math.pi * n / 500 for n in range(501)]
    region = drawn_region(
        12345, [(0.5 + 0.3 * math.cos(t), 0.5 + 0.3 * math.sin(t)) for t in turns]
    )
    assert len(region.corners) == MOST_CORNERS
    assert area(region.corners) == pytest.approx(math.pi * 0.09, rel=0.03)
    text = region_text(region)
    assert len(text) <= 200
    assert parse_region(text) == region


def test_a_box_keeps_its_four_corners() -> None:
    line = [(0.1, 0.2), (0.3, 0.2), (0.5, 0.2), (0.5, 0.8), (0.1, 0.8), (0.1, 0.2)]
    assert drawn_region(1, line).corners == ((0.1, 0.2), (0.5, 0.2), (0.5, 0.8), (0.1, 0.8))


def test_corners_outside_the_map_are_clipped_to_its_edge() -> None:
    region = drawn_region(1, [(-3.0, -0.5), (1.7, -0.5), (1.7, 2.0), (-3.0, 2.0)])
    assert set(region.corners) == {(0, 0), (1, 0), (1, 1), (0, 1)}
    assert parse_region(region_text(region)) == region


@pytest.mark.parametrize(
    "line", [[], [(0.5, 0.5)], [(0.1, 0.1), (0.9, 0.9)], [(0.1, 0.1), (0.5, 0.5), (0.9, 0.9)]]
)
def test_a_region_without_area_is_refused(line: list[tuple[float, float]]) -> None:
    with pytest.raises(ValueError, match="encloses nothing"):
        drawn_region(1, line)


@pytest.mark.parametrize(
    "text",
    ["", "7", "7:", "7:1-2", "7:1-2.3-4", "x:1-2.3-4.5-6", "7:1-2.3-4.5-6.", "7:1001-2.3-4.5-6",
     "7:1-2.3-4.5-6;", "7:1-2.3-4.-5-6", "7:" + ".".join(["1-2"] * (MOST_CORNERS + 1)),
     "12345678901:1-2.3-4.5-6", "٧:1-2.3-4.5-6"],
)  # fmt: skip
def test_invalid_region_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="region"):
        parse_region(text)
