"""A rule that is a job."""

from pathlib import Path

import pytest

from backend.workspace import Workspace
from tests.datasets.folders import malformed
from tests.fixtures.interrupting import stop_at
from tests.fixtures.sizes import Sizes
from tests.jobs.opening import OpenWorkspace
from tests.jobs.test_interrupted_jobs import interrupted


def test_a_rule_goes_on_under_its_batch(
    workspace: Workspace, tmp_path: Path, sizes: Sizes, open_workspace: OpenWorkspace
) -> None:
    workspace.jobs.import_dataset(malformed(tmp_path / "pairs"))
    number = workspace.review.counts(1).total
    given = {"queue": "review=all", "decision": "drop", "curator": "Ada", "batch": "b1"}
    sizes(AT_ONCE=1)
    with pytest.raises(KeyboardInterrupt):
        workspace.jobs.run("rule", 1, stop_at(1), **given)
    interrupted(workspace, "rule", 1, **given)
    again = open_workspace()
    again.jobs.resume()
    assert again.jobs.background.wait(250)
    assert again.jobs.job(2).result["given"] == number > 1
    undone = again.review.undo(1, "Ada")
    assert undone is not None
    assert undone.together == number
