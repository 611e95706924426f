"""How fast and how long still, in words."""

import pytest

from backend.jobs import Pace


@pytest.mark.parametrize(
    ("done", "seconds", "said"),
    [
        (1, 1.0, "Scoring"),
        (0, 60.0, "Scoring"),
        (400, 100.0, "Scoring · 4.0 a second, 25 s left"),
        (10, 100.0, "Scoring · 0.1 a second, 82 min left"),
        (1, 100.0, "Scoring · 0.0 a second, 13.9 h left"),
        (500, 100.0, "Scoring"),
    ],
)
def test_pace(done: int, seconds: float, said: str) -> None:
    pace = Pace()
    assert pace.told(0, 500, "Scoring", 0.0) == "Scoring"
    assert pace.told(done, 500, "Scoring", seconds) == said


def test_each_stage_has_its_own_pace() -> None:
    pace = Pace()
    pace.told(0, 500, "Scoring", 0.0)
    pace.told(400, 500, "Scoring", 100.0)
    assert pace.told(400, 500, "Concreteness", 101.0) == "Concreteness"
