"""What `bench` measures besides scoring, each at its smallest size, through the command."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from app import app
from research.bench import card_figures

ROOT = Path(__file__).parents[3]


def measured(*arguments: str) -> Any:
    outcome = CliRunner().invoke(app, ["bench", *arguments, "--json"])
    assert outcome.exit_code == 0, outcome.stderr
    return json.loads(outcome.stdout)


def is_ordered(answer: dict[str, float]) -> bool:
    return 0 < answer["p50"] <= answer["p95"] <= answer["worst"]


#: Arguments of the command, and whether its report is complete and plausible.
MODES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "queries of the queue": (
        "--store 300",
        lambda r: (
            r["bytes_a_pair"] > 100
            and len({answer["question"] for answer in r["answers"]}) == len(r["answers"]) > 8
            and all(map(is_ordered, r["answers"]))
        ),
    ),
    "suggestions are those of the plain way": (
        "--suggestions 3",
        lambda r: r["same"] == r["pairs"] == 3 and min(r["ours"], r["plain"]) > 0,
    ),
    "verdicts against another checkout, here the same": (
        f"--acts 3 --against {ROOT}",
        lambda r: r["verdicts"] == 3 and min(r["seconds"], r["seconds_there"]) > 0,
    ),
    "starts beside an empty app": (
        "--start",
        lambda r: (
            r["there"] is None
            and all(r[app]["seconds"] > 0 and r[app]["bytes"] > 2**20 for app in ("ours", "empty"))
        ),
    ),
    "peaks of memory": (
        "--memory 4",
        lambda r: (
            (r["pairs"], r["there"]) == (4, None)
            and all(r["ours"][command] > 2**26 for command in ("importing", "scoring"))
        ),
    ),
    "launches of an accelerator": (
        "--launches --pairs 4 blip-itm",
        lambda r: (
            [stage["stage"] for stage in r["stages"]]
            == [
                "images",
                "trajectories",
                "auxiliary texts",
                "captioner",
                "injected copies",
                "suggestions",
            ]
            and all(stage["launches"] > stage["attention"] for stage in r["stages"])
            and r["host_ms"]["blip-itm"] > 0
        ),
    ),
}


@pytest.mark.parametrize("mode", MODES)
def test_each_mode_reports_what_it_measured(mode: str) -> None:
    arguments, is_plausible = MODES[mode]
    report = measured(*arguments.split())
    assert is_plausible(report), report


@pytest.mark.nightly
def test_launches_of_a_vision_language_model() -> None:
    """Eight pairs share their calls: one of 24 and 32 layers for the pictures, and 16 rounds of up
    to 15 words."""
    report = measured("--launches", "--pairs", "8", "vqa")
    by_stage = {stage["stage"]: stage for stage in report["stages"]}
    assert by_stage["trajectories"]["attention"] * 8 // 1000 == 24 + 17 * 32
    assert report["host_ms"] == {"vqa": None}


def test_all_that_a_card_is_measured_with_runs_on_a_processor() -> None:
    """So that a card's few minutes are not spent on mistakes."""
    figures = card_figures.main(["--device", "cpu", "--pairs", "2"])
    assert not [line for line in figures if "problem" in line]
    assert Counter(line["what"] for line in figures) == {
        "demo": 6, "vision-language": 2, "ClipCap": 1,
    }  # fmt: skip
    exact = [line for line in figures if line.get("precision") == "float32"]
    assert all(line["pairs"] == 2 for line in exact)


def test_what_fails_on_a_card_does_not_stop_the_rest() -> None:
    def work() -> dict:
        raise torch.OutOfMemoryError("CUDA out of memory")

    assert card_figures.measure("cpu", work) == {"problem": "OutOfMemoryError: CUDA out of memory"}
