"""The bench of estimates, on a few pairs: it estimates, scores and compares."""

import json

import pytest
from typer.testing import CliRunner

from app import app
from backend.jobs.estimate import Estimate
from research.bench.estimate_check import EstimateCheck
from tests.fixtures.small_cold_start import small_cold_start as small_cold_start


def test_an_estimate_is_compared_with_the_measured_time() -> None:
    outcome = CliRunner().invoke(app, ["bench", "--estimate", "14", "--json"])
    assert outcome.exit_code == 0, outcome.stderr
    measured = json.loads(outcome.stdout)
    assert measured["pairs"] == measured["estimated"]["pairs"] == 14
    assert measured["processor_seconds"] > 0
    assert measured["wall_seconds"] > 0
    parts = [v for name, v in measured["estimated"].items() if name.endswith("_seconds")]
    assert measured["estimated_seconds"] == pytest.approx(sum(parts))


def test_the_table_has_estimate_measurement_and_ratio() -> None:
    planned = Estimate("m", "cpu", 100, 300, 20, 60.0, 180.0, 10.0, 5.0, 1_000_000, 2_000_000_000)
    lines = EstimateCheck(100, 0.0, planned, 255.0, 9.0, 300.0, 290.0, 8).table().splitlines()
    assert [line.split()[-1] for line in lines[-1:]] == ["0.85"]
    assert "255.0 s" in lines[1]
    assert "300.0 s" in lines[2]
    assert "290.0 s" in lines[3]
