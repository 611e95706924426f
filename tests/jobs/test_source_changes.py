"""A source that was edited is imported again: what changed is told, and nothing is mixed up."""

import os
import pty
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Column, ForeignKey, Table, insert, select

from backend import plugins
from backend.datasets.cells import split_proof
from backend.errors import ExportError, ImageError, SettingsError
from backend.jobs.dataset_reports import ImportReport
from backend.jobs.export_choice import ExportChoice
from backend.jobs.export_dataset import UNREADABLE
from backend.jobs.export_decisions import remaining
from backend.plugins import Plugin
from backend.store import all_computed_tables, create_tables_of_features
from backend.workspace import Workspace
from db.feature_tables import OF_CAPTION, OF_PICTURE, new_tables
from db.models import Detection, Pair, Trajectory, WordMark
from db.queries import (
    pair_queries,
    plot_queries,
    queue_queries,
    suggestion_queries,
    verdict_queries,
)
from db.queries.pair_queries import PairRow
from db.queries.queue_filter import QueueFilter
from tests.datasets.folders import image_folder, picture
from tests.db.building import decided_pairs
from tests.jobs.opening import OpenWorkspace, opened, pairs_of
from tests.tree import ROOT

PICTURES = ("a.png", "b.png", "c.png", "d.png")
IDS, NO_IDS = True, False


@pytest.fixture
def workspace(url: str, open_workspace: OpenWorkspace) -> Workspace:
    return open_workspace(database=url)


def write(path: Path, captions: Mapping[str, str], has_ids: bool, **more: Any) -> Path:
    """A folder with a caption per picture; `more` goes into each row."""
    rows = [
        {"file_name": name, "caption": caption} | ({"id": name[0]} if has_ids else {}) | more
        for name, caption in captions.items()
    ]
    return image_folder(path, rows, PICTURES)


FIRST = {"a.png": "A dog.", "b.png": "A cat.", "c.png": "A cow."}
EDITED = {"a.png": "A red dog.", "b.png": "A cat.", "d.png": "A hen."}


def pairs(workspace: Workspace, report: ImportReport) -> dict[str, PairRow]:
    rows = pairs_of(workspace, report.dataset_id)
    by_picture = {split_proof(row.image_path)[0]: row for row in rows}
    assert len(by_picture) == len(rows), "a picture has two pairs"
    return by_picture


@pytest.mark.parametrize("has_ids", [IDS, NO_IDS])
@pytest.mark.parametrize("update", ["keep", "take"])
def test_changed_rows_are_counted_and_kept_or_taken(
    workspace: Workspace, tmp_path: Path, has_ids: bool, update: str
) -> None:
    first = workspace.jobs.import_dataset(write(tmp_path / "d", FIRST, has_ids))
    ids = {name: pair.id for name, pair in pairs(workspace, first).items()}
    source = write(tmp_path / "d", EDITED, has_ids)
    again = workspace.jobs.import_dataset(source, update=update)
    counts = {"new": 1, "changed": 1, "moved": 0, "gone": 1, "same": 1}
    assert asdict(again.changes) == counts
    stored = pairs(workspace, again)
    assert {name: stored[name].id for name in ids} == ids
    assert stored["a.png"].caption == ("A red dog." if update == "take" else "A dog.")
    others = {name: pair.caption for name, pair in stored.items() if name != "a.png"}
    assert others == {"b.png": "A cat.", "c.png": "A cow.", "d.png": "A hen."}
    third = workspace.jobs.import_dataset(source, update=update)
    assert third.changes.changed == (update == "keep")
    assert third.added == 0


def test_what_a_feature_computed_goes_with_its_caption_or_picture_while_it_is_away(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = new_tables()
    words, colours = (
        Table(name, tables, Column("pair_id", ForeignKey(Pair.id), primary_key=True), info=info)
        for name, info in (("of_words", OF_CAPTION), ("of_colours", OF_PICTURE))
    )
    with_it = (*plugins._LOADED["tables"], Plugin("tables", "moods", "moods 1.0", tables))
    with monkeypatch.context() as patch:
        patch.setitem(plugins._LOADED, "tables", with_it)
        create_tables_of_features(workspace.store.opened)
    first = workspace.jobs.import_dataset(write(tmp_path / "d", FIRST, IDS))
    ids = {name: pair.id for name, pair in pairs(workspace, first).items()}
    with workspace.store.writing() as session:
        for table in (words, colours):
            session.execute(insert(table), [{"pair_id": pair} for pair in ids.values()])
        counts = Counter(table.name for table in all_computed_tables(session))
    assert counts["of_words"] == counts["of_colours"] == max(counts.values()) == 1
    source = write(tmp_path / "d", FIRST | {"a.png": "A red dog."}, IDS)
    picture(source / "b.png", (33, 10))
    workspace.jobs.import_dataset(source, update="take")
    with workspace.store.writing() as session:
        left = [set(session.scalars(select(table.c.pair_id))) for table in (words, colours)]
        tables.drop_all(session.connection())
    assert left == [{ids["c.png"]}, {ids["a.png"], ids["c.png"]}]


def test_a_taken_caption_is_scored_again_and_verdicts_stay(
    workspace: Workspace, tmp_path: Path
) -> None:
    first = workspace.jobs.import_dataset(write(tmp_path / "d", FIRST, IDS))
    dataset = first.dataset_id
    before = pairs(workspace, first)["a.png"]
    workspace.jobs.score(dataset, anyway=True)
    with workspace.store.writing() as session:
        session.add(WordMark(pair_id=before.id, start=2, end=5, author="ann"))
        verdict_queries.add_verdict(session, before.id, 0, "correction", "A wolf.", author="ann")
    workspace.jobs.import_dataset(write(tmp_path / "d", EDITED, IDS), update="take")
    after = pairs(workspace, first)
    corrected = after["a.png"]
    assert (corrected.decision, corrected.corrected_caption) == ("correction", "A wolf.")
    assert corrected.caption == "A red dog."
    assert (corrected.s_0, corrected.p_error, corrected.suspect_word) == (None, None, None)
    assert after["b.png"].s_0 is not None
    with workspace.store.reading() as session:
        for table in (Trajectory, Detection, WordMark):
            assert not session.query(table).filter_by(pair_id=before.id).count()
    workspace.jobs.score(dataset, anyway=True)
    assert pairs(workspace, first)["a.png"].s_0 is not None


def test_pairs_that_are_gone_are_hidden_until_they_come_back(
    workspace: Workspace, tmp_path: Path
) -> None:
    first = workspace.jobs.import_dataset(write(tmp_path / "d", FIRST, IDS))
    dataset, cow = first.dataset_id, pairs(workspace, first)["c.png"].id
    without = {name: FIRST[name] for name in ("a.png", "b.png")}

    def state() -> tuple[int, int, int]:
        with workspace.store.reading() as session:
            shown = queue_queries.count(session, QueueFilter(dataset))
            total = pair_queries.review_counts(session, dataset).total
        return shown, total, len(list(remaining(workspace.store, dataset, ExportChoice())))

    for gone, number in (("keep", 3), ("hide", 2), ("keep", 2)):
        report = workspace.jobs.import_dataset(write(tmp_path / "d", without, IDS), gone=gone)
        assert report.hidden == (gone == "hide")
        assert state() == (number, number, number)
    back = workspace.jobs.import_dataset(write(tmp_path / "d", FIRST, IDS))
    assert (back.added, state()) == (0, (3, 3, 3))
    assert pairs(workspace, first)["c.png"].id == cow


def test_a_row_that_cannot_be_imported_now_is_not_gone(
    workspace: Workspace, tmp_path: Path
) -> None:
    workspace.jobs.import_dataset(write(tmp_path / "d", FIRST, IDS))
    source = write(tmp_path / "d", FIRST | {"a.png": ""}, IDS)
    (source / "b.png").write_bytes(b"")
    again = workspace.jobs.import_dataset(source, gone="hide")
    assert (again.problems, again.changes.gone, again.hidden) == (2, 0, 0)


def test_a_renamed_picture_and_another_split_are_told(workspace: Workspace, tmp_path: Path) -> None:
    first = workspace.jobs.import_dataset(write(tmp_path / "d", FIRST, IDS))
    dog = pairs(workspace, first)["a.png"].id
    rows = [
        {"file_name": "d.png", "caption": "A dog.", "id": "a"},
        {"file_name": "b.png", "caption": "A cat.", "id": "b", "split": "test"},
        {"file_name": "c.png", "caption": "A cow.", "id": "c"},
    ]
    again = workspace.jobs.import_dataset(
        image_folder(tmp_path / "d", rows, PICTURES), update="take"
    )
    assert asdict(again.changes) == {"new": 0, "changed": 1, "moved": 1, "gone": 0, "same": 1}
    stored = pairs(workspace, first)
    assert stored["d.png"].id == dog
    assert stored["b.png"].split == "test"


@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1)])
def test_captions_of_a_picture_are_not_guessed_among(
    workspace: Workspace, tmp_path: Path, before: int, after: int
) -> None:
    texts = iter(("A dog.", "A red dog.", "A black dog."))
    for count in (before, after):
        rows = [{"file_name": "a.png", "caption": next(texts)} for _ in range(count)]
        report = workspace.jobs.import_dataset(image_folder(tmp_path / "d", rows, PICTURES))
    counts = {"new": after, "changed": 0, "moved": 0, "gone": before, "same": 0}
    assert asdict(report.changes) == counts


def test_a_picture_replaced_under_its_name_is_nobodys_picture(
    workspace: Workspace, tmp_path: Path
) -> None:
    source = write(tmp_path / "d", FIRST, IDS)
    first = workspace.jobs.import_dataset(source)
    dataset, dog = first.dataset_id, pairs(workspace, first)["a.png"]
    before = workspace.review.open_pair(dog.id)
    workspace.review.decide(dog.id, 0, "correction", "A wolf.")
    picture(source / "a.png", (33, 10))
    view = workspace.review.open_pair(dog.id)
    assert (view.picture.size, "not the picture" in view.picture.problem) == (None, True)
    with pytest.raises(ImageError):
        workspace.review.thumbnail(dog.id)
    assert workspace.jobs.score(dataset, anyway=True).unreadable == 1
    done = workspace.jobs.export(dataset, ExportChoice(), tmp_path / "out", "jsonl")
    assert (done.written, done.unreadable, done.counts.left_out) == (2, 1, {UNREADABLE: 1})
    assert [problem.external_id for problem in done.first_unreadable] == ["a"]
    assert (done.counts.kept, "left out, picture cannot be read" in done.card) == (2, True)

    kept = workspace.jobs.import_dataset(source)
    assert (kept.changes.changed, kept.replaced) == (1, 1)
    assert workspace.review.open_pair(dog.id).picture.size is None
    taken = workspace.jobs.import_dataset(source, update="take")
    assert (taken.changes.changed, taken.replaced, taken.added) == (1, 1, 0)
    view = workspace.review.open_pair(dog.id)
    assert (view.picture.size, view.s_0) == ((33, 10), None)
    # Nobody has judged this picture; what was said of the other one stays in the history.
    assert (view.verdict.decision, view.verdict.corrected_caption, len(view.verdict.history)) == (
        None,
        None,
        2,
    )
    with pytest.raises(SettingsError):
        workspace.review.decide(
            dog.id, view.verdict.version, "correct", fingerprint=before.fingerprint
        )
    assert workspace.jobs.score(dataset, anyway=True).scored == 1


def test_a_suggestion_about_a_replaced_picture_goes(workspace: Workspace, tmp_path: Path) -> None:
    source = write(tmp_path / "d", FIRST, IDS)
    first = workspace.jobs.import_dataset(source)
    dog = pairs(workspace, first)["a.png"].id
    with workspace.store.writing() as session:
        suggestion_queries.save_suggestions(
            session, [suggestion_queries.NewSuggestion(dog, "rules", "A wolf.", 0.1, 0.2)]
        )
        (suggestion,) = suggestion_queries.list_suggestions(session, dog)
    workspace.review.decide(dog, 0, "correction", "A wolf.", suggestion.id)
    picture(source / "a.png", (33, 10))
    workspace.jobs.import_dataset(source, update="take")
    with workspace.store.reading() as session:
        assert suggestion_queries.list_suggestions(session, dog) == []
    assert "A wolf." in [
        act.corrected_caption for act in workspace.review.open_pair(dog).verdict.history
    ]


@pytest.mark.parametrize("again", ["A black dog.", "A dog."])
def test_a_caption_that_is_edited_twice_keeps_its_pair(
    workspace: Workspace, tmp_path: Path, again: str
) -> None:
    """Even if the first edit is not taken, and the pair's address changes with it."""
    source = write(tmp_path / "d", FIRST, NO_IDS)
    first = workspace.jobs.import_dataset(source)
    forget_proofs(workspace)
    for name in FIRST:
        os.utime(source / name, (0, 0))
    for caption, changed in (("A red dog.", 1), (again, int(again != "A dog."))):
        report = workspace.jobs.import_dataset(
            write(tmp_path / "d", FIRST | {"a.png": caption}, NO_IDS)
        )
        assert (report.added, report.changes.changed) == (0, changed)
    assert pairs(workspace, first)["a.png"].caption == "A dog."


def test_hidden_pairs_take_part_in_nothing(workspace: Workspace, tmp_path: Path) -> None:
    first = workspace.jobs.import_dataset(write(tmp_path / "d", FIRST, IDS))
    dataset, cow = first.dataset_id, pairs(workspace, first)["c.png"]
    workspace.jobs.score(dataset, anyway=True)
    workspace.review.decide(cow.id, 0, "drop")

    def present() -> dict[str, bool]:
        with workspace.store.reading() as session:
            ids: dict[str, Iterable[int]] = {
                "most_likely_wrong": (
                    p.id for p in pair_queries.most_likely_wrong(session, dataset, 0, 9)
                ),
                "decided_pairs": pair_queries.decided_pairs(session, dataset, ["drop"]),
                "ids_by_picture": chain(*pair_queries.ids_by_picture(session, dataset).values()),
                "pairs_after": (p.id for p in pair_queries.pairs_after(session, dataset)),
                "verdicts": (row.id for row in decided_pairs(session, dataset)),
                "decided": [cow.id] * len(list(plot_queries.decided_points(session, dataset))),
            }
            return {name: cow.id in list(values) for name, values in ids.items()}

    assert all(present().values()), present()
    without = {name: FIRST[name] for name in ("a.png", "b.png")}
    workspace.jobs.import_dataset(write(tmp_path / "d", without, IDS), gone="hide")
    assert not any(present().values()), present()
    workspace.jobs.import_dataset(write(tmp_path / "d", FIRST, IDS))
    assert all(present().values())


def forget_proofs(workspace: Workspace) -> None:
    """Make the database one of a version that kept no proofs."""
    with workspace.store.writing() as session:
        for pair in session.query(Pair):
            pair.image_path = split_proof(pair.image_path)[0]


def test_pictures_without_proof_are_verified_as_far_as_possible(
    workspace: Workspace, tmp_path: Path
) -> None:
    source = write(tmp_path / "d", FIRST, IDS)
    for name in FIRST:
        os.utime(source / name, (0, 0))
    first = workspace.jobs.import_dataset(source)
    forget_proofs(workspace)
    picture(source / "a.png", (33, 10))
    kept = workspace.jobs.import_dataset(source)
    assert (kept.changes.same, kept.replaced, kept.unproved) == (3, 0, 1)
    stored = pairs_of(workspace, first.dataset_id)
    proofs = {pair.external_id: bool(split_proof(pair.image_path)[1]) for pair in stored}
    assert proofs == {"a": False, "b": True, "c": True}
    assert workspace.jobs.import_dataset(source, update="take").unproved == 1
    assert workspace.jobs.import_dataset(source).unproved == 0


@pytest.mark.parametrize("format", ["imagefolder", "webdataset", "csv"])
def test_an_export_leaves_out_what_cannot_be_decoded(
    workspace: Workspace, tmp_path: Path, format: str
) -> None:
    source = write(tmp_path / "d", FIRST, IDS)
    first = workspace.jobs.import_dataset(source)
    forget_proofs(workspace)
    whole = picture(source / "a.png", (300, 300)).read_bytes()
    (source / "a.png").write_bytes(whole[: len(whole) // 2])
    (source / "b.png").unlink()
    done = workspace.jobs.export(first.dataset_id, ExportChoice(), tmp_path / "out", format)
    assert (done.written, done.counts.kept, done.unreadable) == (1, 1, 2)
    (source / "c.png").write_bytes(b"no picture")
    with pytest.raises(ExportError):
        workspace.jobs.export(first.dataset_id, ExportChoice(), tmp_path / "none", format)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("by_import", [True, False])
def test_a_moved_folder_is_found_again(
    workspace: Workspace, tmp_path: Path, by_import: bool
) -> None:
    first = workspace.jobs.import_dataset(write(tmp_path / "d", FIRST, NO_IDS))
    dataset, dog = first.dataset_id, pairs(workspace, first)["a.png"]
    workspace.review.decide(dog.id, 0, "correct")
    place = (tmp_path / "d").rename(tmp_path / "there")
    assert workspace.jobs.score(dataset, anyway=True).unreadable == 3
    if by_import:
        again = workspace.jobs.import_dataset(place, name="d")
        assert (again.dataset_id, again.added, again.changes.same) == (dataset, 0, 3)
    else:
        report = workspace.relocate_dataset(dataset, place)
        assert (report.root, report.checked, report.missing) == (str(place), 3, 0)
    view = workspace.review.open_pair(dog.id)
    assert (view.picture.size, view.verdict.decision) == ((20, 10), "correct")
    assert workspace.jobs.score(dataset, anyway=True).scored == 3


@pytest.mark.parametrize("way", ["import", "relocate"])
def test_files_that_a_move_named_in_another_normal_form_are_found(
    workspace: Workspace, tmp_path: Path, way: str
) -> None:
    rows = [{"file_name": "für/é.png", "id": "a", "caption": "A dog."}]
    folder = image_folder(tmp_path / "d", rows, ("für/é.png",))
    first = workspace.jobs.import_dataset(folder, name="d")
    moved = tmp_path / "moved"
    shutil.copytree(folder, moved)
    (moved / "für/é.png").rename(moved / "für" / "e\u0301.png")
    (moved / "für").rename(moved / "fu\u0308r")
    shutil.rmtree(folder)
    if way == "import":
        report = workspace.jobs.import_dataset(moved, name="d")
        assert (report.dataset_id, report.added) == (first.dataset_id, 0)
    else:
        assert workspace.relocate_dataset(first.dataset_id, moved).missing == 0
    assert workspace.jobs.score(first.dataset_id, anyway=True).unreadable == 0
    choice, out = ExportChoice(unsure="keep"), tmp_path / "out"
    assert workspace.jobs.export(first.dataset_id, choice, out, "imagefolder").written == 1


def test_a_folder_with_other_pictures_is_not_the_moved_one(
    workspace: Workspace, tmp_path: Path
) -> None:
    first = workspace.jobs.import_dataset(write(tmp_path / "d", FIRST, IDS))
    other = (tmp_path / "d").rename(tmp_path / "other")
    picture(other / "a.png", (33, 10))
    with pytest.raises(SettingsError, match="Nothing was changed"):
        workspace.relocate_dataset(first.dataset_id, other)
    with pytest.raises(SettingsError, match="and not to this one"):
        workspace.jobs.import_dataset(other, name="d")
    assert workspace.summary(first.dataset_id).root == str(tmp_path / "d")


@pytest.mark.nightly
def test_import_asks_on_a_terminal_whether_to_take_changes(tmp_path: Path) -> None:
    state = tmp_path / "state"
    environment = os.environ | {"TRACED_DATA_DIRECTORY": str(state), "OMP_NUM_THREADS": "1"}

    def run(answer: str) -> str:
        """The output of an import whose standard input is a terminal, where this is typed."""
        terminal, stdin = pty.openpty()
        os.write(terminal, answer.encode())
        command = [sys.executable, "app.py", "import", str(tmp_path / "d")]
        done = subprocess.run(
            command, stdin=stdin, cwd=ROOT, env=environment, capture_output=True, text=True
        )
        os.close(stdin)
        os.close(terminal)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    def caption() -> str:
        workspace = opened(state)
        rows = {pair.external_id: pair for pair in pairs_of(workspace)}
        workspace.store.close()
        return rows["a"].caption

    write(tmp_path / "d", FIRST, IDS)
    assert "Take the changed rows?" not in run("\n")
    write(tmp_path / "d", EDITED, IDS)
    for answer, expected in (("n\n", "A dog."), ("y\n", "A red dog.")):
        output = run(answer)
        assert "1 changed, 0 moved" in output
        assert "Take the changed rows?" in output
        assert caption() == expected


@pytest.mark.parametrize("choice", [{"update": "replace"}, {"gone": "delete"}])
def test_unknown_choices_are_refused(
    workspace: Workspace, tmp_path: Path, choice: dict[str, Any]
) -> None:
    with pytest.raises(SettingsError):
        workspace.jobs.import_dataset(write(tmp_path / "d", FIRST, IDS), **choice)


def rows_in(path: Path, contents: Iterable[tuple[str, str]], ids: Iterable[Any]) -> Path:
    """A folder with these pictures, each of another size, and captions, under the given ids."""
    rows = [
        {"file_name": name, "caption": caption, "id": id}
        for (name, caption), id in zip(contents, ids, strict=False)
    ]
    source = image_folder(path, rows, PICTURES)
    for number, name in enumerate(PICTURES):
        picture(source / name, (20 + number, 10))
    return source


def verdicts_of(workspace: Workspace, report: ImportReport) -> list[tuple[Any, ...]]:
    """Id, picture, caption and decision of each pair, in the order of the ids."""
    states = [
        (row.external_id, split_proof(row.image_path)[0], row.caption, row.decision)
        for row in pairs_of(workspace, report.dataset_id)
        if not row.hidden
    ]
    return sorted(states, key=lambda each: (len(each[0]), each[0]))


ROWS = [("a.png", "A dog."), ("b.png", "A cat."), ("c.png", "A cow."), ("d.png", "A hen.")]


def judged(workspace: Workspace, source: Path) -> ImportReport:
    """Imported, the second pair correct, the third dropped, the fourth corrected."""
    first = workspace.jobs.import_dataset(source)
    rows = sorted(pairs_of(workspace, first.dataset_id), key=lambda row: row.id)
    for row, verdict in zip(rows[1:], ("correct", "drop", "correction"), strict=False):
        workspace.review.decide(row.id, 0, verdict, "A duck." if verdict == "correction" else None)
    return first


@pytest.mark.parametrize("update", ["keep", "take"])
@pytest.mark.parametrize("names", [range(9), "pqrstuvwx"], ids=["numbers", "names"])
def test_rows_that_were_renumbered_keep_their_verdicts(
    workspace: Workspace, tmp_path: Path, update: str, names: Iterable[Any]
) -> None:
    judged(workspace, rows_in(tmp_path / "d", ROWS, names))
    ids = [str(name) for name in names]
    again = workspace.jobs.import_dataset(
        rows_in(tmp_path / "d", ROWS[1:], names), update=update, gone="hide"
    )
    assert asdict(again.changes) == {"new": 0, "changed": 0, "moved": 3, "gone": 1, "same": 0}
    assert (again.added, again.replaced) == (0, 0)
    assert any(note.startswith("1 pair is gone") for note in again.notes)
    verdicts = ("correct", "drop", "correction")
    assert verdicts_of(workspace, again) == [
        (id, *row, verdict) for id, row, verdict in zip(ids, ROWS[1:], verdicts, strict=False)
    ]
    back = workspace.jobs.import_dataset(rows_in(tmp_path / "d", ROWS, names), update=update)
    assert (back.added, back.changes.moved, back.changes.gone) == (0, 4, 0)
    assert verdicts_of(workspace, back) == [
        (id, *row, verdict) for id, row, verdict in zip(ids, ROWS, (None, *verdicts), strict=False)
    ]


def test_new_rows_take_the_ids_of_those_that_moved(workspace: Workspace, tmp_path: Path) -> None:
    judged(workspace, rows_in(tmp_path / "d", ROWS, range(4)))
    rows = [ROWS[3], ("a.png", "A wolf."), ROWS[1], ("b.png", "A lynx.")]
    again = workspace.jobs.import_dataset(
        rows_in(tmp_path / "d", rows, range(4)), update="take", gone="hide"
    )
    assert asdict(again.changes) == {"new": 2, "changed": 0, "moved": 2, "gone": 2, "same": 0}
    verdicts = ("correction", None, "correct", None)
    assert verdicts_of(workspace, again) == [
        (str(id), *row, verdict)
        for id, (row, verdict) in enumerate(zip(rows, verdicts, strict=True))
    ]


def test_repeated_pairs_keep_their_order_and_are_not_guessed(
    workspace: Workspace, tmp_path: Path
) -> None:
    dog, cat = ROWS[:2]
    judged(workspace, rows_in(tmp_path / "d", [dog, cat, cat, dog], range(4)))
    rows_in(tmp_path / "d", [cat, cat, dog], range(3))
    again = workspace.jobs.import_dataset(tmp_path / "d", update="take", gone="hide")
    # Two pairs alike before and after: in order. Two dogs of which one is gone: nobody knows which.
    assert verdicts_of(workspace, again)[:2] == [("0", *cat, "correct"), ("1", *cat, "drop")]
    assert again.changes.moved == 2
    assert "correction" not in [verdict for *_, verdict in verdicts_of(workspace, again)[2:]]


def test_a_hidden_copy_does_not_hold_back_the_one_that_is_left(
    workspace: Workspace, tmp_path: Path
) -> None:
    dog, cat = ROWS[:2]
    judged(workspace, rows_in(tmp_path / "d", [dog, cat, cat], range(3)))
    workspace.jobs.import_dataset(rows_in(tmp_path / "d", [dog, cat], range(3)), gone="hide")
    again = workspace.jobs.import_dataset(rows_in(tmp_path / "d", [cat], range(3)), gone="hide")
    assert verdicts_of(workspace, again) == [("0", *cat, "correct")]


def test_a_corrected_picture_or_caption_is_a_change_of_its_row(
    workspace: Workspace, tmp_path: Path
) -> None:
    judged(workspace, rows_in(tmp_path / "d", ROWS, range(4)))
    rows = [("a.png", "A wolf."), *ROWS[1:]]
    again = workspace.jobs.import_dataset(rows_in(tmp_path / "d", rows, range(4)), update="take")
    assert asdict(again.changes) == {"new": 0, "changed": 1, "moved": 0, "gone": 0, "same": 3}
    swapped = [("a.png", "A wolf."), ROWS[2], ROWS[1], ROWS[3]]
    again = workspace.jobs.import_dataset(rows_in(tmp_path / "d", swapped, range(4)), update="take")
    assert (again.changes.moved, again.changes.same) == (2, 2)
    verdicts = (None, "drop", "correct", "correction")
    assert [verdict for *_, verdict in verdicts_of(workspace, again)] == list(verdicts)
