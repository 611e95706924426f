"""The time left of a scoring job over all of its stages."""

from backend.jobs.stage import with_time_left
from backend.progress import Pace

EXPECTED = {"Trajectories": 50.0, "Copies": 200.0, "Corrections": 60.0}


def described(*ticks: tuple[float, int, int, str]) -> list[str]:
    """What a page shows at (time, done, total, stage)."""
    pace, lines = Pace(), list[str]()
    for now, done, total, stage in ticks:
        with_time_left(
            lambda done, total, text, now=now: lines.append(pace.describe(done, total, text, now)),
            EXPECTED,
        )(done, total, stage)
    return lines


def test_before_a_stage_has_a_rate_the_sample_tells_the_time_left() -> None:
    (line,) = described((0, 0, 100, "Trajectories"))
    assert line == "Trajectories · 5 min left"


def test_the_observed_rate_replaces_what_was_expected_of_the_stage() -> None:
    *_, line = described((0, 0, 100, "Trajectories"), (80, 50, 100, "Trajectories"))
    assert line == "Trajectories · 38 a minute, 6 min left", "80 s and the 260 s of later stages"
    *_, line = described((100, 0, 150, "Copies"), (110, 100, 150, "Copies"))
    assert line == "Copies · 10.0 a second, 65 s left"


def test_a_resumed_stage_has_the_rate_of_this_job() -> None:
    *_, line = described((0, 400, 500, "Trajectories"), (20, 420, 500, "Trajectories"))
    assert line == "Trajectories · 1.0 a second, 6 min left"


def test_nothing_is_left_at_the_end_and_other_messages_have_no_time() -> None:
    assert described((400, 12, 12, "Corrections")) == ["Corrections"]
    assert described((0, 0, 0, "Loading the model")) == ["Loading the model"]
