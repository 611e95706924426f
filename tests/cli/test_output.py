"""Where results, messages, errors and progress go on the command line."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import app as program
from backend.cli import output
from backend.errors import EXIT_STATUSES, INTERRUPTED, TracedError
from tests.datasets.folders import GOOD, malformed
from tests.fixtures.features import needs

runner = CliRunner()


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRACED_DATA_DIRECTORY", str(tmp_path / "state"))
    output.console.quiet = False  # as each command begins
    # No model says whether it recognises the pictures: it would have to be loaded.
    monkeypatch.setenv("TRACED_MODEL", "/nowhere")
    return tmp_path / "state"


def run(*arguments: str, typed: str = "") -> Any:
    return runner.invoke(program.app, list(arguments), input=typed, env={"COLUMNS": "200"})


def test_names_between_colons_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    output.results.print("a dog <lora:x:1>")
    assert capsys.readouterr().out == "a dog <lora:x:1>\n"


def test_results_and_messages_go_to_different_streams(tmp_path: Path) -> None:
    folder = str(malformed(tmp_path / "pairs"))
    done = run("import", folder)
    assert "pairs added" in done.stdout
    assert "pairs added" not in done.stderr
    assert "left out" in done.stderr
    assert "Reading pairs" in done.stderr, "progress without a terminal"
    quiet = run("--quiet", "import", folder)
    assert "pairs added" in quiet.stdout
    assert quiet.stderr == ""
    failed = run("--quiet", "progress", "nothing")
    assert (failed.exit_code, failed.stdout, "Error" in failed.stderr) == (3, "", True)


@pytest.mark.parametrize("options", [(), ("--quiet",)], ids=["plain", "quiet"])
def test_a_deletion_lists_what_is_removed_before_it_asks(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    run("import", str(malformed(tmp_path / "pairs")))
    done = run(*options, "datasets", "delete", "pairs", typed="n\n")
    assert done.exit_code == 2
    question = done.stderr[: done.stderr.index("[y/N]")]
    for part in (f"{GOOD} pairs", "scores", "verdict", str(tmp_path / "pairs"), "Delete it?"):
        assert part in question
    assert question.count(f"{GOOD} pairs") == 1
    done = run(*options, "datasets", "delete", "pairs", typed="y\n")
    assert (done.exit_code, "is deleted" in done.stdout) == (0, True)


def test_an_unanswered_question_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "logs"))
    run("import", str(malformed(tmp_path / "pairs")))
    done = run("datasets", "delete", "pairs", typed="")
    assert done.exit_code == INTERRUPTED
    assert "not answered" in done.stderr
    assert "Unexpected" not in done.stderr
    assert not (tmp_path / "logs").exists()
    assert "pairs" in run("datasets", "list").stdout


def test_progress_in_a_log_is_a_line_per_stage_and_every_thirty_seconds(
    capsys: pytest.CaptureFixture[str],
) -> None:
    time = [0.0]
    lines = output.Lines("Scoring", lambda: time[0])
    for second in range(100):
        time[0] = float(second)
        lines.update(second, 100)
    lines.update(0, 0, "Training")
    printed = capsys.readouterr().err.splitlines()
    assert printed == [
        "Scoring: 0 of 100 (0%), after 0 s",
        "Scoring: 30 of 100 (30%), after 30 s · 1.0 a second, 70 s left",
        "Scoring: 60 of 100 (60%), after 60 s · 1.0 a second, 40 s left",
        "Scoring: 90 of 100 (90%), after 90 s · 1.0 a second, 10 s left",
        "Training, after 99 s",
    ]


def every_error(of: type[TracedError] = TracedError) -> set[type[TracedError]]:
    return {of}.union(*(every_error(subclass) for subclass in of.__subclasses__()))


def test_every_exit_status_is_in_the_help() -> None:
    statuses = {error.exit_status for error in every_error()}
    assert statuses <= set(EXIT_STATUSES)
    shown = " ".join(run("--help").stdout.split())
    for status, meaning in EXIT_STATUSES.items():
        assert f"{status} {meaning}" in shown


@pytest.mark.parametrize("name", ["typo.db", "no/folder/typo.db"])
def test_doctor_creates_nothing(
    tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.delenv("TRACED_MODEL")
    done = run("doctor", "--db", f"sqlite:///{tmp_path}/{name}")
    assert done.exit_code == 1
    assert "no database at" in done.stdout
    assert run("doctor").exit_code == 0, "a new user's is made at the first start"
    assert sorted(tmp_path.rglob("*.db")) == []
    assert not state.exists()


@needs("corrections")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--queue", "p_eror_from=0.99"], "Did you mean 'p_error_from'"),
        (["--accept-p", "0.1", "--accept-gain", "0"], "that are no better"),
        (["--queue", "split=a", "--view", "mine"], "not both"),
    ],
)
def test_an_unknown_queue_corrects_nothing(
    tmp_path: Path, options: list[str], message: str
) -> None:
    run("import", str(malformed(tmp_path / "pairs")))
    done = run("correct", "pairs", *options)
    assert done.exit_code == 2
    assert message in done.stderr


def test_an_unknown_evaluation_is_answered_with_all_that_exist() -> None:
    from research.commands.evaluations import evaluate

    done = run("evaluate", "NONSENSE")
    assert done.exit_code == 2
    message = " ".join(done.stderr.replace("│", " ").split())
    documented = run("evaluate", "--help").stdout
    names = {command.name for command in evaluate.registered_commands}
    for name in names:
        assert f"'{name}'" in message
        assert name in documented
    assert names >= {"support", "selection", "composition", "specificity", "boosting", "icc"}
