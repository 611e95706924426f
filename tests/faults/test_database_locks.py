"""SQLite's database stays locked by the process that uses it; once it is gone, nothing is
confirmed."""

import itertools
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from backend.datasets.read_options import ReadOptions
from backend.datasets.safe_files.images import check_image
from backend.datasets.safe_files.regular_files import (
    DatabaseFile,
    RegularFile,
    open_for_append,
    replacement,
)
from backend.engine.scoring.loading import load_scorer
from backend.errors import ImageError, StoreError, TracedError, UnsafePath
from backend.jobs import export_scores
from backend.settings import load_settings
from backend.workspace import Workspace
from tests.datasets.folders import image_folder

#: Opens and closes the database as any other program does.
OTHER_PROGRAM = (
    "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); "
    "c.execute('SELECT count(*) FROM datasets').fetchall(); c.close()"
)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    settings = load_settings({"data_directory": str(tmp_path / "state")}, {})
    (tmp_path / "state").mkdir()
    return Workspace(settings)


def run_other_program(database: Path) -> None:
    subprocess.run([sys.executable, "-c", OTHER_PROGRAM, str(database)], check=True)


def has_table(database: Path, name: str) -> bool:
    """Whether a new process sees the table."""
    code = (
        "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchall())"
    )
    query = f"SELECT name FROM sqlite_master WHERE name = '{name}'"
    done = subprocess.run(
        [sys.executable, "-c", code, str(database), query], capture_output=True, check=True
    )
    return name.encode() in done.stdout


def create_table(workspace: Workspace, name: str) -> None:
    with workspace.store.writing() as session:
        session.execute(text(f"CREATE TABLE {name} (a INTEGER)"))


def check_lock(workspace: Workspace, database: Path) -> None:
    """Another program leaves the log, and what is confirmed afterwards is stored."""
    run_other_program(database)
    assert database.with_name("traced.db-wal").exists()
    create_table(workspace, "confirmed")
    assert has_table(database, "confirmed")


def test_reading_files_leaves_the_locks_of_the_database(
    workspace: Workspace, tmp_path: Path
) -> None:
    database = tmp_path / "state" / "traced.db"
    for suffix in ("", "-wal", "-shm"):
        file, folder = Path(f"{database}{suffix}"), tmp_path / f"links{suffix}"
        folder.mkdir()
        (folder / "link.jpg").symlink_to(file)
        os.link(file, folder / "hard.jpg")
        for path in (file, folder / "link.jpg", folder / "hard.jpg"):
            with pytest.raises(DatabaseFile):
                RegularFile(path)
            with pytest.raises(ImageError):
                check_image(path)
    check_lock(workspace, database)


def test_a_backup_is_not_part_of_a_dataset(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "dump.csv").write_bytes(b"PGDMP\x01\x0e\x00 image,caption\n")
    for path in (workspace.store.backup(tmp_path / "backup.csv"), tmp_path / "dump.csv"):
        with pytest.raises(DatabaseFile):
            RegularFile(path)


def test_the_database_is_no_model(workspace: Workspace, tmp_path: Path) -> None:
    """Torch would open and close it in this process."""
    database = tmp_path / "state" / "traced.db"
    os.link(database, f"{database}.pth")
    for form in ("{}", "{}.pth", "open_clip:ViT-B-32@{}", "vqa:{0}@{0}"):
        with pytest.raises(TracedError):
            load_scorer(form.format(database), None, "cpu")
    check_lock(workspace, database)


def test_nothing_is_written_over_the_database(workspace: Workspace, tmp_path: Path) -> None:
    database = tmp_path / "state" / "traced.db"
    os.link(database, tmp_path / "state" / "hard.csv")
    (tmp_path / "state" / "link.csv").symlink_to(database)
    for name in ("traced.db", "hard.csv", "link.csv"):
        with pytest.raises(DatabaseFile), replacement(database.with_name(name)):
            raise AssertionError("it is replaced")
        with pytest.raises(DatabaseFile):
            open_for_append(database.with_name(name))
    check_lock(workspace, database)


def test_no_link_is_followed_where_a_file_is_written(workspace: Workspace, tmp_path: Path) -> None:
    """A part that an earlier run left, or that somebody planted, is a link to the database."""
    database = tmp_path / "state" / "traced.db"
    dataset = workspace.jobs.import_dataset(
        image_folder(tmp_path / "in", [{"file_name": "a.png", "text": "a dog"}], ("a.png",))
    )
    for name in ("scores.csv", "scores.jsonl", "scores.parquet"):
        out = tmp_path / name
        (tmp_path / f".{name}.part").symlink_to(database)
        out.symlink_to(tmp_path / "elsewhere")
        assert export_scores.write(workspace.store, dataset.dataset_id, out) == 1
        assert out.is_file()
        assert not out.is_symlink()
    assert not (tmp_path / "elsewhere").exists()
    assert not list(tmp_path.glob(".*.part"))
    (tmp_path / "lines.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="link"):
        open_for_append(tmp_path / "lines.jsonl")
    create_table(workspace, "confirmed")
    assert has_table(database, "confirmed")


def test_the_data_folder_is_not_a_dataset(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "state" / "thumbnails").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "state")
    photos = image_folder(
        tmp_path / "photos", [{"file_name": "a.png", "text": "a dog"}], ("a.png",)
    )
    for source, way in itertools.product(
        ("state", ".", "state/thumbnails", "link"), ("path", "image_root")
    ):
        arguments: dict[str, Any] = {"path": str(photos)} | {way: str(tmp_path / source)}
        root = arguments.get("image_root")
        with pytest.raises(UnsafePath, match="own data"):
            workspace.jobs.import_dataset(arguments["path"], options=ReadOptions(image_root=root))
        with pytest.raises(UnsafePath, match="own data"):
            workspace.jobs.start("import", None, **arguments)
    assert not workspace.datasets()


def lose_locks(database: Path) -> None:
    """What a library does that opens the database in the process of the server."""
    os.close(os.open(database, os.O_RDONLY))
    run_other_program(database)


def replace_database(database: Path) -> None:
    """A backup that is put in place while the server runs."""
    copy = database.with_name("copy.db")
    source, target = sqlite3.connect(database), sqlite3.connect(copy)
    source.backup(target)
    source.close()
    target.close()
    os.replace(copy, database)


def replace_index(database: Path) -> None:
    """Other programs then lock another file than the server."""
    index = database.with_name(f"{database.name}-shm")
    copy = database.with_name("copy")
    copy.write_bytes(index.read_bytes())
    os.replace(copy, index)


@pytest.mark.parametrize("fault", [lose_locks, replace_database, replace_index])
def test_nothing_is_confirmed_once_the_database_is_gone(
    workspace: Workspace, tmp_path: Path, fault: Callable[[Path], None]
) -> None:
    database = tmp_path / "state" / "traced.db"
    create_table(workspace, "before")
    fault(database)
    for _ in range(2):
        with pytest.raises(StoreError, match="Restart"):
            create_table(workspace, "after")
    assert has_table(database, "before")
    workspace.store.close()  # as a restart does
    create_table(workspace, "after")
    assert has_table(database, "after")


def test_a_commit_is_not_confirmed_if_the_database_went_meanwhile(
    workspace: Workspace, tmp_path: Path
) -> None:
    def confirm() -> None:
        with workspace.store.writing() as session:
            session.execute(text("CREATE TABLE unsure (a INTEGER)"))
            session.commit()
            lose_locks(tmp_path / "state" / "traced.db")

    with pytest.raises(StoreError, match="Restart"):
        confirm()
