"""The feature's tables: as migrations made them before it was a folder, and kept without it."""

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import create_engine, select

from backend import plugins
from backend.cli.doctor import examine
from backend.features.snapshots.tables import TABLES, Snapshot
from backend.settings import load_settings
from backend.workspace import Workspace
from db import open_store
from tests.db.test_migrations import schema_of
from tests.features.snapshots.test_snapshot import workspace

__all__ = ["workspace"]


def test_they_are_those_that_migrations_made(tmp_path: Path) -> None:
    open_store(f"sqlite:///{tmp_path}/migrated.db").close()
    engine = create_engine(f"sqlite:///{tmp_path}/feature.db")
    TABLES.create_all(engine)
    engine.dispose()
    migrated, declared = schema_of(tmp_path / "migrated.db"), schema_of(tmp_path / "feature.db")
    assert declared == {name: migrated[name] for name in declared}
    assert {"snapshots", "snapshot_pairs"} <= set(declared)


def test_without_the_feature_its_rows_are_kept_and_go_with_their_dataset(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.jobs.run("snapshot", 1, name="first")
    settings = load_settings({"data_directory": tmp_path / "state"})
    with monkeypatch.context() as patch:
        patch.setattr(plugins, "_LOADED", {"tables": ()})
        findings = {found.what: found.state for found in examine(settings).findings}
        assert {findings["table snapshots"], findings["table snapshot_pairs"]} == {"ok"}
        assert not {what for what in findings if what.startswith("table ")} - {
            "table snapshots", "table snapshot_pairs"
        }  # fmt: skip
    assert not [found for found in examine(settings).findings if found.what.startswith("table ")]
    with workspace.store.reading() as session:
        assert session.scalars(select(Snapshot.name)).all() == ["first"]
    workspace.delete_dataset(1)
    with sqlite3.connect(tmp_path / "state" / "traced.db") as connection:
        counts = [
            connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
            for name in ("snapshots", "snapshot_pairs", "datasets")
        ]
    assert counts == [0, 0, 0]
