"""The progress of a job over all of its stages: its bar, and the time left."""

import pytest

from backend.progress import Pace, Step, plan

COSTS = {"Trajectories": 50.0, "Copies": 200.0, "Corrections": 60.0}
Tick = tuple[float, int, int, str]


def steps_of(ticks: list[Tick], costs: dict[str, float], is_measured: bool) -> list[Step]:
    """One for each (time, done, total, stage)."""
    pace, steps = Pace(), list[Step]()
    for now, done, total, stage in ticks:

        def report(done: int, total: int, stage: str, now: float = now) -> None:
            steps.append(pace.step(done, total, stage, now))

        plan(report, costs, is_measured, ranks="Copies")(done, total, stage)
    return steps


@pytest.mark.parametrize(
    ("ticks", "facts"),
    [
        # Before a stage has a rate, the sample tells.
        ([(0, 0, 100, "Trajectories")], "5 min left"),
        # The observed rate replaces it: 80 s and the 260 s of later stages.
        ([(0, 0, 100, "Trajectories"), (80, 50, 100, "Trajectories")], "38 a minute, 6 min left"),
        ([(100, 0, 150, "Copies"), (110, 100, 150, "Copies")], "10.0 a second, 65 s left"),
        # A resumed stage has the rate of this job.
        ([(0, 400, 500, "Trajectories"), (20, 420, 500, "Trajectories")],
         "1.0 a second, 6 min left"),
        ([(400, 12, 12, "Corrections")], ""),
        ([(0, 0, 0, "Loading the model")], ""),
    ],
)  # fmt: skip
def test_the_time_left_is_that_of_the_job(ticks: list[Tick], facts: str) -> None:
    assert steps_of(ticks, COSTS, is_measured=True)[-1].facts == facts


def test_the_bar_covers_all_stages_and_never_goes_back() -> None:
    """A stage may report something else meanwhile, resume in its middle, or have nothing to do."""
    ticks: list[Tick] = [
        (0, 0, 0, "Loading the model"),
        (1, 30, 40, "Trajectories"), (2, 35, 40, "Trajectories"), (3, 40, 40, "Trajectories"),
        (4, 20, 20, "Copies"), (5, 0, 0, "Copies"), (6, 1, 7, "Copies"), (7, 0, 0, "Ranking"),
        (8, 0, 2, "Corrections"), (9, 2, 2, "Corrections"),
    ]  # fmt: skip
    steps = steps_of(ticks, {"Trajectories": 1, "Copies": 2, "Corrections": 1}, is_measured=False)
    shares = [step.share for step in steps]
    assert shares[:4] == [None, 0, 0.125, 0.25]
    assert shares[4:] == sorted(shares[4:], key=lambda share: share or 0)
    assert (shares[4], shares[-1]) == (0.75, 1)
    assert [step.is_usable for step in steps] == [False] * 8 + [True] * 2
    assert all(step.seconds_left is None for step in steps if not step.per_second)


def test_the_bar_of_a_job_without_a_plan_is_that_of_its_first_stage() -> None:
    ticks: list[Tick] = [(0, 1, 4, "Reading"), (1, 4, 4, "Reading"), (2, 1, 9, "Writing")]
    assert [step.share for step in steps_of(ticks, {}, False)] == [0.25, 1, 1]
