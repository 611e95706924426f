"""`watch`, and what Review says of a pair: captions that other tools write into the source."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from backend.datasets.read_options import ReadOptions
from backend.errors import INTERRUPTED, DatasetError, DatasetFormatError, NotFound
from backend.features.in_place import source_files
from backend.features.in_place.pair_part import read
from backend.features.in_place.watching import Watch, state_of_source, take
from backend.jobs import import_dataset
from backend.workspace import Workspace
from db.queries import dataset_queries, pair_queries
from tests.cli.invoking import as_json, invoked
from tests.datasets.folders import picture, write
from tests.features.in_place.conftest import captioned
from tests.features.in_place.test_apply import apply, correct, rows_of
from tests.fixtures import programs
from tests.jobs.opening import opened
from tests.traced_ui.pages import Page
from traced_ui.page_actions import drawn_pair


class Source:
    """A source in memory, with what was taken and said."""

    def __init__(self) -> None:
        self.state = "0"
        self.problem: Exception | None = None
        self.taken: list[str] = []
        self.said: list[str] = []
        self.watch = Watch(lambda: self.state, self.take, self.said.append)

    def take(self) -> None:
        if self.problem is not None:
            raise self.problem
        self.taken.append(self.state)

    def turns(self, *states: str) -> list[str]:
        """What was taken while the source was in these states."""
        self.taken.clear()
        for self.state in states:
            self.watch.turn()
        return self.taken


def test_what_is_still_written_is_taken_once_it_rests() -> None:
    source = Source()
    assert source.turns("0", "0") == ["0"]
    assert source.turns("1", "2", "2", "2") == ["2"]
    assert source.turns(*"3456789") == ["8"], "what never rests is taken as well"
    assert source.turns("9", "9") == ["9"]


def test_a_source_that_is_gone_or_cannot_be_read_is_waited_for() -> None:
    source = Source()
    assert source.turns("", "", "1", "", "") == ["1"]
    assert len(source.said) == 2, "each time it goes, once"
    source.problem = DatasetFormatError("Half a table.")
    assert source.turns("2", "2", "2") == []
    assert source.said[2:] == ["Half a table."]
    source.problem = None
    assert source.turns("2") == ["2"]
    assert source.turns("", "2", "", "2") == []
    assert len(source.said) == 5, "also if nothing has changed in between"
    source.problem = NotFound("deleted")
    with pytest.raises(NotFound):
        source.turns("3", "3")


def test_a_source_that_cannot_be_looked_at_is_waited_for() -> None:
    states: Iterator[str | OSError] = iter([PermissionError("denied"), OSError("stale"), "1"])
    taken, said = list[bool](), list[str]()

    def look() -> str:
        state = next(states)
        if isinstance(state, OSError):
            raise state
        return state

    seconds = iter([0, 1, 1, 2, 10, 12])
    watch = Watch(look, lambda: taken.append(True), said.append, lambda: next(seconds))
    for pause in (9, 9, 18):
        watch.turn()
        assert watch.pause(5) == pause
        assert watch.pause(60) == 60
    assert (said, taken) == (["denied", "stale"], [True])


def test_the_state_of_a_source(tmp_path: Path) -> None:
    folder = tmp_path / "pairs"
    picture(folder / "a.png")
    assert state_of_source(tmp_path / "none") == ""
    states = [state_of_source(folder)]
    for name in ("in/a.txt", "in/b.txt"):
        write(folder / name, "a dog")
        states.append(state_of_source(folder))
    write(folder / ".bak" / "a.txt", "a dog")
    assert state_of_source(folder) == states[-1]
    (folder / "in" / "b.txt").unlink()
    assert len({*states}) == 3
    assert state_of_source(folder) == states[1]
    table = write(tmp_path / "t.csv", "1")
    before = state_of_source(table)
    write(table, "12")
    assert state_of_source(table) != before


def test_it_is_read_as_at_the_import(workspace: Workspace, tmp_path: Path) -> None:
    """The column of captions, the encoding and the folder of pictures are not stated again."""
    picture(tmp_path / "pictures" / "a.png")
    table = write(tmp_path / "t.csv", "file_name;text;label\na.png;a d\u00f6g;x\n".encode("cp1252"))
    options = ReadOptions(
        caption_column="label", delimiter=";", encoding="cp1252", image_root="pictures"
    )
    before = os.getcwd()
    os.chdir(tmp_path)
    try:
        workspace.jobs.import_dataset(table, "t", options=options)
    finally:
        os.chdir(before)
    correct(workspace, {"x": "\u00e4"})
    assert apply(workspace).captions == 1
    write(table, table.read_bytes().replace(b"\xe4", b"\xf6"))
    assert take(workspace, 1).changes.changed == 1
    assert [row.caption for row in rows_of(workspace)] == ["\u00f6"]


def test_what_nobody_else_writes_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    folder = captioned(workspace.settings.data_directory / "uploads" / "1", a="a dog")
    workspace.jobs.import_dataset(folder)
    with pytest.raises(DatasetError):
        take(workspace, 1)
    folder = captioned(tmp_path / "old", a="a dog")
    workspace.jobs.import_dataset(folder)
    with workspace.store.writing() as session:
        session.get_one(dataset_queries.Dataset, 2).imported_at = None
    with pytest.raises(DatasetError):
        take(workspace, 2)


def test_the_command(tmp_path: Path) -> None:
    environment = {"TRACED_DATA_DIRECTORY": str(tmp_path / "state"), "COLUMNS": "200"}
    folder = captioned(tmp_path / "pairs", a="a dog")
    assert invoked(environment, "import", str(folder), "--no-first-look")[0] == 0
    write(folder / "a.txt", "a red dog")
    assert as_json(environment, "watch", "pairs", "--once")["changes"]["changed"] == 1
    assert as_json(environment, "watch", "pairs", "--once")["changes"]["changed"] == 0
    folder.rename(tmp_path / "away")
    assert invoked(environment, "watch", "pairs", "--once")[0] == DatasetError.exit_status


def test_a_caption_written_while_the_source_is_read_makes_no_second_pair(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An import reads all rows twice: compared, then written."""
    folder = captioned(tmp_path / "pairs", a="a dog", b="a cow")
    workspace.jobs.import_dataset(folder)
    before = rows_of(workspace)
    compare = import_dataset._compare

    def compare_then_write(*arguments: Any) -> Any:
        comparison = compare(*arguments)
        write(folder / "a.txt", "a cat")
        return comparison

    with monkeypatch.context() as patched:
        patched.setattr(import_dataset, "_compare", compare_then_write)
        report = workspace.jobs.import_dataset(folder, update="take")
    assert [problem.file for problem in report.first_problems] == ["a.png"]
    assert rows_of(workspace) == before
    assert take(workspace, 1).changes.changed == 1
    after = rows_of(workspace)
    assert [(row.id, row.caption) for row in after] == [
        (before[0].id, "a cat"), (before[1].id, "a cow"),
    ]  # fmt: skip


#: A tool that writes captions as many do: the file is emptied, and filled by and by.
TOOL = """
import itertools, sys, time
from pathlib import Path
folder, name, stems, end = sys.argv[1:]
for turn in itertools.count():
    for stem in stems.split(","):
        with (Path(folder) / f"{stem}.txt").open("w") as file:
            for part in (f"{name} ", f"writes {stem} ", f"in turn {turn}"):
                file.write(part)
                file.flush()
                time.sleep(0.02)
    if Path(end).exists():
        break
"""


def test_two_tools_write_while_it_is_killed(tmp_path: Path) -> None:
    folder, state, end = tmp_path / "pairs", tmp_path / "state", tmp_path / "end"
    stems = [f"p{number}" for number in range(8)]
    captioned(folder, **{stem: f"a dog {stem}" for stem in stems})
    workspace = opened(state)
    workspace.jobs.import_dataset(folder)
    correct(workspace, {"a dog p0": "a cat", "a dog p1": "a cow"})
    before = rows_of(workspace)
    environment = {**os.environ, "TRACED_DATA_DIRECTORY": str(state)}
    command = ["app.py", "watch", "pairs", "--every", "0.1"]
    tools = [
        subprocess.Popen([sys.executable, "-c", TOOL, folder, name, ",".join(own), end])
        for name, own in (("tagger", stems[1::2]), ("captioner", stems[2::2]))
    ]
    watch = programs.start(command, environment)

    def captions() -> list[str]:
        return [row.caption for row in rows_of(workspace)]

    try:
        wait(lambda: any("writes" in caption for caption in captions()))
        watch.kill()
        watch.wait(60)
        taken = captions()
        watch = programs.start(command, environment)
        wait(lambda: captions() != taken)
        end.touch()
        assert [tool.wait(300) for tool in tools] == [0, 0]
        wait(lambda: captions() == [(folder / f"{stem}.txt").read_text() for stem in stems])
        watch.send_signal(signal.SIGINT)
        assert watch.wait(300) == INTERRUPTED
    finally:
        for process in (watch, *tools):
            process.kill()
            process.wait(60)
        after = rows_of(workspace)
        workspace.store.close()
    kept = [[(row.id, row.decision, row.corrected_caption) for row in rows]
            for rows in (before, after)]  # fmt: skip
    assert kept[0] == kept[1]


def wait(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 300  # an import waits for other programs
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


def changed_files(workspace: Workspace) -> list[str | None]:
    """What Review says of each pair."""
    with workspace.store.reading() as session:
        dataset = dataset_queries.get_dataset(session, 1)
        rows = pair_queries.iterate_pairs(session, 1)
        return [read(session, row, dataset, workspace.settings) for row in rows]


SOURCES: dict[str, dict[str, str]] = {
    "texts": {"a.txt": "a dog\n", "b.txt": "a cow"},
    "json": {"a.json": '{"caption": "a dog"}', "b.json": '{"caption": "a cow"}'},
    "kinds": {"a_tags.txt": "a dog", "b_tags.txt": "a cow"},
    "csv": {"t.csv": "file_name,caption\na.png,a dog\nb.png,a cow\n"},
    "json lines": {
        "t.jsonl": '{"file_name": "a.png", "caption": "a dog"}\n'
        '{"file_name": "b.png", "caption": "a cow"}\n'
    },
}


@pytest.mark.parametrize("name", SOURCES)
def test_review_says_that_a_caption_has_changed_in_its_file(
    workspace: Workspace, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "pairs"
    for stem in "ab":
        picture(folder / f"{stem}.png")
    for file, text in SOURCES[name].items():
        write(folder / file, text)
    first = next(iter(SOURCES[name]))
    source = folder / first if first.startswith("t.") else folder
    workspace.jobs.import_dataset(source, "pairs")
    assert changed_files(workspace) == [None, None]
    for file in SOURCES[name]:
        (folder / file).touch()
    assert changed_files(workspace) == [None, None], "written, but the same"
    correct(workspace, {"a cow": "a goat"})
    assert apply(workspace).captions == 1
    assert changed_files(workspace) == [None, None], "the decided caption stands there"
    write(folder / first, (folder / first).read_text().replace("a dog", "a red dog"))
    assert changed_files(workspace) == [first, None]
    assert 'data-action="take-changes"' in stage(workspace)
    Page(workspace).press("take-changes")
    assert workspace.jobs.background.wait(60)
    assert changed_files(workspace) == [None, None]
    assert "take-changes" not in stage(workspace)
    assert [(row.caption, row.corrected_caption) for row in rows_of(workspace)] == [
        ("a red dog", None), ("a cow", "a goat"),
    ]  # fmt: skip


def _write_parquet(path: Path) -> None:
    pyarrow.parquet.write_table(
        pyarrow.table({"file_name": ["a.png", "b.png"], "caption": ["a dog", "a cow"]}), path
    )


#: What is written, and the stated column of captions.
TOUCHED: dict[str, tuple[dict[str, str], str | None]] = {
    "parquet": ({}, None),
    "document": ({"t.json": '[{"image": "a.png", "caption": "a dog"}]'}, None),
    "tags": ({"t.jsonl": '{"file_name": "a.png", "tags": ["a dog", "brown"]}\n'}, "tags"),
    "ending": ({"a.txt": "a dog", "a.caption": "x", "b.txt": "a cow", "b.caption": "x"}, "txt"),
}


@pytest.mark.parametrize("name", TOUCHED)
def test_review_says_nothing_of_a_file_that_was_only_touched(
    workspace: Workspace, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "pairs"
    for stem in "ab":
        picture(folder / f"{stem}.png")
    files, column = TOUCHED[name]
    for file, text in files.items():
        write(folder / file, text)
    if not files:
        _write_parquet(folder / "t.parquet")
    table = next(folder.glob("t.*"), folder)
    workspace.jobs.import_dataset(table, "pairs", options=ReadOptions(caption_column=column))
    for path in folder.iterdir():
        path.touch()
    found = changed_files(workspace)
    assert found
    assert not any(found)
    if name == "ending":
        correct(workspace, {"a cow": "a goat"})
        assert apply(workspace).captions == 1
        write(folder / "a.txt", "a red dog")
        assert changed_files(workspace) == ["a.txt", None]


def test_a_table_that_was_written_is_read_once(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for stem in "ab":
        picture(tmp_path / f"{stem}.png")
    table = write(tmp_path / "t.csv", SOURCES["csv"]["t.csv"])
    workspace.jobs.import_dataset(table, "pairs")
    write(table, SOURCES["csv"]["t.csv"].replace("a dog", "a hen"))
    records_in, reads = source_files._records_in, list[Path]()

    def count(file: Any, path: Path, *more: Any) -> Any:
        reads.append(path)
        return records_in(file, path, *more)

    monkeypatch.setattr(source_files, "_records_in", count)
    assert changed_files(workspace) == ["t.csv", None]
    assert reads == [table]


def test_who_may_not_import_the_source_is_not_asked_to(
    workspace: Workspace, tmp_path: Path
) -> None:
    """With login, a source outside the folders that pages may read."""
    folder = captioned(tmp_path / "pairs", a="a dog")
    workspace.jobs.import_dataset(folder)
    write(folder / "a.txt", "a red dog")
    assert changed_files(workspace) == ["a.txt"]
    workspace.confine()
    of_curator = workspace.seen_by("Ada")
    assert changed_files(of_curator) == [None]
    assert str(folder) not in Page(of_curator).press("take-changes")
    workspace.settings = replace(workspace.settings, import_root=(str(tmp_path),))
    assert changed_files(workspace.seen_by("Ada")) == ["a.txt"]


def stage(workspace: Workspace) -> str:
    return drawn_pair(workspace.review.open_pair(1))["stage"]
