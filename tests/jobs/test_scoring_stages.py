"""The time left of a scoring job over all of its stages."""

import pytest

from backend.jobs.stage import with_time_left
from backend.progress import Pace

EXPECTED = {"Trajectories": 50.0, "Copies": 200.0, "Corrections": 60.0}
Tick = tuple[float, int, int, str]


@pytest.mark.parametrize(
    ("ticks", "line"),
    [
        # Before a stage has a rate, the sample tells.
        ([(0, 0, 100, "Trajectories")], "Trajectories · 5 min left"),
        # The observed rate replaces it: 80 s and the 260 s of later stages.
        ([(0, 0, 100, "Trajectories"), (80, 50, 100, "Trajectories")],
         "Trajectories · 38 a minute, 6 min left"),
        ([(100, 0, 150, "Copies"), (110, 100, 150, "Copies")],
         "Copies · 10.0 a second, 65 s left"),
        # A resumed stage has the rate of this job.
        ([(0, 400, 500, "Trajectories"), (20, 420, 500, "Trajectories")],
         "Trajectories · 1.0 a second, 6 min left"),
        ([(400, 12, 12, "Corrections")], "Corrections"),
        ([(0, 0, 0, "Loading the model")], "Loading the model"),
    ],
)  # fmt: skip
def test_a_page_shows_the_time_left_of_the_job(ticks: list[Tick], line: str) -> None:
    pace, lines = Pace(), list[str]()
    for now, done, total, stage in ticks:
        with_time_left(
            lambda done, total, text, now=now: lines.append(pace.describe(done, total, text, now)),
            EXPECTED,
        )(done, total, stage)
    assert lines[-1] == line
