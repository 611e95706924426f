"""Keys and clicks on a real store: nothing is written that the curator has not seen."""

import html
import re
from typing import Any

import pytest

from backend.errors import SettingsError
from backend.review.queue_form import START
from backend.review.views import fingerprint_of
from backend.workspace import QueueFilter, Workspace
from db.queries import job_queries, pair_queries, run_queries, suggestion_queries, verdict_queries
from db.queries.suggestion_queries import NewSuggestion
from tests.traced_ui.pages import Page, decisions
from traced_ui import overview, review_page
from traced_ui.board import FILES
from traced_ui.page_actions import ACTIONS, name_of
from traced_ui.review_actions import ALL_KEYS


def test_a_pair_that_another_page_decided_is_not_overwritten(workspace: Workspace) -> None:
    first, two = Page(workspace), Page(workspace)
    pair = first.pair
    assert two.pair == pair
    first.press("correct")
    message = two.press("drop", version=0)
    assert "changed in the meantime" in message
    assert workspace.review.open_pair(pair).verdict.decision == "correct"
    assert f'data-pair="{pair}" data-version="1"' in two.shown["stage"]  # as it is now
    assert "already been decided" in two.press("drop")
    assert workspace.review.open_pair(pair).verdict.decision == "correct"
    assert "Saved" in two.press("drop", meant=True)
    assert workspace.review.open_pair(pair).verdict.decision == "drop"


def test_all_pairs_are_decided_by_key_and_undone_again(workspace: Workspace) -> None:
    page = Page(workspace)
    total = len(decisions(workspace))
    for _ in range(total):
        message = page.press("unsure")
    assert "last pair" in message
    assert decisions(workspace) == ["unsure"] * total
    assert "All reviewed" in page.shown["stage"]
    for _ in range(total):
        page.press("undo")
    assert decisions(workspace) == [None] * total
    assert "nothing to undo" in page.press("undo")
    page.press("redo")
    assert decisions(workspace).count("unsure") == 1


def test_redo_returns_to_the_pair_before_the_undo(workspace: Workspace) -> None:
    page = Page(workspace)
    first = page.pair
    page.press("correction", text="A better caption.")
    page.press("next")
    was_at = page.pair
    page.press("undo")
    assert page.pair == first
    assert "Redone" in page.press("redo")
    assert page.pair == was_at
    page.press("correct")  # for the pair on the page, not for the one that was redone
    assert workspace.review.open_pair(first).verdict.decision == "correction"
    assert workspace.review.open_pair(was_at).verdict.decision == "correct"


def test_a_view_by_a_measure_that_is_not_installed_any_more_leaves_the_page_usable(
    workspace: Workspace,
) -> None:
    workspace.review.save_view(1, "dense", {"order": "density", "density_from": "3"})
    page = Page(workspace)
    assert 'data-name="dense"' in page.shown["queue"]
    before = page.state.filter
    assert "density" in page.send("view", name="dense")
    assert page.state.filter == before
    page.press("correct")


def test_redo_moves_on_without_a_history_in_the_session(workspace: Workspace) -> None:
    page = Page(workspace)
    first = page.pair
    page.press("drop")
    page.press("undo")
    page.state.undone = []  # the page has been reopened
    page.press("redo")
    assert page.pair != first
    assert workspace.review.open_pair(page.pair).verdict.decision is None


def test_a_verdict_hidden_by_the_queue_is_changed_only_after_confirmation(
    workspace: Workspace,
) -> None:
    page = Page(workspace)
    first = page.pair
    page.press("correction", text="A better caption.")
    page.press("open", target=first)
    assert "already been decided (✎ corrected)" in page.press("drop")
    assert "already been decided" in page.press("drop")  # repeating the key does not confirm
    assert workspace.review.open_pair(first).verdict.decision == "correction"
    assert "Removed." in page.press("drop", meant=True)
    assert workspace.review.open_pair(first).verdict.decision == "drop"
    # A queue of decided pairs asks for no confirmation.
    page.press("filter", filter={"review": "decided"})
    assert page.pair == first
    assert "Right." in page.press("correct")


def test_a_search_without_hits_shows_no_pair_to_decide(workspace: Workspace) -> None:
    page = Page(workspace)
    first, view = page.pair, workspace.review.open_pair(page.pair)
    page.press("filter", filter={"text": "zyzzyva"})
    assert page.state.pair is None
    assert "data-pair" not in page.shown["stage"]
    # A key that was pressed before the search arrived.
    assert "nothing was written" in page.send(
        "drop", pair=view.pair_id, version=view.verdict.version
    )
    assert workspace.review.open_pair(first).verdict.decision is None
    page.send("filter")
    assert page.pair == first


def test_a_search_by_meaning_without_vectors_says_how_to_get_them(workspace: Workspace) -> None:
    with pytest.raises(SettingsError, match="until they are scored"):
        workspace.review.search(1, meaning="a dog")
    with workspace.store.writing() as session:
        run_queries.start_run(
            session, kind="score", dataset_id=1, scorer_kind="s", model="m", revision="r",
            explorer="e", parameters={}, code_version="1",
        )  # fmt: skip
    with pytest.raises(SettingsError, match="Score the dataset again"):
        workspace.review.search(1, meaning="a dog")


def test_visiting_an_address_opens_its_queue(workspace: Workspace) -> None:
    page = Page(workspace)
    first = page.pair
    page.press("filter", filter={"review": "all", "order": "position"})
    page.press("next")
    page.press("visit", address={"dataset": "1", "grid": "yes", "pair": str(first)})
    assert (page.pair, page.state.filter) == (first, START)
    assert page.state.grid, "many pairs at once"
    assert "was ignored" in page.press("visit", address={"order": "magic"})
    assert not page.state.grid
    page.press("visit", address={"text": "zyzzyva", "pair": "no number"})
    assert page.state.pair is None


@pytest.mark.parametrize(
    "event",
    [
        {"action": "no-such-thing"},
        {"action": "suggestion-9"},
        {"action": "open", "target": 10**9},
        {"action": "step", "step": 7},
        {"action": "step-forward"},
        {"action": "filter", "filter": {"order": "magic"}},
        {"action": "filter", "filter": {"minimum_p": "abc"}},
        {"action": "correction"},
        {},
    ],
)
def test_no_event_breaks_the_page(workspace: Workspace, event: dict[str, Any]) -> None:
    page = Page(workspace)
    page.press(event.pop("action", ""), **event)
    assert decisions(workspace).count(None) == len(decisions(workspace))
    page.press("next")


def test_a_link_opens_its_pair_and_a_broken_link_the_queue(workspace: Workspace) -> None:
    pair = Page(workspace).pair + 3
    assert Page(workspace, pair=str(pair)).state.pair == pair
    for dead in ("99999", "x", ""):
        assert Page(workspace, pair=dead).state.pair is not None


def test_without_a_dataset_the_page_says_what_to_do(workspace: Workspace) -> None:
    workspace.delete_dataset(1)
    assert "No dataset yet" in Page(workspace, None).shown["stage"]


@pytest.mark.parametrize(
    ("status", "message", "shown"),
    [
        ("running", "", "Scores appear once the job has finished."),
        ("failed", "This model does not know it. Choose another.", "not know it. Choose another."),
        ("cancelled", "Cancelled at 3 of 9.", "Cancelled at 3 of 9."),
        ("done", "", "imported after the last scoring, or left out"),
    ],
)
def test_why_a_pair_has_no_scores(
    workspace: Workspace, status: str, message: str, shown: str
) -> None:
    with workspace.store.writing() as session:
        job = job_queries.create_job(session, "score", 1)
        job_queries.update_job(session, job.id, status=status, message=message)
    page = Page(workspace)
    assert shown in html.unescape(page.shown["steps"])
    waiting = page.post()["ahead"]["drawn"].values()
    assert waiting
    assert all(shown in html.unescape(part["steps"]) for part in waiting)


def test_a_queue_can_be_saved_opened_and_deleted(workspace: Workspace) -> None:
    page = Page(workspace)
    page.press("filter", filter={"review": "all", "order": "position", "icc_to": ""})
    assert "Saved as &#39;as it came&#39;" in page.press("save-view", name=" as it  came ")
    page.press("filter", filter={"review": "all", "order": "s_0"})
    assert page.state.filter["order"] == "s_0"
    page.press("view", name="as it came")
    assert page.state.filter == {"review": "all", "order": "position"}
    assert "as it came" in page.shown["queue"]
    page.press("view", name="no such view")
    assert page.state.filter == {"review": "unreviewed", "order": "p_error"}
    page.press("delete-view", name="as it came")
    assert "as it came" not in page.shown["queue"]
    assert "characters" in page.press("save-view", name="   ")
    assert "not a number" in page.press("filter", filter={"s_0_from": "much"})


def test_a_word_is_marked_as_wrong_and_unmarked(workspace: Workspace) -> None:
    page = Page(workspace)
    pair = page.pair
    page.press("mark-word", word=1)
    assert len(workspace.review.open_pair(pair).wrong_words) == 1
    assert 'aria-pressed="true"' in page.shown["stage"].split('data-word="1"')[1][:80]
    page.press("mark-word", word=1)
    assert workspace.review.open_pair(pair).wrong_words == ()
    assert "no word" in page.press("mark-word", word=500)
    assert "no longer in the database" in page.press("mark-word", word=0, pair=pair + 1)


def test_many_pairs_are_decided_at_once_and_reverted_by_one_undo(workspace: Workspace) -> None:
    page = Page(workspace)
    page.press("grid")
    cards = page.shown["stage"]
    assert 'class="picks"' in cards
    rows = workspace.review.queue_page(QueueFilter(1, "unreviewed")).rows
    assert "Select pairs first" in page.press("drop")
    assert decisions(workspace).count("drop") == 0
    selection = [
        [r.pair_id, r.verdict_version, fingerprint_of(r.external_id, r.caption, r.image_path)]
        for r in rows[:3]
    ]
    assert f'data-fingerprint="{selection[0][2]}"' in cards
    another = [[rows[0].pair_id, rows[0].verdict_version, "0" * 16]]
    assert "1 had been changed" in page.press("many", decision="drop", pairs=another)
    assert "3 pairs saved" in page.press("many", decision="drop", pairs=selection)
    assert decisions(workspace).count("drop") == 3
    message = page.press("many", decision="correct", pairs=[selection[0], [rows[3].pair_id, 0]])
    assert "1 pair saved" in message
    assert "left alone" in message
    page.press("undo")
    assert "3 pairs at once" in page.press("undo")
    assert decisions(workspace).count("drop") == 0
    for wrong in ([], [[10**9, 0]]):
        page.press("many", decision="drop", pairs=wrong)
    page.press("many", decision="correction", pairs=selection)
    assert set(decisions(workspace)) == {None}
    page.press("open", target=rows[0].pair_id)
    assert 'class="picks"' not in page.shown["stage"]


def test_an_address_with_a_misspelt_field_is_reported_and_ignored(workspace: Workspace) -> None:
    page = Page(workspace, dataset="1", p_eror_from="0.99", __theme="dark")
    assert "Did you mean" in page.shown["toast"]
    assert "p_error_from" in page.shown["toast"]
    assert page.state.filter == START
    followed = Page(workspace, dataset="1", p_error_from="0.99")
    assert followed.shown["toast"] == ""
    assert followed.state.filter["p_error_from"] == "0.99"


def test_every_key_is_an_action_of_the_page_or_of_the_browser_only() -> None:
    script = FILES["keys.js"].decode()
    browser_only = set(re.findall(r'^  "?([a-z-]+)"?[:,]', script, re.MULTILINE))
    added = b"".join(FILES.values()).decode(errors="ignore")
    browser_only |= set(re.findall(r'^addLocal\("([a-z-]+)"', added, re.MULTILINE))
    for key in ALL_KEYS:
        assert name_of(key.action) in ACTIONS or key.action in browser_only, key


def test_an_accepted_enrichment_is_not_called_a_correction(workspace: Workspace) -> None:
    """In the grid, in the history, and in the question before a verdict is changed."""
    with workspace.store.writing() as session:
        first, second = list(pair_queries.iterate_pairs(session, 1))[:2]
        boost = NewSuggestion(first.id, "m", "a boost", 0.1, 0.2, kind="boost")
        suggestion_queries.save_suggestions(session, [boost])
        (row,) = suggestion_queries.list_suggestions(session, first.id, kind="boost")
        verdict_queries.add_verdict(
            session, first.id, 0, "correction", "a boost", row.id, author="Ada"
        )
        verdict_queries.add_verdict(session, second.id, 0, "correction", "a text", author="Ada")
    review = workspace.review
    rows = {row.pair_id: row for row in review.queue_page(QueueFilter(1)).rows}
    enriched, corrected = "✎ enriched", "✎ corrected"
    for pair, label, other in ((first, enriched, corrected), (second, corrected, enriched)):
        view = review.open_pair(pair.id)
        for shown in (
            overview.grid([rows[pair.id]]),
            review_page.question(view, "correct"),
            review_page.side_panel(view),
        ):
            assert label in shown
            assert other not in shown
