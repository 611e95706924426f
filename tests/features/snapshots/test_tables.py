"""The feature's tables: kept without it."""

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import select

from backend import plugins
from backend.cli.doctor import examine
from backend.features.snapshots.tables import Snapshot
from backend.settings import load_settings
from backend.workspace import Workspace
from tests.features.snapshots.test_snapshot import workspace

__all__ = ["workspace"]


def test_without_the_feature_its_rows_are_kept_and_go_with_their_dataset(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.jobs.run("snapshot", 1, name="first")
    settings = load_settings({"data_directory": tmp_path / "state"})
    with monkeypatch.context() as patch:
        patch.setattr(plugins, "_LOADED", {"tables": ()})
        findings = {found.what: found.state for found in examine(settings).findings}
        assert {findings["table snapshots"], findings["table snapshot_pairs"]} == {"ok"}
    assert not [found for found in examine(settings).findings if "table snapshot" in found.what]
    with workspace.store.reading() as session:
        assert session.scalars(select(Snapshot.name)).all() == ["first"]
    workspace.delete_dataset(1)
    with sqlite3.connect(tmp_path / "state" / "traced.db") as connection:
        counts = [
            connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
            for name in ("snapshots", "snapshot_pairs", "datasets")
        ]
    assert counts == [0, 0, 0]
