"""What `bench` measures besides scoring, each at its smallest size, through the command."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from app import app
from backend.settings import load_settings
from backend.workspace import QueueFilter, Workspace
from research.bench.adopting import measure_adopting
from research.bench.generated_store import generate
from research.bench.process_cost import cost_of
from tests.fixtures.small_cold_start import small_cold_start as small_cold_start


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
            and len(r["answers"]) == 8
            and all(map(is_ordered, r["answers"]))
        ),
    ),
    "an estimate": (
        "--estimate 14",
        lambda r: (
            r["pairs"] == r["estimated"]["pairs"] == 14
            and min(r["estimated_seconds"], r["processor_seconds"], r["wall_seconds"]) > 0
        ),
    ),
    "many images": (
        "--images 100",
        lambda r: (
            [stage["name"] for stage in r["stages"]] == ["import", "score", "export"]
            and all(0 < stage["early"] <= stage["peak"] for stage in r["stages"])
        ),
    ),
    "opened pairs, the first one too": (
        "--open 14",
        lambda r: (
            (len(r["openings"]), r["completed"]) == (14, 15)
            and all(opening["processor"] > 0 for opening in r["openings"])
        ),
    ),
    "selections keep exact counts": (
        "--select 100",
        lambda r: (
            [cost["kept"] for cost in r["costs"]] == [50, 50, 50]
            and all(cost["peak_mebibytes"] > 0 for cost in r["costs"])
        ),
    ),
    "suggestions are those of the plain way": (
        "--suggestions 3",
        lambda r: r["same"] == r["pairs"] == 3 and min(r["ours"], r["plain"]) > 0,
    ),
    "stages on vectors": (
        "--vectors 200",
        lambda r: (
            [c["stage"] for c in r["costs"]] == ["specificity", "near duplicates", "map"]
            and all(cost["processor_seconds"] > 0 for cost in r["costs"])
        ),
    ),
}


@pytest.mark.parametrize("mode", MODES)
def test_each_mode_reports_what_it_measured(mode: str) -> None:
    arguments, is_plausible = MODES[mode]
    report = measured(*arguments.split())
    assert is_plausible(report), report


def test_a_classifier_is_adopted_while_others_work(tmp_path: Path) -> None:
    """On a generated store, which resembles a scored one."""
    workspace = Workspace(load_settings({"data_directory": str(tmp_path)}, {}))
    dataset = generate(workspace.store, 60)
    row = workspace.review.queue_page(QueueFilter(dataset), None, 1).rows[0]
    assert workspace.review.open_pair(row.pair_id).image_size is not None, "the demo's pictures"
    report = measure_adopting(workspace, dataset, alone=0.0)
    assert [row.name for row in workspace.jobs.classifiers(dataset) if row.active] == ["Candidate"]
    assert (report.pairs, report.mixed) == (60, 0)
    assert 0 < report.switched <= report.whole
    assert min(report.verdicts, report.read, workspace.summary(dataset).reviewed) > 0
    workspace.store.close()


def test_a_program_that_fails_under_measurement_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        cost_of("def run():\n    1 / 0", [], str(tmp_path))
