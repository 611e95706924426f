"""Near duplicates are in one new split of an export."""

from pathlib import Path

import pytest

from backend.errors import SettingsError
from backend.features.near_duplicates import queries
from backend.features.near_duplicates.queries import DuplicateRow
from backend.workspace import Workspace
from tests.jobs.test_new_splits import CAPTIONS, are_together, splits, workspace

__all__ = ["workspace"]


def test_near_duplicates_stay_together_across_scenes(workspace: Workspace, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="duplicates"):
        splits(workspace, tmp_path / "none", shares="50/50", together=["duplicates"])
    pair_ids = [1 + CAPTIONS * place for place in (4, 5, 49)]
    rows = [DuplicateRow(pair_id, pair_ids[0], 1.0) for pair_id in pair_ids]
    with workspace.store.opened.writing() as session:
        queries.replace_groups(session, 1, rows)
    by_id = splits(workspace, tmp_path / "one", shares="50/50", together=["duplicates"])
    assert are_together(by_id, lambda picture: 4 if picture in (4, 5, 49) else picture)
    both = splits(workspace, tmp_path / "both", shares="50/50", together=["duplicates", "scene"])
    joined = {4 // 5, 5 // 5, 49 // 5}
    assert are_together(both, lambda picture: 0 if picture // 5 in joined else picture // 5)
