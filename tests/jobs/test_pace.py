"""Descriptions of the rate and the time left."""

import pytest

from backend.progress import Pace


@pytest.mark.parametrize(
    ("done", "seconds", "description"),
    [
        (1, 1.0, "Scoring"),
        (0, 60.0, "Scoring"),
        (400, 100.0, "Scoring · 4.0 a second, 25 s left"),
        (10, 100.0, "Scoring · 6 a minute, 82 min left"),
        (1, 100.0, "Scoring · 36 an hour, 13.9 h left"),
        (500, 100.0, "Scoring"),
    ],
)
def test_rate_and_time_left_are_described(done: int, seconds: float, description: str) -> None:
    pace = Pace()
    assert pace.describe(0, 500, "Scoring", 0.0) == "Scoring"
    assert pace.describe(done, 500, "Scoring", seconds) == description


def test_each_stage_has_a_separate_pace() -> None:
    pace = Pace()
    pace.describe(0, 500, "Scoring", 0.0)
    pace.describe(400, 500, "Scoring", 100.0)
    assert pace.describe(400, 500, "Concreteness", 101.0) == "Concreteness"
