"""The map of a whole dataset, from the vectors stored by scoring."""

import numpy as np
import pytest

from backend.errors import SettingsError
from backend.features.picture_map.drawing import draw_map
from backend.features.picture_map.views import map_of, region_of
from backend.workspace import Workspace
from tests.jobs.copied_pictures import PAIRS, listed, workspace

__all__ = ["workspace"]


def test_a_region_of_the_map_is_a_queue_until_the_map_is_redrawn(workspace: Workspace) -> None:
    assert map_of(workspace.store, 1) is None
    report = workspace.jobs.run("map", 1)
    assert (report.pictures, report.pairs, report.without) == (PAIRS + 3, PAIRS + 4, 0)
    view = map_of(workspace.store, 1)
    assert view is not None
    assert len(view.pairs) == PAIRS + 4
    assert view.p_error.dtype == np.float32
    assert set(view.verdicts) == {"undecided"}
    second = view.pairs.tolist().index(PAIRS + 4)
    assert (view.x[7], view.y[7]) == (view.x[second], view.y[second])  # captions of one picture
    middle = float(np.median(view.x))
    left = region_of(view.run_id, [(0, 0), (middle, 0), (middle, 1), (0, 1)])
    ids = listed(workspace, f"review=all&map={left}")
    edge = round(middle, 3)
    assert len(ids) == int((view.x < edge).sum()) > 5
    with pytest.raises(SettingsError, match="encloses no picture"):
        region_of(view.run_id, [(0.1, 0.1), (0.1, 0.1)])
    with pytest.raises(SettingsError, match="not a region of a map"):
        listed(workspace, "map=somewhere")
    assert draw_map(workspace.store, workspace.engine, 1).run_id != report.run_id
    with pytest.raises(SettingsError, match="drawn again"):
        listed(workspace, f"review=all&map={left}")


def test_a_cancelled_map_keeps_the_old_one(workspace: Workspace) -> None:
    workspace.jobs.start("map", 1)
    assert workspace.jobs.background.wait(250)
    assert [job.status for job in workspace.jobs.recent()] == ["done"]
    before = map_of(workspace.store, 1)
    assert before is not None

    def stop(done: int, total: int, message: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        workspace.jobs.run("map", 1, stop)
    after = map_of(workspace.store, 1)
    assert after is not None
    assert after.run_id == before.run_id
