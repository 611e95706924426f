"""`check`: what passes, what fails, and what needs more verdicts."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from backend.errors import NOTICED, NotFound
from backend.features.quality_gate.acceptance import Outcome
from backend.features.quality_gate.operation import CheckReport
from backend.workspace import Workspace
from tests.cli.invoking import invoked
from tests.datasets.folders import unlike_pictures
from tests.jobs.opening import OpenWorkspace
from tests.jobs.test_shared_pictures import ROWS, written

PAIRS = 60


@pytest.fixture
def workspace(open_workspace: OpenWorkspace, tmp_path: Path) -> Workspace:
    """Pairs of which every tenth is in the split "val"."""
    rows = [
        {"file_name": f"{n}.png", "caption": f"A picture, number {n}.",
         "split": "train" if n % 10 else "val"}
        for n in range(PAIRS)
    ]  # fmt: skip
    workspace = open_workspace()
    workspace.jobs.import_dataset(unlike_pictures(tmp_path / "pairs", rows))
    return workspace


def judge(workspace: Workspace, count: int, wrong: int, decision: str = "drop") -> None:
    """Verdicts on so many pairs in the random order, the first ones wrong."""
    for number in range(count):
        queue = workspace.review.filter_of(1, {"order": "random"})
        pair = workspace.review.first_pair(queue)
        assert pair is not None
        workspace.review.decide(pair, 0, decision if number < wrong else "correct")


def test_right_captions_pass_and_wrong_ones_fail(workspace: Workspace) -> None:
    nothing = workspace.jobs.run("check", 1, at_most="10%")
    assert (nothing.outcome, nothing.sample, nothing.errors) == ("undecided", 0, None)
    assert 0 < nothing.more < PAIRS
    judge(workspace, nothing.more, wrong=0)
    passed = workspace.jobs.run("check", 1, at_most="10%")
    assert (passed.outcome, passed.allowed, passed.more) == ("passed", 6, 0)
    assert passed.low == 0


@pytest.mark.parametrize(
    ("decision", "outcome", "left"), [("drop", "passed", PAIRS - 12), ("wrong", "failed", PAIRS)]
)
def test_what_was_mended_is_no_error_and_what_was_only_called_wrong_is_one(
    workspace: Workspace, decision: str, outcome: str, left: int
) -> None:
    judge(workspace, PAIRS, wrong=12, decision=decision)
    report = workspace.jobs.run("check", 1, at_most="10%")
    assert (report.outcome, report.pairs) == (outcome, left)


def test_a_pipeline_reads_the_exit_status_and_the_test_case(
    workspace: Workspace, tmp_path: Path
) -> None:
    judge(workspace, 20, wrong=12, decision="wrong")

    def run(*options: str) -> tuple[int, dict[str, object]]:
        environment = {"TRACED_DATA_DIRECTORY": str(tmp_path / "state")}
        status, out, _ = invoked(environment, "check", "pairs", "--json", *options)
        return status, json.loads(out)

    junit = tmp_path / "check.xml"
    status, report = run("--at-most", "10%", "--junit", str(junit))
    assert (status, report["outcome"], report["wrong_in_sample"]) == (1, "failed", 12)
    assert ET.parse(junit).find("testcase/failure") is not None
    status, report = run("--at-most", "60%", "--junit", str(junit))
    assert (status, report["outcome"]) == (4, "undecided")
    assert ET.parse(junit).find("testcase/skipped") is not None
    assert run("--at-most", "100%", "--junit", str(junit))[0] == 0
    suite = ET.parse(junit).getroot()
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "0")
    status, report = run("--at-most", "two")
    assert status == 2


def test_a_split_is_checked_alone(workspace: Workspace) -> None:
    report = workspace.jobs.run("check", 1, at_most="50%", split="val")
    assert (report.pairs, report.allowed) == (PAIRS // 10, PAIRS // 20)
    with pytest.raises(NotFound):
        workspace.jobs.run("check", 1, at_most="50%", split="dev")


@pytest.mark.parametrize(
    ("outcome", "heeds", "status"),
    [("passed", False, 0), ("passed", True, NOTICED), ("failed", True, 1), ("undecided", True, 4)],
)
def test_check_fails_by_a_notice_if_it_is_to(outcome: Outcome, heeds: bool, status: int) -> None:
    report = CheckReport(
        outcome, "a", None, 10, 1, 0.95, 5, 0, 0.0, 0, 1, 0, notices=("Rows are off.",),
        heeds_notices=heeds,
    )  # fmt: skip
    assert report.exit_status == status
    assert ("<failure" in report.as_junit()) == (status in (1, NOTICED))


def test_pictures_in_several_splits_are_counted_and_fail_if_asked(
    open_workspace: OpenWorkspace, tmp_path: Path
) -> None:
    workspace = open_workspace()
    workspace.jobs.import_dataset(written(tmp_path / "leaking", ROWS))
    report = workspace.jobs.run("check", 1, at_most="10%")
    assert (report.shared_pictures, report.exit_status) == (3, 4)
    strict = workspace.jobs.run("check", 1, at_most="10%", separate_splits=True)
    assert (strict.outcome, strict.exit_status) == ("undecided", 1)
    cases = ET.fromstring(strict.as_junit().encode()).findall("testcase")
    assert [case[0].tag for case in cases] == ["skipped", "failure"]
    # What an export leaves out leaks no longer.
    pair = workspace.review.first_pair(workspace.review.filter_of(1, {"text": "pink"}))
    assert pair is not None
    workspace.review.decide(pair, 0, "drop")
    assert workspace.jobs.run("check", 1, at_most="10%").shared_pictures == 2
