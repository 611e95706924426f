"""`apply`: captions are written into the source's own files, to the byte, and put back."""

import json
import shutil
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from backend.datasets.read_options import DETECTED, ReadOptions
from backend.errors import DatasetError, SettingsError
from backend.features.in_place import writing
from backend.features.in_place.report import ApplyReport
from backend.features.in_place.writing import COPIES
from backend.jobs.export_choice import ExportChoice
from backend.workspace import Workspace
from db.queries import pair_queries
from db.queries.pair_queries import PairRow
from tests.cli.invoking import as_json, invoked
from tests.datasets.folders import encoded, picture, tar_bytes, write
from tests.features.in_place.conftest import captioned
from tests.fixtures.sizes import Sizes
from tests.jobs.opening import opened


def correct(workspace: Workspace, changes: dict[str, str], **options: Any) -> None:
    """Correct the pairs with these captions."""
    filter = workspace.review.filter_of(1, {"review": "all"})
    rows = workspace.review.queue_page(filter, limit=1000).rows
    for row in rows:
        if row.caption in changes:
            workspace.review.decide(row.pair_id, 0, "correction", changes[row.caption])


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and COPIES not in path.parts
    }


def apply(workspace: Workspace, **options: Any) -> ApplyReport:
    return workspace.jobs.run("apply", 1, **options)


class Case(NamedTuple):
    """Files beside pictures, captions that are corrected, and how the files read then."""

    files: dict[str, bytes]
    changes: dict[str, str]
    expected: dict[str, bytes]
    pictures: tuple[str, ...] = ("a.png", "b.png")
    options: ReadOptions = DETECTED


def text(content: bytes, before: str, after: str, expected: bytes) -> Case:
    files = {"in/a.txt": content, "in/b.caption": b"something else"}
    return Case(files, {before: after}, {"in/a.txt": expected}, ("in/a.png", "in/b.png"))


def table(name: str, content: bytes, changes: dict[str, str], expected: bytes) -> Case:
    return Case({name: content}, changes, {name: expected})


def replaced(name: str, content: bytes, changes: dict[str, str]) -> Case:
    """A table in which the captions are replaced and nothing else is."""
    expected = content
    for before, after in changes.items():
        expected = expected.replace(before.encode(), after.encode())
    return table(name, content, changes, expected)


COCO_IMAGES = b'{"images": [{"id": 1, "file_name": "a.png"}, {"id": 2, "file_name": "b.png"}],\n'


def kinds_in_rows(*ids: str) -> Case:
    """Captions of several columns; `ids`: of the rows, with the comma behind each."""
    head, first, second = ("id,", *ids) if ids else ("", "", "")
    content = (
        f'{head}file_name,"wd14_tags",caption,alt_text\r\n{first}a.png,"dog, red",A dog.,dog\r\n'
        f'{second}a.png,"fox, red",A fox.,A dog.\r\n'
    ).encode()
    expected = content.replace(b"fox, red", b"cat, red").replace(b"A fox.", b"A cat.")
    changes = {"A fox.": "A cat.", "fox, red": "cat, red"}
    files = {"metadata.csv": content}
    return Case(files, changes, {"metadata.csv": expected}, ("a.png",), ALL_FIELDS)


ALL_FIELDS = ReadOptions(caption_fields="all")
#: Rows, and before them one that is not text.
DOGS = (
    b'{"image": "a.png", "caption": "\xff\xfe"}\n'
    + "".join(f'{{"image": "a.png", "caption": "dög {n}"}}\n' for n in range(3)).encode()
)
ROUND_TRIPS = {
    "last line end": text(b"a dog\r\n", "a dog", "a r\u00e9d cat", "a r\u00e9d cat\r\n".encode()),
    "no line end": text(b"a red dog", "a red dog", "a cat", b"a cat"),
    "mark": text(b"\xef\xbb\xbfa dog\n", "a dog", "a cat", b"\xef\xbb\xbfa cat\n"),
    "utf-16": text(
        "\ufeffa dog\n".encode("utf-16-le"), "a dog", "a cat",
        "\ufeffa cat\n".encode("utf-16-le"),
    ),
    "object": text(
        b'{ "n": 1.0,\n\t"caption" : "a dog", "alt": "a dog" }\n', "a dog", 'a "cat"',
        b'{ "n": 1.0,\n\t"caption" : "a \\"cat\\"", "alt": "a dog" }\n',
    ),
    "JSON with other keys": Case(
        {"a.json": b'{"label": "a dog", "caption":"a dog","score": 1e-3,\r\n "tags": ["a dog"]}'},
        {"a dog": "a élan"},
        {"a.json": b'{"label": "a dog", "caption":"a \\u00e9lan","score": 1e-3,\r\n'
                   b' "tags": ["a dog"]}'},
        ("a.png",),
    ),
    "csv": table(
        "t.csv",
        b'file_name,caption,"other, one"\r\na.png,a dog,"x ""y"""\r\n\r\n'
        b'b.png,"two\nlines",\' 1\r\na.png,a cow,\r\n',
        {"a dog": 'a "big", cat', "two\nlines": "one", "a cow": "a goat"},
        b'file_name,caption,"other, one"\r\na.png,"a ""big"", cat","x ""y"""\r\n\r\n'
        b'b.png,"one",\' 1\r\na.png,a goat,\r\n',
    ),
    "cp1252": table(
        "t.csv",
        "image;caption\na.png;ein grüner Hund läuft über die Straße\nb.png;früh blüht es draußen\n"
        "a.png;schöne Bäume stehen für müde Männer\n".encode("cp1252"),
        {"früh blüht es draußen": "spät, grün"},
        "image;caption\na.png;ein grüner Hund läuft über die Straße\nb.png;spät, grün\n"
        "a.png;schöne Bäume stehen für müde Männer\n".encode("cp1252"),
    ),
    "tsv": table(
        "t.tsv", b"image\tcaption\na.png\ta dog\nb.png\ta cow", {"a cow": "a cat"},
        b"image\tcaption\na.png\ta dog\nb.png\ta cat",
    ),
    "jsonl": table(
        "t.jsonl",
        b'{"id": 7, "image": "a.png", "caption": "a dog", "was": "a dog"}\n\n'
        b'{"image":"b.png","n":1.50,"caption":"a c\xc3\xb6w"}\n',
        {"a dog": "a cat", "a cöw": "a bäll"},
        b'{"id": 7, "image": "a.png", "caption": "a cat", "was": "a dog"}\n\n'
        b'{"image":"b.png","n":1.50,"caption":"a b\xc3\xa4ll"}\n',
    ),
    "list of objects": table(
        "t.json",
        b'\xef\xbb\xbf[\r\n  {"id": 7, "image": "a.png", "caption" : "a\\/b", "was": "a dog"},\r\n'
        b'  {"n":1.50,"image":"b.png",\n   "caption":"a c\xc3\xb6w", "x": "\\u00e9"}\r\n]',
        {"a/b": "a cat", "a cöw": 'a "bäll"'},
        b'\xef\xbb\xbf[\r\n  {"id": 7, "image": "a.png", "caption" : "a cat", "was": "a dog"},\r\n'
        b'  {"n":1.50,"image":"b.png",\n   "caption":"a \\"b\xc3\xa4ll\\"", "x": "\\u00e9"}\r\n]',
    ),
    "list of objects in one line": replaced(
        "t.json", b'[{"image":"a.png","caption":"a dog"},{"image":"b.png","caption":"a cow"}]',
        {"a dog": "a big cat", "a cow": "a hen"},
    ),
    "list of objects in UTF-16": table(
        "t.json", '\ufeff[{"image": "a.png",\n"caption": "a dög"}]\n'.encode("utf-16-le"),
        {"a dög": "a cat"},
        '\ufeff[{"image": "a.png",\n"caption": "a cat"}]\n'.encode("utf-16-le"),
    ),
    "list that is called like JSON lines": replaced(
        "t.jsonl", b'[\n{"image": "a.png", "caption": "a dog"}\n]\n', {"a dog": "a cat"}
    ),
    "list in an object": replaced(
        "t.json", b'{"info": "x", "data": [{"image": "a.png", "caption": "a dog"}]}',
        {"a dog": "a cat"},
    ),
    "lists of splits": replaced(
        "t.json", b'{"train": [{"image": "a.png", "caption": "a dog"}],\n'
        b'"val": [{"image": "b.png", "caption": "a dog"}]}', {"a dog": "a cat"},
    ),
    "JSON lines that are called like JSON": replaced(
        "t.json",
        b'{"image": "a.png", "caption": "a dog"}\n{"image": "b.png", "caption": "a cow"}\n',
        {"a cow": "a cat"},
    ),
    "COCO": replaced(
        "t.json", b'{"annotations": [{"image_id": 2, "id": 1, "caption": "a dog"},\n'
        b'{"image_id": 1, "id": 2, "caption": "a dog"}, {"image_id": 1, "id": 3,"caption":"c"}],\n'
        b'"images": [{"id": 1, "file_name": "a.png"}, {"id": 2, "file_name": "b.png"}]}\n',
        {"a dog": "a cat"},
    ),
    "COCO without ids": replaced(
        "t.json", COCO_IMAGES + b'"annotations": [{"image_id": 1, "caption": "a dog"}, '
        b'{"image_id": 2, "caption": "a cow"}]}', {"a cow": "a cat"},
    ),
    "list of tokens": Case(
        {"f.token.txt": b'a.png#0\tA dog .\r\na.png#1\tA c\xc3\xb6w runs .\r\nb.png#0\tA dog .'},
        {"A cöw runs .": 'A hen , "big" .', "A dog .": "A cat ."},
        {"f.token.txt": b'a.png#0\tA cat .\r\na.png#1\tA hen , "big" .\r\nb.png#0\tA cat .'},
    ),
    "captions.txt": Case(
        {"captions.txt": b'image,caption\na.png,A dog runs\nb.png,"A cow, red"\n'},
        {"A dog runs": 'A cat, "big"', "A cow, red": "A hen"},
        {"captions.txt": b'image,caption\na.png,"A cat, ""big"""\nb.png,"A hen"\n'},
    ),
    "lists whose captions change places": table(
        "t.jsonl",
        b'{"image": "a.png", "captions": ["a dog runs here", "a cow stands there"]}\n',
        {"a dog runs here": "a cow stands there", "a cow stands there": "a dog runs here"},
        b'{"image": "a.png", "captions": ["a cow stands there", "a dog runs here"]}\n',
    ),
    "JSON in a cell": table(
        "t.csv",
        b'image,caption\na.png,"{""caption"": ""a dog"", ""n"": 1}"\n', {"a dog": 'a "cat"'},
        b'image,caption\na.png,"{""caption"": ""a \\""cat\\"""", ""n"": 1}"\n',
    ),
    "printed by Python": table(
        "t.csv", b"image,caption\na.png,\"['a dog runs', 'a cow stands']\"\n",
        {"a dog runs": "a dog sits"},
        b"image,caption\na.png,\"['a dog sits', 'a cow stands']\"\n",
    ),
    "a line that is not text": table(
        "t.jsonl", DOGS, {"dög 1": "cat"}, DOGS.replace("dög 1".encode(), b"cat")
    ),
    "a new caption": Case(
        {}, {"": "a cat"}, {"a.txt": b"a cat"}, ("a.png",), ReadOptions(uncaptioned=True)
    ),
    "another normal form": Case(
        {"caf\u00e9.txt": b"a dog"}, {"a dog": "a cat"}, {"caf\u00e9.txt": b"a cat"},
        ("cafe\u0301.png",),
    ),
    "hidden files": Case(
        {"a.txt": b"a dog", "._a.png": b"attributes", "._a.txt": b"attributes"},
        {"a dog": "a cat"}, {"a.txt": b"a cat"}, ("a.png",),
    ),
    "kinds in files": Case(
        {"a.txt": b"A dog.\n", "a_tags.txt": b"dog, red\r\n", "a_short.txt": b"Dog."},
        {"A dog.": "A cat.", "dog, red": "cat, red"},
        {"a.txt": b"A cat.\n", "a_tags.txt": b"cat, red\r\n"}, ("a.png",), ALL_FIELDS,
    ),
    "kinds in a row": kinds_in_rows(),
    "kinds in a row with an id": kinds_in_rows("7,", "8,"),
}  # fmt: skip


def imported(workspace: Workspace, folder: Path, case: Case) -> None:
    for place in case.pictures:
        picture(folder / place)
    for name, content in case.files.items():
        write(folder / name, content)
    workspace.jobs.import_dataset(next(folder.glob("t.*"), folder), options=case.options)


@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_files_are_written_and_put_back(workspace: Workspace, tmp_path: Path, name: str) -> None:
    """A second run changes nothing, and an undo restores all."""
    case, folder = ROUND_TRIPS[name], tmp_path / "pairs"
    imported(workspace, folder, case)
    before = contents(folder)
    correct(workspace, case.changes)
    plan = apply(workspace, dry_run=True)
    assert contents(folder) == before
    assert not (folder / COPIES).exists()
    report = apply(workspace)
    assert (plan.captions, plan.files) == (report.captions, report.files)
    assert report.left_alone == ()
    assert contents(folder) == before | case.expected
    again = apply(workspace)
    assert (again.captions, again.already_there) == (0, report.captions)
    assert contents(folder) == before | case.expected
    undone = apply(workspace, undo=True)
    assert (undone.files, undone.left_alone) == (report.files, ())
    assert contents(folder) == before
    assert not (folder / COPIES).exists()


#: What is not written, how it reads when it is to be, and what is said of it.
LEFT_ALONE = {
    "moved rows": (
        table(
            "t.csv", b"image,caption\na.png,a dog\nb.png,a cow\n", {"a dog": "a cat"},
            b"image,caption\nb.png,a dog\na.png,a hen\n",
        ), "",
    ),
    "another field with the same text": (
        table(
            "t.jsonl", b'{"image": "a.png", "caption": "dog", "label": "dog"}\n', {"dog": "cat"},
            b'{"image": "a.png", "caption": "a hen", "label": "dog"}\n',
        ), "",
    ),
    "letters that the encoding lacks": (
        Case(
            {"t.csv": "image,caption\na.png,ein süßer Hund\n".encode("cp1252")},
            {"ein süßer Hund": "犬"}, {}, options=ReadOptions(encoding="cp1252"),
        ), "犬",
    ),
    "another format": (
        Case({"t.tar": tar_bytes([("a.png", encoded()), ("a.txt", b"a dog")])},
             {"a dog": "a cat"}, {}, ()), "",
    ),
    "a document of another form": (
        Case(
            {"t.json": b'{"images": [{"filename": "a.png", "sentences": [{"raw": "a dog"}]}]}'},
            {"a dog": "a cat"}, {},
        ), "list of objects",
    ),
    "a document with another caption": (
        table(
            "t.json", b'[{"image": "a.png", "caption": "a dog"}]', {"a dog": "a cat"},
            b'[{"image": "a.png", "caption": "a hen"}]',
        ), "has changed",
    ),
    "a document that is cut": (
        table(
            "t.json", b'[{"image": "a.png", "caption": "a dog"}]', {"a dog": "a cat"},
            b'[{"image": "a.png", "caption": "a dog"}, {',
        ), "JSON",
    ),
    "another picture in COCO": (
        table(
            "t.json", COCO_IMAGES + b'"annotations": [{"image_id": 1, "caption": "a dog"}]}',
            {"a dog": "a cat"},
            COCO_IMAGES + b'"annotations": [{"image_id": 2, "caption": "a dog"}]}',
        ), "its picture",
    ),
    "several lines in a list": (
        Case({"captions.txt": b"a.png,A dog\nb.png,A cow\n"}, {"A dog": "A\ncat"}, {}),
        "several lines",
    ),
    "a part of a cell": (
        Case(
            {"t.csv": b"file_name,caption\na.png,a dog | a cow\n"}, {"a dog": "a cat"}, {},
            options=ReadOptions(captions_separator="|"),
        ), "parts of one text",  # it has not changed
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_what_cannot_be_written_is_left_alone(
    workspace: Workspace, tmp_path: Path, name: str
) -> None:
    (case, reason), folder = LEFT_ALONE[name], tmp_path / "pairs"
    imported(workspace, folder, case)
    correct(workspace, case.changes)
    for file, content in case.expected.items():
        write(folder / file, content)
    before = contents(folder)
    (left,) = apply(workspace, encoding=case.options.encoding).left_alone
    assert (left.file, left.captions) == (next(iter(case.files)), 1)
    assert reason in left.reason
    assert contents(folder) == before
    assert not (folder / COPIES).exists()


def test_a_dry_run_is_a_diff_that_patch_applies(workspace: Workspace, tmp_path: Path) -> None:
    folder = captioned(tmp_path / "pairs", a="a dog\n", b="a cow")
    workspace.jobs.import_dataset(folder)
    correct(workspace, {"a dog": "a cat", "a cow": "a goat"})
    check_diff(workspace, folder)


def check_diff(workspace: Workspace, folder: Path) -> None:
    """The diff of a dry run does what the run does."""
    before = contents(folder)
    diff = apply(workspace, dry_run=True).diff
    done = subprocess.run(
        ["git", "apply", "--unidiff-zero", "-"], input=diff + "\n", text=True, cwd=folder
    )
    assert done.returncode == 0
    by_patch = contents(folder)
    for name, content in before.items():
        write(folder / name, content)
    apply(workspace)
    assert contents(folder) == by_patch


@pytest.mark.parametrize("name", ["COCO", "list of tokens", "list of objects in one line"])
def test_the_diff_of_a_document_is_of_whole_lines(
    workspace: Workspace, tmp_path: Path, name: str
) -> None:
    imported(workspace, tmp_path / "pairs", ROUND_TRIPS[name])
    correct(workspace, ROUND_TRIPS[name].changes)
    check_diff(workspace, tmp_path / "pairs")


def test_files_that_have_changed_are_left_alone_and_named(
    workspace: Workspace, tmp_path: Path
) -> None:
    folder = captioned(tmp_path / "pairs", **{stem: f"a dog {stem}" for stem in "abcd"})
    workspace.jobs.import_dataset(folder)
    correct(workspace, {f"a dog {stem}": f"a cat {stem}" for stem in "abcd"})
    write(folder / "b.txt", "written by somebody else")
    (folder / "c.txt").unlink()
    report = apply(workspace)
    assert report.captions == 2
    assert {left.file for left in report.left_alone} == {"b.png", "c.png"}
    assert contents(folder)["b.txt"] == b"written by somebody else"
    write(folder / "d.txt", "changed after it was written")
    undone = apply(workspace, undo=True)
    assert (undone.files, [left.file for left in undone.left_alone]) == (1, ["d.txt"])
    copy = Path(undone.copies) / "files" / "d.txt"
    assert copy.read_bytes() == b"a dog d"


@pytest.mark.parametrize("last", range(1, 9))
def test_killed_at_any_moment_each_file_is_old_or_new(
    workspace: Workspace, tmp_path: Path, sizes: Sizes, monkeypatch: pytest.MonkeyPatch, last: int
) -> None:
    sizes(_AT_ONCE=2)
    folder = tmp_path / "pairs"
    captioned(folder, **{f"{number}": f"old {number}\n" for number in range(4)})
    workspace.jobs.import_dataset(folder)
    correct(workspace, {f"old {n}": f"new {n}" for n in range(4)})
    before = contents(folder)
    calls = 0

    class Killed(BaseException):
        pass

    def step(function: Any) -> Any:
        def counted(*arguments: Any, **more: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == last:
                raise Killed
            return function(*arguments, **more)

        return counted

    with monkeypatch.context() as patch:
        for name in ("_note", "_copy", "_replace"):
            patch.setattr(writing, name, step(getattr(writing, name)))
        with pytest.raises(Killed):
            apply(workspace)
    texts = {n: c for n, c in contents(folder).items() if n.endswith(".txt")}
    assert set(texts) == {f"{n}.txt" for n in range(4)}
    for name, content in texts.items():
        assert content in (before[name], before[name].replace(b"old", b"new"))
    report = apply(workspace)
    assert report.captions + report.already_there == 4
    assert apply(workspace, undo=True).left_alone == ()
    assert contents(folder) == before


def test_a_file_that_another_program_writes_meanwhile(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = captioned(tmp_path / "pairs", **{stem: f"a dog {stem}" for stem in "ab"})
    workspace.jobs.import_dataset(folder)
    correct(workspace, {"a dog a": "a cat a", "a dog b": "a cat b"})
    note = writing._note

    def note_and_write(*arguments: Any) -> None:
        note(*arguments)
        write(folder / "a.txt", "by another")

    monkeypatch.setattr(writing, "_note", note_and_write)
    report = apply(workspace)
    assert [left.file for left in report.left_alone] == ["a.txt"]
    assert contents(folder)["a.txt"] == b"by another"
    assert contents(folder)["b.txt"] == b"a cat b"


def test_a_folder_that_cannot_be_written(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = captioned(tmp_path / "pairs", a="a dog")
    workspace.jobs.import_dataset(folder)
    correct(workspace, {"a dog": "a cat"})

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(DatasetError):
        apply(workspace)
    assert contents(folder)["a.txt"] == b"a dog"


def test_exports_and_copies_of_the_program_are_refused(
    workspace: Workspace, tmp_path: Path
) -> None:
    folder = captioned(tmp_path / "pairs", a="a dog")
    workspace.jobs.import_dataset(folder)
    correct(workspace, {"a dog": "a cat"})
    workspace.jobs.export(1, ExportChoice(), tmp_path / "out", "imagefolder")
    copy = tmp_path / "state" / "own"
    shutil.copytree(folder, copy)
    for place in (tmp_path / "out", copy):
        before = contents(place)
        other = workspace.jobs.import_dataset(place, name=place.name).dataset_id
        with pytest.raises(DatasetError):
            workspace.jobs.run("apply", other)
        assert contents(place) == before


def test_links_and_rights_of_files_stay(workspace: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "pairs"
    picture(folder / "a.png")
    text = write(folder / "texts" / "own", "a dog")
    text.chmod(0o640)
    (folder / "a.txt").symlink_to(text)
    workspace.jobs.import_dataset(folder)
    correct(workspace, {"a dog": "a cat"})
    assert apply(workspace).captions == 1
    assert (folder / "a.txt").is_symlink()
    assert (text.read_bytes(), text.stat().st_mode & 0o777) == (b"a cat", 0o640)


@pytest.mark.parametrize("is_undo", [False, True])
def test_a_folder_of_copies_that_came_with_the_dataset(
    workspace: Workspace, tmp_path: Path, is_undo: bool
) -> None:
    """By no link in it and by no journal is anything outside of the source written or removed."""
    folder = captioned(tmp_path / "pairs", a="a dog")
    workspace.jobs.import_dataset(folder)
    correct(workspace, {"a dog": "a cat"})
    outside = write(tmp_path / "outside" / ".a.txt.part", "theirs")
    run = folder / COPIES / "29990101-000000-000000"
    digests = {"before": "", "after": ""}
    journal = write(run / "journal.jsonl", "")
    for link, target in ((journal, outside), (run / "files", outside.parent)):
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        with pytest.raises(DatasetError, match=link.name):
            apply(workspace, undo=is_undo)
        link.unlink()
        write(journal, "")
    lines = [{"file": name, **digests} for name in ("../outside/a.txt", f"{outside.parent}/a.txt")]
    write(journal, "".join(f"{json.dumps(line)}\n" for line in (*lines, 1, {"file": 1})))
    (run / "files").mkdir()
    apply(workspace, undo=is_undo)
    assert contents(outside.parent) == {outside.name: b"theirs"}
    assert contents(folder)["a.txt"] == (b"a dog" if is_undo else b"a cat")


def test_a_new_caption_is_written_through_no_link_out_of_the_source(
    workspace: Workspace, tmp_path: Path
) -> None:
    folder = tmp_path / "pairs"
    picture(folder / "in" / "a.png")
    workspace.jobs.import_dataset(folder, options=ReadOptions(uncaptioned=True))
    correct(workspace, {"": "a cat"})
    (folder / "in").rename(tmp_path / "elsewhere")
    (folder / "in").symlink_to(tmp_path / "elsewhere")
    report = apply(workspace)
    assert [left.file for left in report.left_alone] == ["in/a.png"]
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == ["a.png"]


def test_of_several_curators_adjudicators_alone_write_into_the_source(
    workspace: Workspace, tmp_path: Path
) -> None:
    folder = captioned(tmp_path / "pairs", a="a dog")
    workspace.jobs.import_dataset(folder)
    correct(workspace, {"a dog": "a cat"})
    for is_undo in (False, True):
        with pytest.raises(SettingsError):
            workspace.jobs.seen_by("Bea").run("apply", 1, undo=is_undo)
    assert contents(folder)["a.txt"] == b"a dog"


def test_an_import_afterwards_sees_the_same_pairs(workspace: Workspace, tmp_path: Path) -> None:
    """Two captions of one picture, both corrected: neither is gone, new, nor to be scored again."""
    folder = captioned(tmp_path / "pairs", a="a dog\na cow\na hen\n")
    options = ReadOptions(captions_per_line=True)
    workspace.jobs.import_dataset(folder, options=options)
    correct(workspace, {"a dog": "a cat", "a cow": "a goat"})
    before = rows_of(workspace)
    assert apply(workspace).captions == 2
    for update in ("keep", "take"):
        report = workspace.jobs.import_dataset(folder, update=update, options=options)
        assert asdict(report.changes) == {"new": 0, "changed": 0, "moved": 0, "gone": 0, "same": 3}
        assert rows_of(workspace) == before
    assert apply(workspace).already_there == 2


@pytest.mark.parametrize("has_ids", [True, False])
@pytest.mark.parametrize("update", ["keep", "take"])
def test_a_picture_replaced_after_apply_is_nobodys_picture(
    workspace: Workspace, tmp_path: Path, update: str, has_ids: bool
) -> None:
    """The new picture has the caption that the source says, and nobody has judged it."""
    folder = tmp_path / "pairs"
    picture(folder / "a.png")
    picture(folder / "b.png")
    write(folder / "t.csv", "id,file_name,caption\nx,a.png,a dog\ny,b.png,a cow\n")
    source = folder / "t.csv"
    if not has_ids:
        source.unlink()
        write(folder / "a.txt", "a dog")
        write(folder / "b.txt", "a cow")
        source = folder
    workspace.jobs.import_dataset(source, "pairs")
    correct(workspace, {"a dog": "a cat"})
    assert apply(workspace).captions == 1
    picture(folder / "a.png", (33, 10))
    report = workspace.jobs.import_dataset(source, "pairs", update=update)
    assert (report.changes.changed, report.changes.same, report.replaced) == (1, 1, 1)
    row = rows_of(workspace)[0]
    is_taken = update == "take"
    assert (row.caption, row.corrected_caption) == (
        ("a cat", None) if is_taken else ("a dog", "a cat")
    )
    assert (row.decision is None) == is_taken
    again = workspace.jobs.import_dataset(source, "pairs", update=update)
    assert (again.replaced, again.added) == (0 if is_taken else 1, 0)


def test_rows_that_are_numbered_anew_after_apply(workspace: Workspace, tmp_path: Path) -> None:
    table = tmp_path / "pairs" / "t.csv"
    rows = [("a", "a dog"), ("b", "a cow"), ("c", "a hen")]
    for stem, size in zip("abcz", range(4, 8), strict=True):
        picture(table.parent / f"{stem}.png", (size, 4))

    def save() -> None:
        lines = (f"{i},{stem}.png,{caption}\n" for i, (stem, caption) in enumerate(rows, 1))
        write(table, "id,file_name,caption\n" + "".join(lines))

    save()
    workspace.jobs.import_dataset(table, "pairs")
    correct(workspace, {"a cow": "a cat"})
    assert apply(workspace).captions == 1
    rows[:] = [("z", "a fox"), rows[0], ("b", "a cat"), rows[2]]
    save()
    report = workspace.jobs.import_dataset(table, "pairs", update="take")
    assert asdict(report.changes) == {"new": 1, "changed": 0, "moved": 3, "gone": 0, "same": 0}
    found = {row.external_id: (row.id, row.corrected_caption) for row in rows_of(workspace)}
    assert found == {"1": (4, None), "2": (1, None), "3": (2, "a cat"), "4": (3, None)}


def test_a_corrected_pair_that_was_hidden_comes_back(workspace: Workspace, tmp_path: Path) -> None:
    folder, away = captioned(tmp_path / "pairs", a="a dog", b="a cow"), tmp_path / "away"
    away.mkdir()
    workspace.jobs.import_dataset(folder)
    correct(workspace, {"a dog": "a cat"})
    assert apply(workspace).captions == 1
    before = rows_of(workspace)
    for source, target in ((folder, away), (away, folder)):
        for name in ("a.png", "a.txt"):
            (source / name).rename(target / name)
        report = workspace.jobs.import_dataset(folder, update="take", gone="hide")
    assert asdict(report.changes) == {"new": 0, "changed": 0, "moved": 0, "gone": 0, "same": 2}
    assert rows_of(workspace) == before


def rows_of(workspace: Workspace) -> list[PairRow]:
    with workspace.store.reading() as session:
        return list(pair_queries.iterate_pairs(session, 1))


def test_the_command(tmp_path: Path) -> None:
    environment = {"TRACED_DATA_DIRECTORY": str(tmp_path / "state"), "COLUMNS": "200"}
    folder = captioned(tmp_path / "pairs", a="a dog")
    assert invoked(environment, "import", str(folder))[0] == 0
    workspace = opened(tmp_path / "state")
    correct(workspace, {"a dog": "a cat"})
    workspace.store.close()
    report = as_json(environment, "apply", "pairs", "--dry-run")
    assert "+a cat" in report["diff"].splitlines()
    assert as_json(environment, "apply", "pairs")["captions"] == 1
    assert (folder / "a.txt").read_text() == "a cat"
    assert as_json(environment, "apply", "pairs", "--undo")["files"] == 1
    assert (folder / "a.txt").read_text() == "a dog"


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        (
            "metadata.csv",
            b"file_name,caption\na.png,a dog\nb.png,a dog\na.png,a dog\na.png,a cow\n",
            b"file_name,caption\na.png,a cat\nb.png,a dog\na.png,a cat\na.png,a cow\n",
        ),
        (
            "metadata.jsonl",
            b'{"file_name": "a.png", "text": "a dog"}\n{"text": "a dog", "file_name": "a.png"}\n',
            b'{"file_name": "a.png", "text": "a cat"}\n{"text": "a cat", "file_name": "a.png"}\n',
        ),
    ],
)
def test_a_row_that_repeats_another_is_corrected_with_it(
    workspace: Workspace, tmp_path: Path, name: str, content: bytes, expected: bytes
) -> None:
    """An import takes the first; a trainer would go on reading the second."""
    folder = tmp_path / "pairs"
    for stem in ("a", "b"):
        picture(folder / f"{stem}.png")
    write(folder / name, content)
    workspace.jobs.import_dataset(folder)
    rows = workspace.review.queue_page(workspace.review.filter_of(1, {"review": "all"})).rows
    (first,) = (row for row in rows if row.caption == "a dog" and "a.png" in row.external_id)
    workspace.review.decide(first.pair_id, 0, "correction", "a cat")
    assert apply(workspace).left_alone == ()
    assert (folder / name).read_bytes() == expected
    assert apply(workspace).captions == 0
    apply(workspace, undo=True)
    assert (folder / name).read_bytes() == content


def test_rows_of_other_pairs_with_the_same_name_and_caption_stay(
    workspace: Workspace, tmp_path: Path
) -> None:
    """Pictures of two folders have one name, and one of them is right."""
    folder = tmp_path / "pairs"
    for name in ("train/1.png", "val/1.png"):
        picture(folder / name)
    table = folder / "metadata.csv"
    write(table, b"file_name,caption\ntrain/1.png,a dog\nval/1.png,a dog\n")
    workspace.jobs.import_dataset(folder)
    rows = workspace.review.queue_page(workspace.review.filter_of(1, {"review": "all"})).rows
    first, second = sorted(rows, key=lambda row: row.external_id)
    workspace.review.decide(first.pair_id, 0, "correction", "a cat")
    workspace.review.decide(second.pair_id, 0, "correct")
    assert apply(workspace).left_alone == ()
    assert table.read_bytes() == b"file_name,caption\ntrain/1.png,a cat\nval/1.png,a dog\n"
