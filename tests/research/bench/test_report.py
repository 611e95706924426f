"""The bench command's report, at the smallest size."""

import json

import pytest
from typer.testing import CliRunner

from app import app
from backend.engine.captions import Caption
from backend.errors import SettingsError
from research.bench.measure_scoring import run_bench
from research.bench.random_models import make_captions


def test_captions_have_the_requested_lengths() -> None:
    lengths = [len(Caption.parse(text)) for text in make_captions(13, (8, 20))]
    assert lengths == list(range(8, 21))


def test_bench_prints_its_results_as_json() -> None:
    arguments = ["bench", "--scorer", "clip", "--pairs", "1", "--words", "3-3", "--json"]
    outcome = CliRunner().invoke(app, arguments)
    assert outcome.exit_code == 0, outcome.stderr
    (result,) = json.loads(outcome.stdout)["results"]
    assert result["scorer"] == "clip"
    assert result["explorer"] == "elimination"
    assert result["pairs"] == result["same_trajectories"] == 1
    assert result["largest_difference"] < 1e-4
    assert result["speedup"] > 0
    assert result["bound_ratio"] > 0
    assert result["overhead"] > 0


@pytest.mark.parametrize(
    ("scorers", "explorers", "words"),
    [(["bert"], [], "8-20"), ([], ["walking"], "8-20"), ([], [], "20-8"), ([], [], "eight")],
)
def test_unknown_scorers_explorers_and_lengths_are_refused(
    scorers: list, explorers: list, words: str
) -> None:
    with pytest.raises(SettingsError):
        run_bench(scorers, explorers, 1, words, False, "cpu", None, lambda *_: None)
