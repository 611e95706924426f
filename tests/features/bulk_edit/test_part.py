"""Editing many captions at once on the review page and on the command line; key and button."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from app import app
from backend.errors import SettingsError
from backend.features.bulk_edit import part
from backend.features.bulk_edit.applying import BulkEdit
from backend.features.bulk_edit.command import summary
from backend.features.bulk_edit.editing import edit_queue
from backend.review.views import EditedCaption, EditView
from backend.verdict_texts import ENRICHMENT, TEXTS
from backend.workspace import ExportChoice, QueueFilter, Workspace
from tests.hostile.markup import check_escaping
from tests.traced_ui.conftest import imported, workspace
from tests.traced_ui.pages import Page
from traced_ui.keyboard import key_table
from traced_ui.review_actions import ALL_KEYS

__all__ = ["imported", "workspace"]

EVERY = QueueFilter(1, order="position", descending=False)


def texts(workspace: Workspace) -> list[str]:
    rows = workspace.review.queue_page(EVERY, limit=100).rows
    return [row.corrected_caption or row.caption for row in rows]


def edit(**given: Any) -> dict[str, Any]:
    return {"edit": {"scope": "dataset", **given}}


def test_a_preview_changes_nothing_and_one_undo_reverts_the_edit(workspace: Workspace) -> None:
    page, before = Page(workspace), texts(workspace)
    page.press("replace")
    assert 'data-edit="find"' in page.shown["edit"]
    page.press("edit-preview", **edit(prefix="<b>A photo</b> of "))
    assert f"{len(before)} of {len(before)} captions would change" in page.shown["edit"]
    assert "&lt;b&gt;A" in page.shown["edit"]
    assert "<b>A" not in page.shown["edit"]
    assert texts(workspace) == before
    message = page.press("edit-apply", **edit(prefix="<b>A photo</b> of "))
    assert f"{len(before)} captions changed" in message
    assert texts(workspace) == [f"<b>A photo</b> of {text}" for text in before]
    assert workspace.review.counts(1).reviewed == 0
    assert "Edited to" in page.shown["stage"]
    assert "0 of" in page.press("edit-preview", **edit(prefix="<b>A photo</b> of ")) or (
        "0 of" in page.shown["edit"]
    )
    assert "pairs at once" in page.press("undo")
    assert texts(workspace) == before
    page.press("redo")
    assert texts(workspace) == [f"<b>A photo</b> of {text}" for text in before]


def test_the_undo_of_many_says_no_state_of_one_pair(workspace: Workspace) -> None:
    """The newest is undecided again, the one before it is right again."""
    page = Page(workspace)
    page.press("correct")
    page.press("edit-apply", **edit(prefix="A photo of "))
    answer = page.press("undo")
    assert "pairs at once. Each is as before." in answer
    assert "ndecided" not in answer


def test_an_edit_is_limited_to_the_selection_or_the_queue(workspace: Workspace) -> None:
    page, before = Page(workspace), texts(workspace)
    rows = workspace.review.queue_page(EVERY, limit=100).rows
    selection = [[row.pair_id, row.verdict_version] for row in rows[:2]]
    page.press("edit-apply", edit={"scope": "selected", "suffix": " !"}, pairs=selection)
    assert texts(workspace) == [f"{t} !" for t in before[:2]] + before[2:]
    assert "No pair is selected" in page.press("edit-preview", edit={"scope": "selected"}, pairs=[])
    page.press("undo")
    page.press("filter", filter={"external_id": rows[0].external_id, "review": "all"})
    page.press("edit-apply", edit={"scope": "queue", "suffix": " ?"})
    assert sum(text.endswith(" ?") for text in texts(workspace)) < len(before)
    for wrong, message in (
        ({"scope": "dataset", "find": "(", "regex": True}, "is invalid"),
        ({"scope": "dataset"}, "text to find"),
        ({"scope": "<b>"}, "There is no"),
    ):
        assert message in page.press("edit-apply", edit=wrong)


def test_pairs_that_several_people_judge_alone_are_named_as_such(workspace: Workspace) -> None:
    workspace.accounts.add("Ada", "a long password")
    workspace.accounts.set_overlap(1, 1.0, 2)
    shown = edit_queue(workspace.seen_by("Ada").store, EVERY, BulkEdit(prefix="Photo: "))
    assert (shown.changed, shown.left_alone, shown.unjudged) == (0, 0, shown.looked_at)
    assert "not sure" not in part.form({}, shown)


@pytest.mark.parametrize(("count", "verb"), [(1, "is"), (2, "are")])
def test_counts_of_what_is_left_agree_with_their_verbs(count: int, verb: str) -> None:
    plan = EditView(1, 9, 1, 0, count, count, 0, (), unjudged=count)
    assert f"; {count} {verb} decided removed" in part.form({}, plan)
    assert f"; {count} {verb} judged by" in part.form({}, plan)
    assert f"{count} {verb} removed, vague or not sure" in summary(plan, True)


def test_an_edited_caption_can_be_called_correct(workspace: Workspace, tmp_path: Path) -> None:
    page = Page(workspace)
    page.press("edit-apply", **edit(suffix=" (edited)"))
    first = page.pair
    saved = page.press("correct")
    assert TEXTS["correct"].saved in saved
    assert ENRICHMENT.saved not in saved
    unsure = page.pair
    page.press("unsure")
    assert workspace.review.open_pair(unsure).verdict.corrected_caption is not None
    view = workspace.review.open_pair(first)
    assert view.verdict.enriches
    assert view.verdict.corrected_caption == f"{view.caption} (edited)"
    assert workspace.review.counts(1).errors_found == 0
    report = workspace.jobs.export(1, ExportChoice(), tmp_path / "out", "jsonl")
    (table,) = Path(report.out).glob("*.jsonl")
    lines = [json.loads(line) for line in table.read_text("utf-8").splitlines()]
    assert all(line["caption"] == line["original_caption"] + " (edited)" for line in lines)
    assert {line["caption_kind"] for line in lines} == {"edited"}
    assert (report.counts.edited, report.counts.enriched) == (len(lines), 0)


def test_an_edit_that_arrives_twice_says_twice_what_it_did(workspace: Workspace) -> None:
    """The server may have ended after the edit, before its answer."""
    page, count = Page(workspace), len(texts(workspace))
    asked = {"request": "a" * 32, "dataset": 1, **edit(prefix="Photo: ")}
    messages = [page.press("edit-apply", **asked) for _ in range(2)]
    assert all(f"{count} captions changed. Press Z to undo them all" in each for each in messages)


def test_only_what_has_changed_can_be_undone(workspace: Workspace) -> None:
    page = Page(workspace)
    row = workspace.review.queue_page(EVERY, limit=1).rows[0]
    one = {"edit": {"scope": "selected", "suffix": "!"}, "pairs": [[row.pair_id, 0]]}
    assert "1 caption changed. Press Z to undo it." in page.press("edit-apply", **one)
    assert "0 captions changed.<" in page.press("edit-apply", **one)


def test_an_edit_is_of_the_queue_that_was_shown(workspace: Workspace) -> None:
    """The next page may show another one when it sends the edit again."""
    page = Page(workspace)
    page.press("filter", filter={"review": "decided"})
    prefixed = {"scope": "queue", "prefix": "Photo: "}
    page.press("edit-apply", edit=prefixed, filter={"review": "unreviewed"})
    assert any(text.startswith("Photo: ") for text in texts(workspace))


@pytest.mark.parametrize("state", [{"shows_skipped": True}, {"found": [1, 2]}])
def test_a_list_that_is_no_queue_is_not_edited(workspace: Workspace, state: dict[str, Any]) -> None:
    page, before = Page(workspace), texts(workspace)
    page.press("skip")
    page.state = page.state.model_copy(update=state)
    whole = {"scope": "queue", "suffix": " !"}
    assert "error" in page.press("edit-apply", edit=whole, filter={"review": "all"})
    assert texts(workspace) == before


def test_skipped_pairs_are_back_before_the_queue_is_edited(workspace: Workspace) -> None:
    page = Page(workspace)
    page.press("skip")
    whole = {"scope": "queue", "suffix": " !"}
    assert "1 skipped pair" in page.press("edit-preview", edit=whole, filter={"review": "all"})
    assert page.state.skipped == []


@pytest.mark.parametrize("view", ["grid", "table"])
def test_the_grid_has_its_button_and_the_page_its_key(workspace: Workspace, view: str) -> None:
    page = Page(workspace)
    assert key_table(ALL_KEYS)["f"] == "replace"
    page.press(view)
    assert page.shown["stage"].count('data-action="replace"') == 1


def test_hostile_text_is_escaped() -> None:
    check_escaping(
        "edit_form.html",
        lambda text: part.form(
            {"find": text, "replace": text, "prefix": text, "suffix": text},
            EditView(3, 9, 1, 2, 3, 4, 0, (EditedCaption(7, text, text, f"{text} b"),)),
        ),
    )


@pytest.mark.parametrize("is_regex", [True, False])
def test_an_edit_that_takes_too_long_in_total_writes_nothing(
    workspace: Workspace, is_regex: bool
) -> None:
    """Each caption may be fast enough while a hundred thousand of them take hours."""
    before = texts(workspace)
    edit = BulkEdit("^(.+)$", "x", is_regex) if is_regex else BulkEdit(prefix="A photo of ")
    filter = QueueFilter(1, "all", order="position", descending=False)
    for author in (None, "Ada"):  # the preview too
        with pytest.raises(SettingsError) as refused:
            edit_queue(workspace.store, filter, edit, author, seconds=0.0)
        assert f"after 0 of {len(before)} captions" in str(refused.value)
        assert "nothing was changed" in str(refused.value)
    assert texts(workspace) == before
    assert workspace.review.undo_edit(1, "Ada") is None
    done = edit_queue(workspace.store, filter, edit, "Ada", seconds=600.0)
    assert done.changed == len(before)


def test_the_command_previews_applies_and_undoes_an_edit(workspace: Workspace) -> None:
    before = texts(workspace)
    (dataset,) = workspace.datasets()
    url = str(workspace.settings.database_url)

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(app, ["edit", dataset.name, "--db", url, *arguments])

    dry = run(
        "--find", "(?<first>^.)", "--regex", "--replace", r"[\g<first>]", "--dry-run", "--json"
    )
    assert dry.exit_code == 0, dry.output
    counted = json.loads(dry.stdout)
    assert counted["changed"] == len(before)
    assert counted["examples"][0]["after"].startswith("[")
    assert texts(workspace) == before
    done = run("--suffix", " .", "--queue", "review=all")
    assert f"{len(before)} of {len(before)} captions changed" in done.stdout
    assert texts(workspace) == [f"{text} ." for text in before]
    assert "Undone" in run("--undo").stdout
    assert texts(workspace) == before
    for arguments, message in (
        (("--undo",), "no edit to undo"),
        (("--find", "(", "--regex"), "is invalid"),
        ((), "text to find"),
        (("--suffix", "x", "--queue", "rewiew=all"), "There is no field"),
        (("--suffix", "x", "--view", "none"), "There is no view"),
    ):
        refused = run(*arguments)
        assert refused.exit_code != 0
        assert message in refused.stderr
