"""The time left of a scoring job over all of its stages."""

from pathlib import Path

import pytest

from backend.jobs.pace import Pace
from backend.jobs.scoring_stages import (
    CAPTIONER,
    CONCRETENESS,
    COPIES,
    CORRECTIONS,
    INJECTION,
    TRAINING,
    TRAJECTORIES,
    Costs,
    Plan,
    Stage,
    keep_costs,
    kept_costs,
)
from backend.progress import StageMessage

UNITS = {TRAJECTORIES: 100, CAPTIONER: 100, COPIES: 200, TRAINING: 100, CORRECTIONS: 30}
KNOWN = {CAPTIONER: 0.5, TRAINING: 0.01, CORRECTIONS: 2.0}


class Job:
    """A job with a manual clock, and the messages that it reports."""

    def __init__(self, costs: Costs, **options: bool) -> None:
        self.now = 0.0
        self.plan = Plan(UNITS, costs, clock=lambda: self.now, **options)
        self.messages: list[str] = []
        self._update = self.plan.reporting(lambda done, total, text: self.messages.append(text))

    def at(self, now: float, stage: Stage, done: int, total: int) -> StageMessage:
        self.now = now
        self._update(done, total, stage.name)
        message = self.messages[-1]
        assert isinstance(message, StageMessage)
        assert message == stage.name
        return message


def test_the_time_left_covers_all_stages() -> None:
    job = Job(KNOWN)
    early = job.at(
        50, TRAJECTORIES, 50, 100
    )  # 1 s per pair; a copy takes as long and is read by the captioner
    assert early.seconds_left == pytest.approx(50 + 100 * 0.5 + 200 * 1.5 + 100 * 0.01 + 30 * 2)
    assert not early.is_least
    later = job.at(100, TRAJECTORIES, 100, 100)
    assert later.seconds_left == pytest.approx((early.seconds_left or 0) - 50)
    reading = job.at(110, CAPTIONER, 50, 100)  # faster than expected
    assert reading.seconds_left == pytest.approx(50 * 0.2 + 200 * 1.2 + 1 + 60)
    copying = job.at(130, COPIES, 0, 150)  # fewer than expected: no error fits some captions
    assert copying.seconds_left == pytest.approx(150 * 1.2 + 1 + 60)
    assert job.at(260, COPIES, 100, 150).seconds_left == pytest.approx(50 * 1.5 + 61)
    assert job.at(330, TRAINING, 2, 4).seconds_left == pytest.approx(0.5 * 70 + 60, rel=0.5)
    assert job.at(400, CORRECTIONS, 12, 12).seconds_left == 0


def test_unmeasured_stages_make_the_time_left_a_lower_bound() -> None:
    job = Job({})
    message = job.at(50, TRAJECTORIES, 50, 100)
    assert message.is_least
    assert message.seconds_left == pytest.approx(50 + 200)
    assert Pace().describe(50, 100, message, 50.0) == ("Caption trajectories · at least 4 min left")
    alone = Job({}, copies_alike=False).at(50, TRAJECTORIES, 50, 100)
    assert (alone.seconds_left, alone.is_least) == (pytest.approx(50), True)
    nothing = Job({}).at(0, INJECTION, 0, 0)
    assert (nothing.seconds_left, nothing.is_least) == (None, True)


def test_the_rate_of_a_resumed_stage_excludes_earlier_work() -> None:
    job = Job(KNOWN)
    message = job.at(20, TRAJECTORIES, 420, 500)  # 400 of 500 were scored before
    assert message.seconds_left == pytest.approx(80 + 50 + 300 + 61)


def test_costs_are_stored_for_the_next_job(tmp_path: Path) -> None:
    assert kept_costs(tmp_path, "a") == {}
    job = Job({})
    job.at(50, TRAJECTORIES, 50, 100)
    job.at(60, CONCRETENESS, 100, 100)  # there was nothing to do
    job.at(70, CAPTIONER, 10, 100)  # too few to measure
    assert job.plan.measured == {TRAJECTORIES: 1.0}
    keep_costs(tmp_path, "a", job.plan.measured)
    keep_costs(tmp_path, "a", {CAPTIONER: 2.0})
    keep_costs(tmp_path, "b", {CAPTIONER: 3.0})
    assert kept_costs(tmp_path, "a") == {TRAJECTORIES: 1.0, CAPTIONER: 2.0}
    (path,) = tmp_path.iterdir()
    for damaged in ("", "[]", '{"a": 3}', '{"a": {"Caption trajectories": "x"}}'):
        path.write_text(damaged)
        assert kept_costs(tmp_path, "a") == {}
    path.write_text('{"a": {"A stage of another version": 1.0}}')
    assert kept_costs(tmp_path, "a") == {}


def test_failing_to_store_costs_does_not_fail_a_job(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    keep_costs(tmp_path / "file" / "folder", "a", {CAPTIONER: 1.0})
    assert kept_costs(tmp_path / "file" / "folder", "a") == {}
