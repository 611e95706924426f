"""Keys and clicks on a real store: nothing is written that the curator has not seen."""

import html
from pathlib import Path
from typing import Any

import gradio as gr
import pytest

from backend.errors import SettingsError
from backend.review.queue_form import START
from backend.review.review import Review
from backend.workspace import QueueFilter, Workspace
from db.queries import jobs, phrase_scores, suggestions, verdicts
from db.queries import pairs as pair_queries
from db.queries import runs as run_queries
from db.queries.suggestions import NewSuggestion
from traced_ui import keyboard, review_page
from traced_ui.read_ahead import Batch, answer
from traced_ui.review_actions import ACTIONS, ReviewActions


class Page:
    """One open page: presses keys as the browser would, with the state that it last showed."""

    def __init__(
        self, actions: ReviewActions, dataset_id: int = 1, session: str = "one", **query: str
    ) -> None:
        self.actions, self.dataset_id = actions, dataset_id
        self.request = gr.Request(session_hash=session, query_params=query)
        self.shown = actions.open(dataset_id, self.request)

    @property
    def session(self) -> Any:
        return self.actions.sessions.of(self.request)

    def press(self, action: str, **more: Any) -> str:
        """Returns the message on the page afterwards."""
        view = self.actions.workspace.review.open_pair(self.session.pair_id)
        event = {"action": action, "pair": view.pair_id, "version": view.version, **more}
        self.shown = self.actions.act(event, self.dataset_id, self.request)
        return str(self.shown.toast)


@pytest.fixture
def actions(workspace: Workspace) -> ReviewActions:
    return ReviewActions(workspace)


def decisions(workspace: Workspace) -> list[str | None]:
    rows = workspace.review.queue_page(QueueFilter(1, order="position", descending=False)).rows
    return [row.decision for row in rows]


def test_a_verdict_is_saved_and_the_next_pair_is_shown(actions: ReviewActions) -> None:
    page = Page(actions)
    first = page.session.pair_id
    assert "Saved" in page.press("correct")
    assert actions.workspace.review.open_pair(first).decision == "correct"
    assert page.session.pair_id != first


def test_a_key_for_a_pair_no_longer_on_the_page_writes_nothing(actions: ReviewActions) -> None:
    page = Page(actions)
    first = page.session.pair_id
    page.press("correct")
    message = page.press("drop", pair=first, version=1)
    assert "nothing was written" in message
    assert decisions(actions.workspace).count("drop") == 0


def test_a_pair_that_another_page_decided_is_not_overwritten(actions: ReviewActions) -> None:
    first, two = Page(actions, session="one"), Page(actions, session="two")
    pair = first.session.pair_id
    assert two.session.pair_id == pair
    first.press("correct")
    message = two.press("drop", version=0)
    assert "decided in the meantime" in message
    assert actions.workspace.review.open_pair(pair).decision == "correct"
    assert f'data-pair="{pair}" data-version="1"' in two.shown.stage  # as it is now
    assert "already been decided" in two.press("drop")
    assert actions.workspace.review.open_pair(pair).decision == "correct"
    assert "Saved" in two.press("meant")
    assert actions.workspace.review.open_pair(pair).decision == "drop"


def test_all_pairs_are_decided_by_key_and_undone_again(actions: ReviewActions) -> None:
    page = Page(actions)
    total = len(decisions(actions.workspace))
    for _ in range(total):
        message = page.press("unsure")
    assert "last pair" in message
    assert decisions(actions.workspace) == ["unsure"] * total
    for _ in range(total):
        page.press("undo")
    assert decisions(actions.workspace) == [None] * total
    assert "nothing to undo" in page.press("undo")
    page.press("redo")
    assert decisions(actions.workspace).count("unsure") == 1


def test_redo_returns_to_the_pair_before_the_undo(actions: ReviewActions) -> None:
    page = Page(actions)
    first = page.session.pair_id
    page.press("correction", text="A better caption.")
    page.press("next")
    was_at = page.session.pair_id
    page.press("undo")
    assert page.session.pair_id == first
    assert first is not None
    assert "Redone" in page.press("redo")
    assert page.session.pair_id == was_at
    page.press("correct")  # for the pair on the page, not for the one that was redone
    assert actions.workspace.review.open_pair(first).decision == "correction"
    assert actions.workspace.review.open_pair(was_at).decision == "correct"


def test_redo_moves_on_without_a_history_in_the_session(actions: ReviewActions) -> None:
    page = Page(actions)
    first = page.session.pair_id
    page.press("drop")
    page.press("undo")
    page.session.undone.clear()  # the page has been reopened
    page.press("redo")
    assert page.session.pair_id != first
    assert actions.workspace.review.open_pair(page.session.pair_id).decision is None


def test_a_verdict_hidden_by_the_queue_is_changed_only_after_confirmation(
    actions: ReviewActions,
) -> None:
    page = Page(actions)
    first = page.session.pair_id
    page.press("correction", text="A better caption.")
    page.press("open", target=first)
    assert "already been decided (✎ corrected)" in page.press("drop")
    assert "already been decided" in page.press("drop")  # repeating the key does not confirm
    page.press("leave")
    assert page.press("meant") == ""
    assert actions.workspace.review.open_pair(first).decision == "correction"
    page.press("drop")
    page.press("next")
    page.press("open", target=first)
    assert page.press("meant") == ""  # the question no longer applies
    page.press("drop")
    assert "Wrong: dropped" in page.press("meant")
    assert actions.workspace.review.open_pair(first).decision == "drop"
    # A queue of decided pairs asks for no confirmation.
    page.press("filter", filter={"review": "decided"})
    assert page.session.pair_id == first
    assert "Correct." in page.press("correct")


def test_a_search_without_hits_shows_no_pair_to_decide(actions: ReviewActions) -> None:
    page = Page(actions)
    first, view = page.session.pair_id, actions.workspace.review.open_pair(page.session.pair_id)
    page.press("filter", filter={"text": "zyzzyva"})
    assert page.session.pair_id is None
    assert "data-pair" not in page.shown.stage
    # A key that was pressed before the search arrived.
    late = {"action": "drop", "pair": view.pair_id, "version": view.version}
    page.shown = actions.act(late, 1, page.request)
    assert "nothing was written" in page.shown.toast
    assert actions.workspace.review.open_pair(first).decision is None
    page.shown = actions.act({"action": "filter", "filter": {}, "pair": None}, 1, page.request)
    assert page.session.pair_id == first


def test_an_unknown_suggestion_is_reported_without_mentioning_settings(
    actions: ReviewActions,
) -> None:
    page = Page(actions)
    message = page.press("suggestion-9")
    assert "There is no suggestion 9" in message
    assert "is invalid" not in message


def test_a_message_names_a_pair_like_the_page(
    actions: ReviewActions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Review, "search", lambda *_: (1, 2))
    page = Page(actions)
    first = page.session.pair_id
    name = actions.workspace.review.open_pair(first).external_id
    page.press("same-picture")
    assert html.escape(f"pictures like {name}") in page.shown.queue.replace("&#39;", "&#x27;")


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


def test_visiting_an_address_opens_its_queue(actions: ReviewActions) -> None:
    page = Page(actions)
    first = page.session.pair_id
    page.press("filter", filter={"review": "all", "order": "position"})
    page.press("next")
    page.press("visit", address={"dataset": "1", "tab": "plane", "pair": str(first)})
    assert (page.session.pair_id, page.session.filter) == (first, START)
    assert "was ignored" in page.press("visit", address={"order": "magic"})
    page.press("visit", address={"text": "zyzzyva", "pair": "no number"})
    assert page.session.pair_id is None


def test_a_typed_correction_is_checked_and_saved(actions: ReviewActions) -> None:
    page = Page(actions)
    pair = page.session.pair_id
    assert "same as the caption" in page.press(
        "correction", text=actions.workspace.review.open_pair(pair).caption
    )
    assert "is empty" in page.press("correction", text="  ")
    page.press("correction", text="  A better <b>caption</b>.  ")
    assert actions.workspace.review.open_pair(pair).corrected_caption == "A better <b>caption</b>."


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
def test_no_event_breaks_the_page(actions: ReviewActions, event: dict[str, Any]) -> None:
    page = Page(actions)
    page.press(event.pop("action", ""), **event)
    assert decisions(actions.workspace).count(None) == len(decisions(actions.workspace))
    page.press("next")


def test_next_and_previous_stay_within_the_queue(actions: ReviewActions) -> None:
    page = Page(actions)
    first = page.session.pair_id
    assert "first pair" in page.press("previous")
    page.press("next")
    assert page.session.pair_id != first
    page.press("previous")
    assert page.session.pair_id == first


def test_search_ignores_case_and_hostile_text_is_escaped(actions: ReviewActions) -> None:
    page = Page(actions)
    page.press("filter", filter={"review": "all", "order": "position", "text": "ONERROR"})
    queue, stage = page.shown.queue, page.shown.stage
    assert "1 pairs" in queue
    assert "<img src=x" not in queue + stage
    assert "&lt;img src=x onerror=alert(1)&gt;" in stage


def test_a_link_opens_its_pair_and_a_broken_link_the_queue(actions: ReviewActions) -> None:
    pair = Page(actions).session.pair_id + 3
    assert Page(actions, session="two", pair=str(pair)).session.pair_id == pair
    for dead in ("99999", "x", ""):
        assert Page(actions, session=f"s{dead}", pair=dead).session.pair_id is not None


def test_without_a_dataset_the_page_says_what_to_do(actions: ReviewActions) -> None:
    shown = actions.open(None, gr.Request(session_hash="none", query_params={}))
    assert "No dataset yet" in shown.stage


def test_unscored_pairs_say_so(actions: ReviewActions) -> None:
    assert "Not scored yet" in Page(actions).shown.steps
    assert "Score the dataset on the Datasets page" in Page(actions).shown.steps


@pytest.mark.parametrize(
    ("status", "message", "shown"),
    [
        ("running", "", "Scores appear once the job has finished."),
        ("failed", "This model does not know it. Choose another.", "not know it. Choose another."),
        ("failed", "Give another with --model NAME.", "server's administrator"),
        ("cancelled", "Cancelled at 3 of 9.", "Cancelled at 3 of 9."),
        ("done", "", "imported after the last scoring, or left out"),
    ],
)
def test_why_a_pair_has_no_scores(
    actions: ReviewActions, status: str, message: str, shown: str
) -> None:
    with actions.workspace.store.writing() as session:
        job = jobs.create_job(session, "score", 1)
        jobs.update_job(session, job.id, status=status, message=message)
    page = Page(actions)
    assert shown in html.unescape(page.shown.steps)
    ahead = Batch(session=page.session.key, dataset=1, shown=page.session.pair_id)
    waiting = answer(actions, page.session, ahead)["drawn"].values()
    assert waiting
    assert all(shown in html.unescape(part["steps"]) for part in waiting)


def test_a_queue_can_be_saved_opened_and_deleted(actions: ReviewActions) -> None:
    page = Page(actions)
    page.press("filter", filter={"review": "all", "order": "position", "icc_to": ""})
    assert "Saved as &#39;as it came&#39;" in page.press("save-view", name=" as it  came ")
    page.press("filter", filter={"review": "all", "order": "s_0"})
    assert page.session.filter["order"] == "s_0"
    page.press("view", name="as it came")
    assert page.session.filter == {"review": "all", "order": "position"}
    assert "as it came" in page.shown.queue
    page.press("view", name="no such view")
    assert page.session.filter == {"review": "unreviewed", "order": "p_error"}
    page.press("delete-view", name="as it came")
    assert "as it came" not in page.shown.queue
    assert "characters" in page.press("save-view", name="   ")
    assert "not a number" in page.press("filter", filter={"s_0_from": "much"})


def test_a_link_opens_its_queue_and_an_invalid_one_the_default(actions: ReviewActions) -> None:
    first = Page(actions, session="a", review="all", order="position")
    assert first.session.filter == {"review": "all", "order": "position"}
    assert "order=position" in first.shown.queue
    for number, wrong in enumerate(({"order": "x"}, {"p_error_from": "x"})):
        page = Page(actions, 1, f"w{number}", **wrong)
        assert page.session.filter == {"review": "unreviewed", "order": "p_error"}
    # Once on the page, the reader's own filters count, whatever the address said.
    first.press("filter", filter={"review": "decided"})
    actions.open(1, first.request)
    assert first.session.filter["review"] == "decided"


def test_a_word_is_marked_as_wrong_and_unmarked(actions: ReviewActions) -> None:
    page = Page(actions)
    pair = page.session.pair_id
    page.press("mark-word", word=1)
    assert len(actions.workspace.review.open_pair(pair).wrong_words) == 1
    assert 'aria-pressed="true"' in page.shown.stage.split('data-word="1"')[1][:80]
    page.press("mark-word", word=1)
    assert actions.workspace.review.open_pair(pair).wrong_words == ()
    assert "no word" in page.press("mark-word", word=500)
    assert "nothing was written" in page.press("mark-word", word=0, pair=pair + 1)


def test_many_pairs_are_decided_at_once_and_reverted_by_one_undo(actions: ReviewActions) -> None:
    page = Page(actions)
    page.press("grid")
    assert 'class="picks"' in page.shown.stage
    rows = actions.workspace.review.queue_page(QueueFilter(1, "unreviewed")).rows
    assert "Select pairs first" in page.press("drop")
    assert decisions(actions.workspace).count("drop") == 0
    chosen = [[row.pair_id, row.verdict_version] for row in rows[:3]]
    assert "3 pairs saved" in page.press("many", decision="drop", pairs=chosen)
    assert decisions(actions.workspace).count("drop") == 3
    message = page.press("many", decision="correct", pairs=[chosen[0], [rows[3].pair_id, 0]])
    assert "1 pairs saved" in message
    assert "left alone" in message
    page.press("undo")
    assert "3 verdicts at once" in page.press("undo")
    assert decisions(actions.workspace).count("drop") == 0
    for wrong in ([], [["x", 1]], [[10**9, 0]]):
        page.press("many", decision="drop", pairs=wrong)
    page.press("many", decision="correction", pairs=chosen)
    assert set(decisions(actions.workspace)) == {None}
    page.press("open", target=rows[0].pair_id)
    assert 'class="picks"' not in page.shown.stage


def test_an_address_with_a_misspelt_field_is_reported_and_ignored(actions: ReviewActions) -> None:
    page = Page(actions, dataset="1", p_eror_from="0.99", __theme="dark")
    assert "Did you mean" in page.shown.toast
    assert "p_error_from" in page.shown.toast
    assert page.session.filter == START
    followed = Page(actions, session="two", dataset="1", p_error_from="0.99")
    assert followed.shown.toast == ""
    assert followed.session.filter["p_error_from"] == "0.99"


def test_every_key_is_an_action_of_the_page_or_of_the_browser_only() -> None:
    script = Path(keyboard.__file__).with_name("script.js").read_text(encoding="utf-8")
    for key in keyboard.KEYS:
        known = key.action.rstrip("-0123456789") in ACTIONS
        assert known or f'"{key.action}"' in script, key
    assert "meant" not in ACTIONS  # an answer to the page's question, not an action


def test_a_row_of_the_queue_shows_the_number_that_orders_it(workspace: Workspace) -> None:
    with workspace.store.writing() as session:
        pair = next(iter(pair_queries.iterate_pairs(session, 1))).id
        phrase_scores.save_support(session, {pair: (-1.234, -2.5)})
    shown = {order: queue_of(workspace, order) for order in ("support", "weakest", "p_error")}
    assert shown["support"].count("support -1.23") == 1  # the others have not been measured
    assert "weakest -2.50" in shown["weakest"]
    assert "-1.23" not in shown["p_error"]


def queue_of(workspace: Workspace, order: str) -> str:
    actions = ReviewActions(workspace)
    session = actions.sessions.at("one", "")
    session.dataset_id, session.filter = 1, {**START, "order": order}
    html, _, _ = actions.draw_queue(session, actions.filter_of(session))
    return str(html)


def test_an_accepted_enrichment_is_not_called_a_correction(workspace: Workspace) -> None:
    """In the grid, in the history, and in the question before a verdict is changed."""
    with workspace.store.writing() as session:
        first, second = list(pair_queries.iterate_pairs(session, 1))[:2]
        boost = NewSuggestion(first.id, "m", "a boost", 0.1, 0.2, kind="boost")
        suggestions.save_suggestions(session, [boost])
        (row,) = suggestions.list_suggestions(session, first.id, kind="boost")
        verdicts.add_verdict(session, first.id, 0, "correction", "a boost", row.id, author="Ada")
        verdicts.add_verdict(session, second.id, 0, "correction", "a text", author="Ada")
    review = workspace.review
    rows = {row.pair_id: row for row in review.queue_page(QueueFilter(1)).rows}
    enriched, corrected = "✎ enriched", "✎ corrected"
    for pair, label, other in ((first, enriched, corrected), (second, corrected, enriched)):
        view = review.open_pair(pair.id)
        for shown in (
            review_page.grid([rows[pair.id]]),
            review_page.question(view, "correct"),
            review_page.beside(view),
        ):
            assert label in shown
            assert other not in shown
