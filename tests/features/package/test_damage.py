"""Packages that are none, were changed, or lie where nothing can be written; kills; full disks."""

import errno
import json
import os
import shutil
import signal
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from backend.errors import (
    DatasetFormatError,
    DatasetNotFound,
    ExportError,
    NotFound,
    SettingsError,
    TracedError,
)
from backend.features.package import manifest, merging, opening, packing
from backend.features.package.merging import merge
from tests.features.package.home import COUNT, Home, judge, served


def rewritten(package: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    """The package with other members."""
    with zipfile.ZipFile(package) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    other = package.with_name("changed.traced")
    with zipfile.ZipFile(other, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return other


def without(name: str) -> Callable[[dict[str, bytes]], None]:
    def change(members: dict[str, bytes]) -> None:
        del members[name]

    return change


def with_manifest(**values: Any) -> Callable[[dict[str, bytes]], None]:
    def change(members: dict[str, bytes]) -> None:
        content = json.loads(members[manifest.MANIFEST]) | values
        members[manifest.MANIFEST] = json.dumps(content).encode()

    return change


def with_sql(folder: Path, *statements: str) -> Callable[[dict[str, bytes]], None]:
    """The database changed, and its digest with it, as somebody could who means harm."""

    def change(members: dict[str, bytes]) -> None:
        file = folder / "changed.db"
        file.write_bytes(members[manifest.DATABASE])
        with sqlite3.connect(file) as connection:
            for statement in statements:
                connection.execute(statement)
        connection.close()
        members[manifest.DATABASE] = file.read_bytes()
        digest = packing.hashlib.sha256(members[manifest.DATABASE]).hexdigest()
        with_manifest(digest=digest)(members)

    return change


def test_files_that_are_no_packages(home: Home, tmp_path: Path) -> None:
    package = home.pack()
    files: dict[str, bytes] = {
        "text": b"no zip at all", "empty": b"", "half": package.read_bytes()[: 20_000 // 10],
        "database": b"SQLite format 3\0" + bytes(100),
    }  # fmt: skip
    for name, content in files.items():
        file = tmp_path / f"{name}.traced"
        file.write_bytes(content)
        with pytest.raises(DatasetFormatError):
            opening.open_package(file)
        assert not opening.verdicts_of(file).exists()
    with pytest.raises(DatasetNotFound):
        opening.open_package(tmp_path / "missing.traced")


def test_packages_that_were_changed(home: Home, tmp_path: Path) -> None:
    package = home.pack()
    trigger = "CREATE TRIGGER x AFTER INSERT ON verdicts BEGIN DELETE FROM holds; END"
    changes: dict[str, Callable[[dict[str, bytes]], None]] = {
        "no manifest": without(manifest.MANIFEST),
        "no database": without(manifest.DATABASE),
        "no JSON": lambda members: members.update({manifest.MANIFEST: b"{"}),
        "a list": lambda members: members.update({manifest.MANIFEST: b"[]"}),
        "newer": with_manifest(version=2),
        "another program's": with_manifest(format="x"),
        "no number": with_manifest(pairs="many"),
        "other bytes": lambda members: members.update({manifest.DATABASE: b"x" * 5000}),
        "a trigger": with_sql(tmp_path, trigger),
        "a view": with_sql(tmp_path, "CREATE VIEW x AS SELECT 1"),
        "pictures elsewhere": with_sql(tmp_path, "UPDATE pairs SET image_path = '../0.png'"),
    }
    for name, change in changes.items():
        other = rewritten(package, change)
        with pytest.raises(DatasetFormatError):
            opening.open_package(other)
        assert not opening.verdicts_of(other).exists(), name
        assert not list(other.parent.glob(".*part*")), name


def test_a_database_that_shrinks_too_much_is_not_unpacked(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = home.pack()
    monkeypatch.setattr(opening, "SMALL", 1000)
    monkeypatch.setattr(opening, "MOST_RATIO", 2)
    with pytest.raises(DatasetFormatError):
        opening.open_package(package)
    monkeypatch.setattr(opening, "MOST_RATIO", 1000)
    monkeypatch.setattr(opening, "MOST_DATABASE", 1000)
    with pytest.raises(DatasetFormatError):
        opening.open_package(package)
    monkeypatch.undo()
    assert opening.open_package(package)


def test_a_picture_that_was_exchanged_is_not_shown(home: Home) -> None:
    package = home.pack()

    def change(members: dict[str, bytes]) -> None:
        first, second = [name for name in members if name.startswith("pictures/")][:2]
        members[first] = members[second]

    with served(rewritten(package, change)) as workspace:
        view = workspace.review.open_pair(home.ids[0])
        assert view.picture.size is None
        assert workspace.review.open_pair(home.ids[1]).picture.size is not None


def test_verdicts_of_another_package_lie_beside_it(home: Home) -> None:
    package, other = home.pack(), home.pack("other.traced")
    judge(package, {"p1": "drop"})
    shutil.move(opening.verdicts_of(package), opening.verdicts_of(other))
    with pytest.raises(SettingsError):
        opening.open_package(other)
    assert home.merge(opening.verdicts_of(other)).counts == {"merged": 1}


def test_files_that_are_no_verdicts(home: Home, tmp_path: Path) -> None:
    package = home.pack()
    with pytest.raises(DatasetNotFound):
        home.merge(package)  # nobody has opened it
    database = Path(str(home.store.opened.engine.url.database))
    text = tmp_path / "text.verdicts.db"
    text.write_text("no database")
    (tmp_path / "empty.verdicts.db").touch()
    for file in (text, tmp_path / "empty.verdicts.db", database):
        with pytest.raises(TracedError):
            home.merge(file)
    judge(package, {"p1": "drop"})
    file = opening.verdicts_of(package)
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DatasetFormatError):
        home.merge(package)
    assert home.decisions() == [None] * COUNT


def test_acts_that_no_page_gives_are_left_out(home: Home) -> None:
    package = home.pack()
    judge(package, {"p1": "drop", "p2": "A black dog"})
    with sqlite3.connect(opening.verdicts_of(package)) as connection:
        (triggers,) = connection.execute(
            "SELECT group_concat(name) FROM sqlite_master WHERE tbl_name = 'verdicts' "
            "AND type = 'trigger'"
        ).fetchone()
        kept = [
            connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (name,)).fetchone()
            for name in triggers.split(",")
        ]
        for name in triggers.split(","):
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("UPDATE verdicts SET sampling = 'all' WHERE decision = 'drop'")
        connection.execute("UPDATE verdicts SET note = ? WHERE decision != 'drop'", ("x" * 9999,))
        for (sql,) in kept:
            connection.execute(sql)
    connection.close()
    report = home.merge(package)
    assert report.counts == {"unusable": 2}
    assert home.decisions() == [None] * COUNT


def test_another_dataset_of_the_name_gets_no_verdict_of_other_captions(
    home: Home, tmp_path: Path
) -> None:
    package = home.pack()
    judge(package, {"p1": "drop"})
    home.workspace.rename_dataset(home.dataset, "old")
    with pytest.raises(NotFound):
        home.merge(package)
    assert home.merge(package, name="old").counts == {"merged": 1}


def test_nothing_is_overwritten(home: Home) -> None:
    package = home.pack()
    before = package.read_bytes()
    with pytest.raises(SettingsError):
        home.pack()
    with pytest.raises(SettingsError):
        home.pack("empty.traced", queue="text=nothing like it")
    with pytest.raises(SettingsError):
        home.pack("names.traced", reviewers=["A b", "A_b"])
    assert package.read_bytes() == before
    assert [path.name for path in home.folder.glob("*.traced")] == ["task.traced"]


def full(*_: object, **__: object) -> Any:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_leaves_nothing_behind(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
    with pytest.raises(ExportError):
        home.pack()
    monkeypatch.undo()
    assert not list(home.folder.glob("*task*")) + list(home.folder.glob(".*task*"))
    package = home.pack()
    monkeypatch.setattr(opening.os, "fsync", full)
    with pytest.raises(SettingsError):
        opening.open_package(package)
    monkeypatch.undo()
    assert [path.name for path in home.folder.glob("*task*")] == ["task.traced"]
    assert not list(home.folder.glob(".*task*"))


def test_a_folder_that_cannot_be_written(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "stick"
    folder.mkdir()
    package = Path(shutil.move(home.pack(), folder))
    folder.chmod(0o500)
    try:
        if os.access(folder, os.W_OK):
            pytest.skip("this user may write anywhere")
        with pytest.raises(SettingsError):
            opening.open_package(package)
    finally:
        folder.chmod(0o700)


def killed(work: Callable[[Callable[..., None]], None]) -> None:
    """Run the work in a process of its own, which is killed when it calls its argument."""
    process = os.fork()
    if process == 0:
        try:
            work(lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
        finally:
            os._exit(1)  # only if it was not killed
    _, status = os.waitpid(process, 0)
    assert os.WIFSIGNALED(status), "the work ended before the kill"


@pytest.mark.parametrize("number", [1, COUNT])
def test_a_pack_that_is_killed_leaves_no_package(home: Home, number: int) -> None:
    def work(kill: Callable[..., None]) -> None:
        home.pack(progress=lambda done, *_: kill() if done == number else None)

    killed(work)
    assert not (home.folder / "task.traced").exists()
    assert list(home.folder.glob(".task.traced.part-*"))
    judge(home.pack(), {"p1": "drop"})
    assert not list(home.folder.glob(".task.traced.part-*"))


def test_opening_that_is_killed_is_done_again(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    package = home.pack()

    def work(kill: Callable[..., None]) -> None:
        monkeypatch.setattr(opening.os, "link", kill)
        opening.open_package(package)

    killed(work)
    assert not opening.verdicts_of(package).exists()
    judge(package, {"p1": "drop"})
    assert home.merge(package).counts == {"merged": 1}


def test_merging_that_is_killed_goes_on(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    package = home.pack()
    judge(package, {f"p{n}": "drop" for n in range(COUNT)})
    monkeypatch.setattr(merging, "AT_ONCE", 5)

    def work(kill: Callable[..., None]) -> None:
        merge(home.store, package, progress=lambda done, *_: kill() if done == 5 else None)

    home.store.close()  # a connection is no other process's
    killed(work)
    assert home.decisions().count("drop") == 5
    assert home.merge(package).counts == {"merged before": 5, "merged": COUNT - 5}
    assert home.decisions() == ["drop"] * COUNT
    assert merging.undo_merge(home.store, package) == COUNT
    assert home.decisions() == [None] * COUNT


def test_two_that_open_a_package_at_once_share_the_first_file(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = home.pack()
    check = opening.check_database

    def judge_meanwhile(*arguments: Any) -> None:
        check(*arguments)
        monkeypatch.setattr(opening, "check_database", check)
        judge(package, {"p1": "drop"})

    monkeypatch.setattr(opening, "check_database", judge_meanwhile)
    judge(package, {"p2": "drop"})
    assert home.merge(package).counts == {"merged": 2}


def test_a_picture_that_is_gone_at_home_is_counted(home: Home) -> None:
    (home.folder / "photos" / "3.png").unlink()
    (report,) = packing.pack_dataset(home.workspace, home.dataset, home.folder / "task.traced")
    assert (report.pictures, report.missing) == (COUNT - 1, 1)
    with served(home.folder / "task.traced") as workspace:
        assert workspace.review.open_pair(home.ids[3]).picture.size is None
        assert workspace.summary(workspace.start()).total == COUNT
