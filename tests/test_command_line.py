"""The command line as scripts use it: JSON on standard output, exit codes, resuming."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from backend.scenes import demo
from tests.datasets.folders import GOOD, malformed

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "TRACED_DATA_DIRECTORY": str(tmp_path / "state"), "HF_HUB_OFFLINE": "1"}


def command(environment: dict[str, str], *arguments: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "app.py", *arguments],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def as_json(environment: dict[str, str], *arguments: str) -> Any:
    status, out, err = command(environment, *arguments, "--json")
    assert status == 0, err
    return json.loads(out)


@pytest.mark.parametrize(
    "name",
    ["", "serve", "import", "score", "train", "export", "bench", "correct", "distill", "icc"],
)
def test_every_command_explains_itself(environment: dict[str, str], name: str) -> None:
    status, out, _ = command(environment, *([name] if name else []), "--help")
    assert status == 0
    assert "Usage" in out
    assert "--help" in out


def test_from_photographs_to_an_export(environment: dict[str, str], tmp_path: Path) -> None:
    """Pictures that are no scenes: noise, gradients and shapes stand for a user's photographs."""
    folder = tmp_path / "photographs"
    folder.mkdir()
    lot = np.random.default_rng(0)
    rows = []
    for i in range(16):
        height, width = int(lot.integers(40, 300)), int(lot.integers(40, 300))
        pixels = lot.integers(0, 256, (height, width, 3), np.uint8)
        pixels[: height // 2] = lot.integers(0, 256, 3)
        Image.fromarray(pixels).save(folder / f"{i}.jpg")
        text = f"A photograph of a holiday by the sea, number {i}, with a dog and two friends"
        rows.append({"file_name": f"{i}.jpg", "id": f"p{i}", "caption": text})
    (folder / "metadata.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "scores.jsonl"
    status, printed, told = command(environment, "score", str(folder), "--out", str(out), "--json")
    assert status == 0, told
    assert "only knows drawn scenes" in " ".join(told.split())
    assert json.loads(printed)["scored"] == 16
    scored = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["id"] for row in scored] == [f"p{i}" for i in range(16)]
    for row, source in zip(scored, rows, strict=True):
        assert 0 <= row["s_0"] <= 1
        assert 0 <= row["p_error"] <= 1
        assert 0 <= row["icc"] <= 1
        assert all(source["caption"][a:b].strip() and 0 <= s <= 1 for a, b, s in row["suspects"])
    again = as_json(environment, "score", str(folder), "--out", str(tmp_path / "s.parquet"))
    assert (again["scored"], again["skipped"]) == (0, 16)
    table = pq.read_table(tmp_path / "s.parquet")
    assert table["id"].to_pylist() == [f"p{i}" for i in range(16)]
    counts = as_json(environment, "export", "photographs", str(tmp_path / "x"), "--dry-run")
    assert counts["kept"] == 16
    assert not (tmp_path / "x").exists()
    as_json(environment, "export", "photographs", str(tmp_path / "x"), "--format", "csv")
    assert (tmp_path / "x" / "data.csv").is_file()


def test_a_malformed_dataset_is_reported_row_by_row(
    environment: dict[str, str], tmp_path: Path
) -> None:
    folder = malformed(tmp_path / "bad")
    report = as_json(environment, "import", str(folder))
    assert report["added"] == GOOD
    told = {(problem["file"], problem["row"]) for problem in report["first_problems"]}
    assert {("metadata.jsonl", 2), ("metadata.jsonl", 3), ("metadata.jsonl", 21)} <= told
    assert as_json(environment, "import", str(folder))["already_there"] == GOOD
    assert command(environment, "import", str(folder), "--strict")[0] == 3


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["score", "nothing-of-this-name"], 3, "no such dataset"),
        (["import", "/nothing/here"], 3, "no file or folder"),
        (["train", "nothing"], 3, "no such dataset"),
        (["export", "nothing", "out"], 3, "no such dataset"),
        (["score", "x", "--out", "scores.txt"], 6, ".jsonl or .parquet"),
        (["serve", "--host", "0.0.0.0"], 2, "no accounts"),
        (["score", "--no-such-option", "x"], 2, ""),
    ],
)
def test_errors_are_told_and_have_a_status(
    environment: dict[str, str], arguments: list[str], status: int, told: str
) -> None:
    found, _, err = command(environment, *arguments)
    assert found == status
    assert told in " ".join(err.split())
    assert "Traceback" not in err


def test_errors_are_json_for_machines(environment: dict[str, str]) -> None:
    status, out, _ = command(environment, "train", "nothing", "--json")
    assert status == 3
    assert json.loads(out)["exit_status"] == 3


def test_training_without_verdicts_says_what_is_missing(
    environment: dict[str, str], tmp_path: Path
) -> None:
    demo.write(tmp_path / "few", 20, 2, 96, seed=3)
    as_json(environment, "score", str(tmp_path / "few"), "--no-suggestions")
    status, _, err = command(environment, "train", "few")
    assert status == 5
    assert "Decide 5 more pairs" in " ".join(err.split())


def test_a_killed_scoring_goes_on_where_it_was(environment: dict[str, str], tmp_path: Path) -> None:
    demo.write(tmp_path / "pairs", 120, 5, 96, seed=4)
    started = subprocess.Popen(
        [sys.executable, "app.py", "score", str(tmp_path / "pairs"), "--no-suggestions"],
        cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    before = 0
    for _ in range(1200):
        before = _scored(tmp_path / "state" / "traced.db")
        if before or started.poll() is not None:
            break
        time.sleep(0.05)
    started.send_signal(signal.SIGKILL)
    started.wait()
    assert before > 0
    report = as_json(environment, "score", str(tmp_path / "pairs"), "--no-suggestions")
    assert report["skipped"] >= before
    assert report["scored"] + report["skipped"] == 120
    assert _scored(tmp_path / "state" / "traced.db") == 120


def _scored(path: Path) -> int:
    import sqlite3

    if not path.exists():
        return 0
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
            return int(connection.execute("select count(*) from trajectories").fetchone()[0])
    except sqlite3.Error:
        return 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("correct", "demo", "--accept-p", "0.1"), "--accept-gain"),
        (("correct", "demo", "--budget", "5"), "--price-in"),
        (("correct", "demo", "--vlm-mode", "loud"), "reasoning"),
        (("correct", "demo", "--vlm-url", "http://localhost:1/v1"), "--vlm NAME"),
        (("evaluate", "icc"), "--ratings"),
        (("evaluate", "luck"), "detection"),
    ],
)
def test_what_makes_no_sense_is_told_before_anything_is_done(
    environment: dict[str, str], arguments: tuple[str, ...], told: str
) -> None:
    status, _, err = command(environment, *arguments)
    assert status == 2
    assert told in " ".join(err.split())


def test_concreteness_is_held_against_ratings(environment: dict[str, str], tmp_path: Path) -> None:
    ratings = tmp_path / "ratings.csv"
    ratings.write_text(
        "caption,rating\nA brown dog on a red sofa,3\nHope springs eternal,0\nPumpkin pie,2\n"
        "Terms and conditions apply,0\nA man in a hat riding a horse,3\n"
    )
    report = as_json(environment, "evaluate", "icc", "--ratings", str(ratings))
    measured, *published = report["rows"]
    assert measured["agreement"]["pearson"] > 0.8
    assert measured["agreement"]["count"] == 5
    assert [row["agreement"]["pearson"] for row in published if row["model"] == "ICC"] == [0.69]
    ratings.write_text("caption,rating\nA dog,very\n")
    status, _, err = command(environment, "evaluate", "icc", "--ratings", str(ratings))
    assert status == 3
    assert "row 2" in " ".join(err.split())
