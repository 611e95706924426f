"""From one machine to another and back: packed, judged beside the package, merged."""

import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Column, ForeignKey, String, Table, text

from backend import plugins
from backend.features.package import manifest, opening
from backend.features.package.merging import OUTCOMES, MergeReport, undo_merge
from backend.plugins import Plugin
from backend.workspace import ExportChoice
from db.blobs import decode_integers, encode_integers
from db.feature_tables import OF_PICTURE, create_missing, new_tables
from db.models import Pair
from db.queries import (
    claim_label_queries,
    dataset_queries,
    edit_queries,
    opinion_queries,
    pair_queries,
    suggestion_queries,
    tag_queries,
    verdict_acts,
)
from db.queries.edit_queries import Rewrite
from db.queries.statements import set_columns
from db.queries.suggestion_queries import NewSuggestion
from tests.datasets.folders import picture
from tests.db.building import rows_of, start_run
from tests.features.package.home import COUNT, Home, judge, served
from tests.fixtures.features import needs
from tests.jobs.opening import OpenWorkspace


def test_what_a_merge_says_of_one_verdict_is_in_the_singular() -> None:
    def said(count: int) -> str:
        counts = dict.fromkeys(OUTCOMES, count)
        return MergeReport("a.traced", 1, "", counts, {}, 0, 0, ()).in_words()

    assert not re.search(r"\b1 (are|were|agree|differ)\b", said(1))
    assert not re.search(r"\b2 (is|was|agrees|differs)\b", said(2))


def test_a_package_has_all_pairs_and_pictures_and_opens_without_the_source(home: Home) -> None:
    home.workspace.set_guidelines(home.dataset, "Look twice.")
    package = home.pack()
    before = (home.folder / "photos" / "3.png").read_bytes()
    shutil.rmtree(home.folder / "photos")
    with served(package) as workspace:
        dataset = workspace.start()
        assert workspace.guidelines(dataset) == "Look twice."
        assert workspace.summary(dataset).total == COUNT
        pair_id = workspace.review.first_pair(workspace.review.filter_of(dataset, {}))
        assert pair_id is not None
        assert workspace.review.open_pair(pair_id).caption.startswith("A dog")
        assert workspace.review.thumbnail(pair_id)
        (third,) = workspace.store.read(pair_queries.ids_by_external_id, dataset, ["p3"]).values()
        image: Any = workspace.review.image_path(third)
        assert image.read() == before
        report = workspace.jobs.export(dataset, ExportChoice(), package.parent / "out", "csv")
        assert report.written == COUNT
        assert not workspace.jobs.running()


def test_nothing_of_the_machine_is_in_a_package(home: Home) -> None:
    home.workspace.accounts.add("Ada", "a long enough password")
    package = home.pack()
    with zipfile.ZipFile(package) as archive:
        content = archive.read(manifest.DATABASE)
        assert {name.partition("/")[0] for name in archive.namelist()} == {
            "pictures", manifest.DATABASE, manifest.MANIFEST,
        }  # fmt: skip
    assert str(home.folder).encode() not in content
    assert b"argon2" not in content


def test_verdicts_come_home_with_author_time_note_and_sampling(home: Home) -> None:
    package = home.pack()
    judge(package, {"p1": "drop", "p2": "A black dog 2"}, note="odd", sampling="random")
    judge(package, {"p3": "correct"}, author="Cleo", sampling="queue")
    report = home.merge(package)
    assert report.counts == {"merged": 3}
    assert report.by_decision == {"drop": 1, "correction": 1, "correct": 1}
    assert home.decisions()[:5] == [None, "drop", "correction", "correct", None]
    (first,), (second,), (third,) = home.acts(1), home.acts(2), home.acts(3)
    assert (first.author, first.note, first.sampling) == ("Ben", "odd", "random")
    assert (second.corrected_caption, third.author, third.sampling) == (
        "A black dog 2", "Cleo", "queue",
    )  # fmt: skip
    with served(package) as workspace:
        in_package = workspace.store.read(verdict_acts.history, home.ids[1])
    assert first.created_at == in_package[0].created_at
    assert home.store.read(pair_queries.get_pair, home.ids[1]).decided_by == "Ben"


def test_merged_again_nothing_changes_and_one_undo_takes_all_back(home: Home) -> None:
    home.decide(4, "correct", author="Ada")
    package = home.pack()
    judge(package, {"p1": "drop", "p4": "wrong"})
    home.merge(package)
    number = len(home.acts(1)) + len(home.acts(4))
    assert home.merge(package).counts == {"merged before": 2}
    judge(package, {"p5": "unsure", "p1": "correct"})  # more work, and another opinion
    assert home.merge(package).counts == {"merged before": 1, "merged": 2}
    assert home.decisions()[1:6] == ["correct", None, None, "wrong", "unsure"]
    assert len(home.acts(1)) + len(home.acts(4)) == number + 1
    assert undo_merge(home.store, package) == 4
    assert home.decisions() == [None] * 4 + ["correct"] + [None] * 7
    assert undo_merge(home.store, package) == 0
    assert home.merge(package).counts == {"merged": 3}
    assert home.decisions()[1:6] == ["correct", None, None, "wrong", "unsure"]


def test_a_dry_run_changes_nothing(home: Home) -> None:
    package = home.pack()
    judge(package, {"p1": "drop"})
    assert home.merge(package, is_dry_run=True).counts == {"merged": 1}
    assert home.decisions() == [None] * COUNT


def test_what_has_changed_at_home_stays_and_is_listed(home: Home) -> None:
    package = home.pack()
    judge(package, {"p0": "drop", "p1": "drop", "p2": "drop", "p3": "drop", "p4": "correct"})
    home.decide(0, "drop", author="Ada")
    home.decide(1, "correct", author="Ada")
    home.decide(6, "correct", author="Ada")
    picture(home.folder / "photos" / "4.png", (50, 50))
    home.workspace.jobs.import_dataset(home.folder / "photos", name="photos", update="take")
    with home.store.writing() as session:
        set_columns(session, {home.ids[2]: {"caption": "A cat"}})
        set_columns(session, {home.ids[3]: {"hidden": True}})
    report = home.merge(package)
    assert report.counts == {
        "agreeing": 1, "conflict": 1, "reworded": 1, "gone": 1, "new picture": 1,
    }  # fmt: skip
    assert report.changed_here == 3
    assert {(each.id, each.outcome) for each in report.left_out} == {
        ("p1", "conflict"), ("p2", "reworded"), ("p3", "gone"), ("p4", "new picture"),
    }  # fmt: skip
    assert home.decisions()[:5] == ["drop", "correct", None, None, None]


def test_an_undo_in_the_package_is_no_verdict_and_one_after_merging_is_listed(home: Home) -> None:
    package = home.pack()
    judge(package, {"p1": "drop", "p2": "drop"})
    with served(package) as workspace:
        workspace.review.undo(workspace.start())
    assert home.merge(package).counts == {"merged": 1}
    with served(package) as workspace:
        workspace.review.undo(workspace.start())
    assert home.merge(package).counts == {"taken back": 1}


def test_random_pairs_of_a_queue_are_not_random_pairs_of_the_dataset(home: Home) -> None:
    package = home.pack(queue="text=dog 1&review=all")
    judge(package, {"p1": "drop"}, sampling="random")
    judge(package, {"p10": "drop"})
    home.merge(package)
    assert (home.acts(1)[0].sampling, home.acts(10)[0].sampling) == ("filter", "")
    undecided = home.pack("rest.traced", queue="review=unreviewed")
    judge(undecided, {"p5": "drop"}, sampling="random")
    home.merge(undecided)
    assert home.acts(5)[0].sampling == "random"


def test_shares_are_disjoint_but_for_the_overlap_and_disagreements_are_disputed(
    home: Home,
) -> None:
    home.pack(reviewers=["Ada", "Ben"], overlap=0.5)
    packages = {name: home.folder / f"task-{name}.traced" for name in ("Ada", "Ben")}
    names = {}
    for name, package in packages.items():
        with served(package) as workspace:
            pairs = workspace.review.queue_page(workspace.review.filter_of(workspace.start(), {}))
            names[name] = {row.external_id for row in pairs.rows}
    both = names["Ada"] & names["Ben"]
    assert names["Ada"] | names["Ben"] == {f"p{n}" for n in range(COUNT)}
    assert 0 < len(both) < COUNT
    judge(packages["Ada"], dict.fromkeys(names["Ada"], "correct"), author="Ada")
    judge(packages["Ben"], dict.fromkeys(names["Ben"], "drop"), author="Ben")
    assert home.merge(packages["Ada"]).counts == {"merged": len(names["Ada"])}
    second = home.merge(packages["Ben"])
    assert second.counts == {"second": len(both), "merged": len(names["Ben"]) - len(both)}
    assert home.store.read(opinion_queries.count_disputed, home.dataset) == len(both)


def test_a_package_for_somebody_lacks_what_they_may_not_know(home: Home) -> None:
    home.store.write(dataset_queries.set_overlap, home.dataset, 1.0, 2)
    home.decide(1, "drop", author="Ada", note="a secret")
    package = home.pack(reviewers=["Ben"])
    with served(package) as workspace:
        assert workspace.review.open_pair(home.ids[1]).verdict.decision is None
    with zipfile.ZipFile(package) as archive:
        assert b"a secret" not in archive.read(manifest.DATABASE)
    judge(package, {"p1": "correct"})
    assert home.merge(package).counts == {"merged": 1}
    assert [act.author for act in home.acts(1)] == ["Ada", "Ben"]
    assert home.store.read(opinion_queries.count_disputed, home.dataset) == 1


def test_what_an_adjudicator_has_settled_stays(home: Home) -> None:
    package = home.pack()
    judge(package, {"p1": "drop"})
    home.decide(1, "correct", author="Eve", settles=True)
    assert home.merge(package).counts == {"settled": 1}
    assert home.decisions()[1] == "correct"


def test_marks_and_tags_come_home_and_are_undone_with_the_verdicts(home: Home) -> None:
    package = home.pack()
    with served(package) as workspace:
        workspace.review.mark_word(home.ids[1], 1)
        workspace.store.write(tag_queries.add, [home.ids[2]], "odd", "Ben")
    assert home.merge(package).remarks == 2
    assert home.merge(package).remarks == 0
    assert home.store.read(tag_queries.counts, home.dataset) == {"odd": 1}
    assert undo_merge(home.store, package) == 2
    assert home.store.read(tag_queries.counts, home.dataset) == {}


@needs("near_duplicates")
@needs("specificity")
def test_other_pairs_are_named_only_if_they_are_packed(home: Home) -> None:
    from backend.features.specificity.tables import Retrieval

    ids, run = home.ids, start_run(home.store.opened, home.dataset)
    with home.store.writing() as session:
        better = encode_integers((ids[2], ids[10]))
        session.add(
            Retrieval(pair_id=ids[1], run_id=run, rank=3, of=12, likeness=0.5, better=better)
        )
        groups = [(ids[1], ids[10]), (ids[10], ids[10]), (ids[11], ids[2]), (ids[2], ids[2])]
        for pair_id, group in groups:
            session.execute(text(f"INSERT INTO near_duplicates VALUES ({pair_id}, {group}, 1.0)"))
    package = home.pack(queue="text=dog 1&review=all")
    with served(package) as workspace, workspace.store.reading() as session:
        assert decode_integers(session.get_one(Retrieval, ids[1]).better) == (ids[10],)
        members = session.scalars(text("SELECT pair_id FROM near_duplicates"))
        assert set(members) == {ids[1], ids[10]}


def test_tables_of_other_packages_about_pictures_go_along(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    moods = new_tables()
    Table(
        "moods", moods, Column("pair_id", ForeignKey(Pair.id), primary_key=True),
        Column("mood", String(8)), info=OF_PICTURE,
    )  # fmt: skip
    plugin = Plugin("tables", "moods", "moods 1.0", moods)
    loaded = (*plugins._LOADED["tables"], plugin)
    monkeypatch.setattr(plugins, "_LOADED", plugins._LOADED | {"tables": loaded})
    home.pack("before.traced")  # the database at home has no such table yet
    create_missing(home.store.opened, moods)
    with home.store.writing() as session:
        session.execute(text(f"INSERT INTO moods VALUES ({home.ids[3]}, 'calm')"))
    with served(home.pack()) as workspace, workspace.store.reading() as session:
        rows = session.execute(text("SELECT pair_id, mood FROM moods")).all()
        assert [tuple(row) for row in rows] == [(home.ids[3], "calm")]


def test_thumbnails_are_small_and_still_the_pictures_of_home(home: Home) -> None:
    package = home.pack(thumbnails=64)
    with served(package) as workspace:
        image: Any = workspace.review.image_path(home.ids[0])
        assert image.inner.endswith(".jpg")
    judge(package, {"p1": "drop"})
    assert home.merge(package).counts == {"merged": 1}


def test_a_package_may_be_moved_and_renamed_with_its_verdicts(home: Home) -> None:
    package = home.pack()
    judge(package, {"p1": "drop"})
    folder = home.folder / "moved#1"
    folder.mkdir()
    new = folder / "other.traced"
    package.rename(new)
    opening.verdicts_of(package).rename(opening.verdicts_of(new))
    with served(new) as workspace:
        assert workspace.review.thumbnail(home.ids[0])
        assert workspace.review.open_pair(home.ids[1]).verdict.decision is not None
    assert home.merge(opening.verdicts_of(new)).counts == {"merged": 1}


def test_a_package_opened_twice_has_one_file_of_verdicts(home: Home) -> None:
    package = home.pack()
    with served(package) as first, served(package, "Cleo") as other:
        first.review.decide(home.ids[1], 0, "drop")
        other.review.decide(home.ids[2], 0, "correct")
        assert home.merge(package).counts == {"merged": 2}  # while it is open


def test_verdicts_can_be_merged_from_a_folder_that_is_read_only(home: Home) -> None:
    package = home.pack()
    judge(package, {"p1": "drop"})
    folder = home.folder / "sent"
    folder.mkdir()
    file = shutil.copy(opening.verdicts_of(package), folder / "a b?.verdicts.db")
    folder.chmod(0o500)
    try:
        assert home.merge(Path(file)).counts == {"merged": 1}
        assert [path.name for path in folder.iterdir()] == ["a b?.verdicts.db"]
    finally:
        folder.chmod(0o700)


def test_edits_labels_of_claims_and_suggestions_come_home(home: Home) -> None:
    with home.store.writing() as session:
        suggestion = NewSuggestion(home.ids[1], "words", "A cat 1", 0.1, 0.9)
        suggestion_queries.save_suggestions(session, [suggestion])
    package = home.pack()
    with served(package) as workspace:
        dataset, review = workspace.start(), workspace.review
        (row,) = review.suggestions(home.ids[1])
        review.decide(home.ids[1], 0, "correction", suggestion_id=row.id)
        workspace.store.write(
            edit_queries.rewrite, [Rewrite(home.ids[2], 0, "A small dog")], author="Ben"
        )
        workspace.store.write(
            claim_label_queries.add_claim_label, home.ids[3], 0, (0, 5), False, author="Ben"
        )
        review.decide(home.ids[4], 0, "correct")
        workspace.store.write(
            edit_queries.rewrite, [Rewrite(home.ids[4], 1, "A big dog")], author="Ben"
        )
        expected = rows_of(workspace.store.opened, home.ids)
        assert workspace.summary(dataset).reviewed == 3
    assert home.merge(package).counts == {"merged": 4}
    fields = ("decision", "corrected_caption", "decided_by", "decided_at", "enriches")
    for packed, at_home in zip(expected, rows_of(home.store.opened, home.ids), strict=True):
        assert [getattr(packed, f) for f in fields] == [getattr(at_home, f) for f in fields]
    assert home.acts(1)[0].suggestion_id is not None
    assert home.acts(3)[0].claim_labels == [
        {"start": 0, "end": 5, "text": "A dog", "is_right": False, "author": "Ben"}
    ]
    assert undo_merge(home.store, package) == 5
    assert all(row.decision is None for row in rows_of(home.store.opened, home.ids))
    assert home.store.read(pair_queries.get_pair, home.ids[2]).corrected_caption is None


@pytest.mark.nightly
def test_home_may_be_a_server_of_postgresql(
    postgresql_url: str, open_workspace: OpenWorkspace, tmp_path: Path
) -> None:
    home = Home(open_workspace(database=postgresql_url), tmp_path)
    home.decide(4, "correct", author="Ada")
    package = home.pack()
    judge(package, {"p1": "drop", "p4": "wrong", "p2": "A black dog"}, sampling="random")
    with served(package) as workspace:
        workspace.review.mark_word(home.ids[1], 1)
        workspace.store.write(tag_queries.add, [home.ids[2]], "odd", "Ben")
    assert home.merge(package).counts == {"merged": 3}
    assert home.merge(package).counts == {"merged before": 3}
    assert home.decisions()[:5] == [None, "drop", "correction", None, "wrong"]
    assert undo_merge(home.store, package) == 5
    assert home.decisions()[:5] == [None, None, None, None, "correct"]


@needs("snapshots")
def test_its_state_is_named_so_that_a_reviewer_can_compare_with_it(home: Home) -> None:
    with served(home.pack(reviewers=["Ben"])) as workspace:
        (state,) = workspace.jobs.run("snapshot", 1).snapshots
        assert (state.name, state.author, state.pairs) == ("packed", "Ben", COUNT)
        assert workspace.jobs.run("diff", 1, before="packed").is_same
