"""Notes on verdicts and guidelines next to pairs, by keyboard and by the API."""

import csv
from pathlib import Path

import pytest

from backend.errors import SettingsError
from backend.verdict_texts import TEXTS
from backend.workspace import ExportChoice, QueueFilter, Workspace
from tests.traced_ui.pages import Page
from traced_ui.api import Caller, open_pair
from traced_ui.guidelines_page import EXAMPLE, preview_html


def test_the_next_verdict_includes_the_note(workspace: Workspace) -> None:
    page = Page(workspace)
    first = page.pair
    page.press("drop", note="  the <b>wrong</b> dog\r\nsecond line ")
    view = workspace.review.open_pair(first)
    assert view.verdict.note == "the <b>wrong</b> dog\nsecond line"
    page.send("open", target=first)
    assert "the &lt;b&gt;wrong&lt;/b&gt; dog" in page.shown["stage"]


def test_a_note_is_saved_alone_or_added_to_an_existing_verdict(workspace: Workspace) -> None:
    page = Page(workspace)
    first = page.pair
    assert "The note is saved" in page.press("save-note", note="look again")
    view = workspace.review.open_pair(first)
    assert (view.verdict.decision, view.verdict.note, page.pair) == (None, "look again", first)
    page.press("correction", text="A better caption.")
    page.send("open", target=first)
    assert "The note is saved" in page.press("save-note", note="why")
    view = workspace.review.open_pair(first)
    assert (view.verdict.decision, view.verdict.corrected_caption, view.verdict.note) == (
        "correction", "A better caption.", "why",
    )  # fmt: skip
    stale = page.press("save-note", pair=first + 1, version=0, note="other")
    assert "no longer in the database" in stale
    page.press("save-note", note="too late", version=1)
    assert workspace.review.open_pair(first).verdict.note == "why"
    page.press("save-note", note="")
    assert workspace.review.open_pair(first).verdict.note == ""
    assert "at most 2,000" in page.press("save-note", note="x" * 2001)


def test_many_pairs_get_one_note_and_can_be_searched_by_it(workspace: Workspace) -> None:
    page = Page(workspace)
    page.press("grid")
    rows = workspace.review.queue_page(QueueFilter(1, "unreviewed")).rows
    pairs = [[row.pair_id, row.verdict_version] for row in rows[:2]]
    page.press("many", decision="unsure", pairs=pairs, note="Ask Ben")
    page.press("filter", filter={"review": "all", "note": "ask ben"})
    assert page.shown["queue"].count("data-target") == 2
    assert "noted" in page.shown["queue"]
    page.press("filter", filter={"review": "all", "noted": "no"})
    assert page.shown["queue"].count("data-target") == len(rows) - 2
    assert "There is no noted &#39;maybe&#39;" in page.press("filter", filter={"noted": "maybe"})


def test_notes_are_exported(workspace: Workspace, tmp_path: Path) -> None:
    rows = workspace.review.queue_page(QueueFilter(1, "unreviewed")).rows
    workspace.review.decide(rows[0].pair_id, 0, "correct", note="=1+1 “quoted”, 犬")
    workspace.jobs.export(1, ExportChoice(), tmp_path / "out", "csv")
    with (tmp_path / "out" / "data.csv").open(encoding="utf-8", newline="") as file:
        notes = {row["id"]: row["note"] for row in csv.DictReader(file) if row["note"]}
    assert notes == {rows[0].external_id: "'=1+1 “quoted”, 犬"}


def test_guidelines_are_shown_next_to_each_pair(workspace: Workspace) -> None:
    page = Page(workspace)
    assert "data-guidelines" not in page.shown["steps"]
    workspace.set_guidelines(1, "# Colours\n\nName them. <script>alert(1)</script> ${7*6}")
    page.press("next")
    assert "<h3>Colours</h3>" in page.shown["steps"]
    assert "<script" not in page.shown["steps"]
    assert "$" not in page.shown["steps"]
    page.press("grid")
    assert "<h3>Colours</h3>" in page.shown["steps"]
    assert open_pair(Caller(workspace), page.pair).guidelines.startswith("# Colours")
    with pytest.raises(SettingsError, match="at most"):
        workspace.set_guidelines(1, "x" * 20_001)
    workspace.set_guidelines(1, " ")
    assert workspace.guidelines(1) == ""


def test_a_dataset_without_guidelines_shows_an_example_that_can_be_saved(
    workspace: Workspace,
) -> None:
    assert preview_html(" ") == preview_html("") != preview_html(EXAMPLE)
    for text in TEXTS.values():
        assert f"<strong>{text.button}</strong>" in preview_html("")
    workspace.set_guidelines(1, EXAMPLE)
    assert workspace.guidelines(1) == EXAMPLE
