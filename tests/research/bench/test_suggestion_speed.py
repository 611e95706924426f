"""The bench of suggestions, on a few pairs: both implementations suggest the same."""

import json

from typer.testing import CliRunner

from app import app


def test_both_implementations_suggest_the_same() -> None:
    outcome = CliRunner().invoke(app, ["bench", "--suggestions", "3", "--json"])
    assert outcome.exit_code == 0, outcome.stderr
    measured = json.loads(outcome.stdout)
    assert measured["pairs"] == measured["same"] == 3
    assert measured["ours"] > 0
    assert measured["plain"] > 0
    assert measured["trajectories"] > 0
