"""The bench of opening pairs: each opening computes the pair's later steps."""

import json

from typer.testing import CliRunner

from app import app
from research.bench.opened_pairs import OpenedPairs, Opening, summary


def test_every_opened_pair_gets_its_later_steps() -> None:
    outcome = CliRunner().invoke(app, ["bench", "--open", "14", "--json"])
    assert outcome.exit_code == 0, outcome.stderr
    measured = json.loads(outcome.stdout)
    assert len(measured["openings"]) == 14
    assert measured["completed"] == 15, "the first one, too"
    assert min(opening["processor"] for opening in measured["openings"]) > 0
    assert measured["first"]["wall"] > 0


def test_the_table_has_median_high_percentile_and_maximum() -> None:
    openings = tuple(Opening(n / 1000, n / 2000) for n in range(1, 101))
    lines = OpenedPairs(0.5, Opening(4.0, 3.0), openings, 101).table().splitlines()
    assert lines[2].split() == ["wall", "50", "95", "100"]
    assert lines[3].split() == ["processor", "25", "48", "50"]
    assert "4000 wall, 3000 processor" in lines[4]
    assert summary([0.3]) == (0.3, 0.3, 0.3)
