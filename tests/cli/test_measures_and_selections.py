"""`score --support --specificity`, `bags`, `select` and thinned exports as scripts use them."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import app as program
from tests.fixtures.shared import SharedFolder
from tests.jobs.copied_pictures import PAIRS, score_copies

#: Drawn pictures and copies with a caption each, and a second caption.
CAPTIONS = PAIRS + 4


@pytest.fixture
def environment(shared_folder: SharedFolder, tmp_path: Path) -> dict[str, str]:
    """With the dataset *pairs*, scored by the embedded CLIP."""
    shutil.copytree(shared_folder("scored-copies", score_copies) / "state", tmp_path / "state")
    return {"TRACED_DATA_DIRECTORY": str(tmp_path / "state"), "COLUMNS": "200"}


def invoked(environment: dict[str, str], *arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(program.app, list(arguments), env=environment)
    return done.exit_code, done.stdout, done.stderr


def as_json(environment: dict[str, str], *arguments: str) -> Any:
    status, out, err = invoked(environment, *arguments, "--json")
    assert status == 0, err
    return json.loads(out)


def test_what_is_measured_as_well_is_part_of_the_result(
    environment: dict[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "scores.jsonl"
    plain = ("score", "pairs", "--no-suggestions")
    asked = (*plain, "--support", "--specificity", "--out", str(out))
    status, printed, err = invoked(environment, "--quiet", *asked)
    assert (status, err) == (0, "")
    assert f"0 pairs scored, {CAPTIONS} already had scores" in printed
    assert f"Support of {CAPTIONS} pairs measured now" in printed
    assert f"Specificity of {CAPTIONS} captions by" in printed
    assert f"{CAPTIONS} rows written to {out}" in printed
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(rows) == CAPTIONS
    assert all(row["specificity"] is not None for row in rows)
    report = as_json(environment, *asked)
    assert (report["scored"], report["skipped"]) == (0, CAPTIONS)
    assert (report["support"]["pairs"], report["support"]["computed"]) == (CAPTIONS, 0)
    assert report["support"]["notes"]
    assert report["specificity"]["measured"] == CAPTIONS
    assert 0 < report["specificity"]["retrieved"] <= CAPTIONS
    assert report["rows_written"] == CAPTIONS
    report = as_json(environment, *plain)
    assert report["skipped"] == CAPTIONS
    assert [report[name] for name in ("support", "specificity", "rows_written")] == [None] * 3
