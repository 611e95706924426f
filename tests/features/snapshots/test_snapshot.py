"""`snapshot`, `diff` and `restore`, by the command line, the API and for curators."""

import re
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from backend.errors import NotFound, SettingsError
from backend.features.snapshots.comparing import RestoreReport
from backend.features.snapshots.page import comparison_html
from backend.workspace import Workspace
from db.authors import RESTORE
from tests.cli.invoking import as_json
from tests.datasets.folders import image_folder
from tests.jobs.opening import opened

ROWS = [
    {"file_name": "a.png", "id": "one", "caption": "A red dog.", "split": "train"},
    {"file_name": "a.png", "id": "two", "caption": "A cat.", "split": "train"},
    {"file_name": "a.png", "id": "three", "caption": "A horse.", "split": "test"},
]


def test_counts_of_what_is_left_alone_agree_with_their_verbs() -> None:
    one, two = (RestoreReport("s", 3, count, count).in_words() for count in (1, 2))
    assert one.startswith("3 pairs got back their state in 's'."), "some have become undecided"
    assert "1 has another caption in the source; 1 is no longer in the source" in one
    assert "2 have another caption in the source; 2 are no longer in the source" in two


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = opened(tmp_path / "state")
    image_folder(tmp_path / "pairs", ROWS, ("a.png",))
    workspace.jobs.import_dataset(tmp_path / "pairs")
    return workspace


def decide(workspace: Workspace, pair: int, decision: str, caption: str | None = None) -> None:
    version = workspace.review.open_pair(pair).verdict.version
    workspace.review.decide(pair, version, decision, caption)


def change_source(workspace: Workspace, folder: Path) -> None:
    """One pair comes, one goes, one changes its caption, one its split."""
    rows = [
        ROWS[0] | {"split": "val"}, ROWS[1] | {"caption": "Two cats."},
        {"file_name": "a.png", "id": "four", "caption": "A bird.", "split": "train"},
    ]  # fmt: skip
    image_folder(folder, rows, ("a.png",))
    workspace.jobs.import_dataset(folder, update="take", gone="hide")


def typed(tmp_path: Path, *arguments: str) -> Any:
    return as_json({"TRACED_DATA_DIRECTORY": str(tmp_path / "state")}, *arguments)


def test_what_changed_is_told_by_kind_and_word_by_word(
    workspace: Workspace, tmp_path: Path
) -> None:
    workspace.jobs.run("snapshot", 1, name="first")
    assert workspace.jobs.run("diff", 1, before="first").is_same
    decide(workspace, 1, "correction", "A black dog.")
    change_source(workspace, tmp_path / "pairs")
    report = typed(tmp_path, "diff", "pairs", "first")
    assert report["counts"] == {
        "added": 1, "gone": 1, "captions": 2, "verdicts": 1, "splits": 1,
    }  # fmt: skip
    changes = {kind: {each["id"]: each for each in report["examples"][kind]}
               for kind in report["examples"]}  # fmt: skip
    assert set(changes["added"]) == {"four"}
    assert set(changes["gone"]) == {"three"}
    assert changes["captions"]["one"]["words"] == "A [-red-] {+black+} dog"
    assert changes["captions"]["two"]["words"] == "[-A cat-] {+Two cats+}"
    verdict, split = changes["verdicts"]["one"], changes["splits"]["one"]
    assert (verdict["before"], verdict["after"]) == ("", "correction")
    assert (split["before"], split["after"]) == ("train", "val")
    workspace.jobs.run("snapshot", 1, name="second")
    assert workspace.jobs.run("diff", 1, before="second").is_same
    assert workspace.jobs.run("diff", 1, before="first", after="second").counts == report["counts"]


def test_a_snapshot_is_restored_and_that_is_undone(workspace: Workspace, tmp_path: Path) -> None:
    decide(workspace, 1, "correct")
    decide(workspace, 2, "correct")
    decide(workspace, 3, "correct")
    typed(tmp_path, "snapshot", "pairs", "first")
    for pair in (1, 2, 3):
        decide(workspace, pair, "drop")
    change_source(workspace, tmp_path / "pairs")
    plan = typed(tmp_path, "restore", "pairs", "first", "--dry-run")
    assert (plan["restored"], plan["reworded"], plan["gone"]) == (1, 1, 1)
    assert workspace.review.open_pair(1).verdict.decision == "drop"
    assert typed(tmp_path, "restore", "pairs", "first")["restored"] == 1
    assert workspace.review.open_pair(1).verdict.decision == "correct"
    assert workspace.review.open_pair(2).verdict.decision == "drop", "its caption is another one"
    typed(tmp_path, "restore", "pairs", "first", "--undo")
    assert workspace.review.open_pair(1).verdict.decision == "drop"


def test_snapshots_are_listed_and_deleted(workspace: Workspace) -> None:
    workspace.jobs.run("snapshot", 1, name="first")
    with pytest.raises(SettingsError):
        workspace.jobs.run("snapshot", 1, name="first")
    assert [each.name for each in workspace.jobs.run("snapshot", 1).snapshots] == ["first"]
    workspace.jobs.run("snapshot", 1, name="first", delete=True)
    assert workspace.jobs.run("snapshot", 1).snapshots == ()
    with pytest.raises(NotFound):
        workspace.jobs.run("diff", 1, before="first")


def test_an_export_names_its_snapshot(workspace: Workspace, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    card = typed(tmp_path, "export", "pairs", out, "--format", "csv", "--snapshot", "v1")["card"]
    assert "- Snapshot: v1\n" in card
    decide(workspace, 1, "correct")
    card = typed(tmp_path, "export", "pairs", out, "--format", "csv", "--overwrite")["card"]
    assert "- Snapshot: v1, and since then: 1 verdicts\n" in card


def test_only_who_settles_disagreements_restores(workspace: Workspace) -> None:
    workspace.jobs.run("snapshot", 1, name="first")
    with pytest.raises(SettingsError):
        workspace.jobs.seen_by("Bea").run("restore", 1, name="first")


def test_a_comparison_is_seen_by_who_started_it_alone(workspace: Workspace) -> None:
    workspace.jobs.run("snapshot", 1, name="first")
    job = workspace.jobs.start("diff", 1, before="first")
    assert workspace.jobs.background.wait(60)
    assert workspace.jobs.job(job).result["counts"]
    assert workspace.jobs.seen_by("Bea").job(job).result == {}


def compared(workspace: Workspace, *names: str) -> str:
    """The part of the page that shows a comparison which was started there."""
    options = dict(zip(("before", "after"), names, strict=False))
    workspace.jobs.start("diff", 1, **options)
    assert workspace.jobs.background.wait(60)
    return comparison_html(workspace, 1)


def test_the_page_shows_changes_word_by_word_with_links_to_the_pairs(
    workspace: Workspace, tmp_path: Path
) -> None:
    assert comparison_html(workspace, 1) == ""
    workspace.jobs.run("snapshot", 1, name="first")
    assert "<li" not in compared(workspace, "first")
    decide(workspace, 1, "correction", "A black dog.")
    change_source(workspace, tmp_path / "pairs")
    workspace.jobs.run("snapshot", 1, name="second")
    for page in (compared(workspace, "first"), compared(workspace, "first", "second")):
        counts = re.findall(r"<dd>(\d+)</dd>", page)
        assert counts == ["1", "1", "2", "1", "1"], "as KINDS"
        captions = page.partition('data-kind="captions"')[2].partition("</ul>")[0]
        assert "A <del>red</del> <ins>black</ins> dog." in captions
        links = re.findall('<a href="([^"]*)"', captions)
        pairs = {parse_qs(unescape(link).lstrip("?"))["pair"][0] for link in links}
        assert pairs == {"1", "2"}
        gone = page.partition('data-kind="gone"')[2].partition("</ul>")[0]
        assert "three" in gone
        assert "<a " not in gone, "it cannot be opened"


def test_the_page_shows_everybody_their_own_comparison(workspace: Workspace) -> None:
    workspace.jobs.run("snapshot", 1, name="first")
    decide(workspace, 1, "drop")
    ada, bea = workspace.seen_by("Ada"), workspace.seen_by("Bea")
    assert "first" in compared(ada, "first")
    assert comparison_html(bea, 1) == ""
    workspace.jobs.run("snapshot", 1, name="second")
    assert "second" in compared(bea, "second")
    assert "first" in comparison_html(ada, 1)


def test_what_undoes_a_restoring_is_offered_while_one_is_in_effect(workspace: Workspace) -> None:
    workspace.jobs.run("snapshot", 1, name="first")
    decide(workspace, 1, "drop")
    assert not workspace.review.has_edit(1, kind=RESTORE)
    workspace.jobs.run("restore", 1, name="first")
    assert workspace.review.has_edit(1, kind=RESTORE)
    assert not workspace.review.has_edit(1), "it is no bulk edit"
    workspace.review.undo_edit(1, kind=RESTORE)
    assert not workspace.review.has_edit(1, kind=RESTORE)
