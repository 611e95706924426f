"""What `bench` measures besides scoring, each at its smallest size, through the command."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner

from app import app


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
