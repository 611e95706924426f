"""The command line as scripts use it: JSON on standard output, exit codes, resuming."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import app as program
from backend.errors import SettingsError
from tests.cli.invoking import as_json, invoked
from tests.datasets.folders import GOOD, malformed
from tests.fixtures.features import needs
from tests.jobs.scoring.test_dataset_models import PHOTOGRAPHS, photographs

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {
        **os.environ,
        "TRACED_DATA_DIRECTORY": str(tmp_path / "state"),
        "TRACED_DETECTOR": "nine signs",  # these tests do not depend on the best detector
        "HF_HUB_OFFLINE": "1",
        "COLUMNS": "200",
    }


#: As a user would: install it once, open another shell, press Tab after each of the lines.
_TAB = """
traced-curator --install-completion || exit
source ~/.bashrc
for line in "$@"; do
    COMP_WORDS=($line); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=()
    _traced_curator_completion traced-curator
    echo "$line: ${COMPREPLY[*]}"
done
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_commands_and_options(environment: dict[str, str], tmp_path: Path) -> None:
    installed = tmp_path / "bin" / "traced-curator"  # as pip writes it
    installed.parent.mkdir()
    installed.write_text(f"#!{sys.executable}\nimport sys\nfrom app import app\nsys.exit(app())\n")
    installed.chmod(0o755)
    environment |= {
        "HOME": str(tmp_path), "PYTHONPATH": str(ROOT),
        "PATH": f"{installed.parent}{os.pathsep}{environment['PATH']}",
    }  # fmt: skip
    wanted = {
        "traced-curator im": "import",
        "traced-curator datasets ren": "rename",
        "traced-curator export demo --push": "--push-to-hub",
        "traced-curator nothing-of-this-name": "",
    }
    done = subprocess.run(
        ["bash", "--norc", "-c", _TAB, "bash", *wanted], cwd=tmp_path, env=environment, text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    completed = dict(line.split(":", 1) for line in done.stdout.splitlines()[-len(wanted) :])
    assert {line: reply.strip() for line, reply in completed.items()} == wanted
    assert not (tmp_path / "state").exists(), "nothing starts by pressing Tab"


def test_photographs_are_scored_by_another_model_or_anyway(
    environment: dict[str, str], tmp_path: Path
) -> None:
    folder, out = photographs(tmp_path / "photographs"), tmp_path / "scores.jsonl"
    status, printed, err = invoked(environment, "import", str(folder), "--json")
    assert status == 0, err
    assert json.loads(printed)["asks_for_model"]
    assert "score photographs --model" in " ".join(err.split())
    score = ("score", str(folder), "--out", str(out), "--json")
    status, printed, err = invoked(environment, *score)
    assert (status, json.loads(printed)["exit_status"]) == (4, 4)
    assert "--model fast" in " ".join(err.split())
    status, printed, err = invoked(environment, *score, "--anyway")
    assert status == 0, err
    assert "only knows drawn scenes" in " ".join(err.split())
    assert json.loads(printed)["scored"] == PHOTOGRAPHS
    assert len(out.read_text().splitlines()) == PHOTOGRAPHS
    counts = as_json(environment, "export", "photographs", str(tmp_path / "x"), "--dry-run")
    assert counts["kept"] == PHOTOGRAPHS
    assert not (tmp_path / "x").exists()


def test_a_malformed_dataset_is_reported_row_by_row(
    environment: dict[str, str], tmp_path: Path
) -> None:
    folder = malformed(tmp_path / "bad")
    report = as_json(environment, "import", str(folder))
    assert report["added"] == GOOD
    reported = {(problem["file"], problem["row"]) for problem in report["first_problems"]}
    assert {("metadata.jsonl", 2), ("metadata.jsonl", 3), ("metadata.jsonl", 21)} <= reported
    assert as_json(environment, "import", str(folder))["already_there"] == GOOD
    assert invoked(environment, "import", str(folder), "--strict")[0] == 3


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["score", "nothing-of-this-name"], 3, "Not found: "),
        (["import", "/nothing/here"], 3, "no file or folder"),
        (["train", "nothing"], 3, "Not found: "),
        (["export", "nothing", "out"], 3, "Not found: "),
        (["score", "x", "--out", "scores.txt"], 6, ".parquet or .csv"),
        (["serve", "--host", "0.0.0.0", "--port", "0"], 2, "no accounts"),
        (["score", "--no-such-option", "x"], 2, ""),
        pytest.param(
            ["correct", "demo", "--accept-p", "0.1"], 2, "--accept-gain", marks=needs("corrections")
        ),
        pytest.param(
            ["correct", "demo", "--vlm-mode", "loud"], 2, "reasoning", marks=needs("corrections")
        ),
        pytest.param(
            ["correct", "demo", "--vlm-url", "http://localhost:1/v1"],
            2,
            "--vlm NAME",
            marks=needs("corrections"),
        ),
        (["evaluate", "icc"], 2, "--ratings"),
        (["evaluate", "luck"], 2, "detection"),
    ],
)
def test_errors_are_reported_and_have_a_status(
    environment: dict[str, str], arguments: list[str], status: int, message: str
) -> None:
    actual, _, err = invoked(environment, *arguments)
    assert actual == status
    assert message in " ".join(err.split())
    assert "Traceback" not in err


def test_concreteness_is_compared_with_ratings(environment: dict[str, str], tmp_path: Path) -> None:
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
    status, _, err = invoked(environment, "evaluate", "icc", "--ratings", str(ratings))
    assert status == 3
    assert "row 2" in " ".join(err.split())


def test_serve_opens_the_dataset_that_is_named_first(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []
    monkeypatch.setattr(program, "_serve", lambda settings, options: opened.append(options.data))
    program.serve(program.ServeOptions(source="photos"))
    program.serve(program.ServeOptions(data="photos"))
    assert opened == ["photos", "photos"]
    with pytest.raises(SettingsError):
        program.serve(program.ServeOptions(source="photos", data="demo"))
