"""Editing many captions at once on the review page and on the command line."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from app import app
from backend.cli import edit as edit_command
from backend.engine.bulk_edit import BulkEdit
from backend.errors import SettingsError
from backend.review import bulk_edits
from backend.workspace import ExportChoice, QueueFilter, Workspace
from tests.traced_ui.test_review import Page
from traced_ui.review_actions import ReviewActions

EVERY = QueueFilter(1, order="position", descending=False)


@pytest.fixture
def actions(workspace: Workspace) -> ReviewActions:
    return ReviewActions(workspace)


def texts(workspace: Workspace) -> list[str]:
    rows = workspace.review.queue_page(EVERY, limit=100).rows
    return [row.corrected_caption or row.caption for row in rows]


def edit(**given: Any) -> dict[str, Any]:
    return {"edit": {"scope": "dataset", **given}}


def test_a_preview_changes_nothing_and_one_undo_reverts_the_edit(actions: ReviewActions) -> None:
    page, before = Page(actions), texts(actions.workspace)
    page.press("replace")
    assert 'data-edit="find"' in page.shown.check
    page.press("edit-preview", **edit(prefix="<b>A photo</b> of "))
    assert f"{len(before)} of {len(before)} captions would change" in page.shown.check
    assert "&lt;b&gt;A" in page.shown.check
    assert "<b>A" not in page.shown.check
    assert texts(actions.workspace) == before
    message = page.press("edit-apply", **edit(prefix="<b>A photo</b> of "))
    assert f"{len(before)} captions changed" in message
    assert texts(actions.workspace) == [f"<b>A photo</b> of {text}" for text in before]
    assert actions.workspace.review.counts(1).reviewed == 0
    assert "edited to" in page.shown.stage
    assert "0 of" in page.press("edit-preview", **edit(prefix="<b>A photo</b> of ")) or (
        "0 of" in page.shown.check
    )
    assert "verdicts at once" in page.press("undo")
    assert texts(actions.workspace) == before
    page.press("redo")
    assert texts(actions.workspace) == [f"<b>A photo</b> of {text}" for text in before]


def test_an_edit_is_limited_to_the_selection_or_the_queue(actions: ReviewActions) -> None:
    page, before = Page(actions), texts(actions.workspace)
    rows = actions.workspace.review.queue_page(EVERY, limit=100).rows
    chosen = [[row.pair_id, row.verdict_version] for row in rows[:2]]
    page.press("edit-apply", edit={"scope": "selected", "suffix": " !"}, pairs=chosen)
    assert texts(actions.workspace) == [f"{t} !" for t in before[:2]] + before[2:]
    assert "No pair is selected" in page.press("edit-preview", edit={"scope": "selected"}, pairs=[])
    page.press("undo")
    page.press("filter", filter={"external_id": rows[0].external_id, "review": "all"})
    page.press("edit-apply", edit={"scope": "queue", "suffix": " ?"})
    assert sum(text.endswith(" ?") for text in texts(actions.workspace)) < len(before)
    for wrong, message in (
        ({"scope": "dataset", "find": "(", "regex": True}, "is invalid"),
        ({"scope": "dataset"}, "text to find"),
        ({"scope": "<b>"}, "There is no"),
    ):
        assert message in page.press("edit-apply", edit=wrong)


def test_an_edited_caption_can_be_called_correct(actions: ReviewActions, tmp_path: Path) -> None:
    page = Page(actions)
    page.press("edit-apply", **edit(suffix=" (edited)"))
    first = page.session.pair_id
    page.press("correct")
    view = actions.workspace.review.open_pair(first)
    assert view.enriches
    assert view.corrected_caption == f"{view.caption} (edited)"
    assert actions.workspace.review.counts(1).errors_found == 0
    report = actions.workspace.jobs.export(1, ExportChoice(), tmp_path / "out", "jsonl")
    (table,) = report.out.glob("*.jsonl")
    lines = [json.loads(line) for line in table.read_text("utf-8").splitlines()]
    assert all(line["caption"] == line["original_caption"] + " (edited)" for line in lines)


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
            workspace.review.edit_captions(filter, edit, author, seconds=0.0)
        assert f"after 1 of {len(before)} captions" in str(refused.value)
        assert "nothing was changed" in str(refused.value)
    assert texts(workspace) == before
    assert workspace.review.undo_edit(1, "Ada") is None
    done = workspace.review.edit_captions(filter, edit, "Ada", seconds=1e9)
    assert done.changed == len(before)


def test_the_times_of_all_captions_are_added(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sum is limited: three captions of 2 s each, with a fake clock."""
    ticks = iter(range(0, 10_000, 2))
    monkeypatch.setattr(bulk_edits, "perf_counter", lambda: next(ticks))
    filter = QueueFilter(1, "all", order="position", descending=False)
    with pytest.raises(SettingsError, match=r"more than 5 s.* after 3 of"):
        workspace.review.edit_captions(filter, BulkEdit(suffix="!"), seconds=5.0)


def test_the_page_has_a_limit(actions: ReviewActions, monkeypatch: pytest.MonkeyPatch) -> None:
    page, before = Page(actions), texts(actions.workspace)
    monkeypatch.setattr(bulk_edits, "MOST_SECONDS", 0.0)
    for action in ("edit-preview", "edit-apply"):
        message = page.press(action, **edit(find="(a+)", replace="b", regex=True))
        assert f"after 1 of {len(before)} captions" in message
    assert texts(actions.workspace) == before


def test_the_command_has_a_separate_limit(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    (dataset,) = workspace.datasets()
    arguments = [
        "edit",
        dataset.name,
        "--db",
        str(workspace.settings.database_url),
        "--suffix",
        "!",
    ]
    monkeypatch.setattr(bulk_edits, "MOST_SECONDS", 0.0)
    assert CliRunner().invoke(app, [*arguments, "--dry-run"]).exit_code == 0
    monkeypatch.setattr(edit_command, "_MOST_SECONDS", 0.0)
    refused = CliRunner().invoke(app, arguments)
    assert refused.exit_code == SettingsError.exit_status
    assert "after 1 of" in refused.stderr


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
