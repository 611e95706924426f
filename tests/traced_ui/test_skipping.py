"""Pairs that are put aside come back, and what can be undone is listed."""

from typing import Any

import pytest

from backend.workspace import QueueFilter, Workspace
from tests.traced_ui.pages import Page, decisions
from traced_ui.page_state import PageState
from traced_ui.templates import render


def in_order(workspace: Workspace) -> list[int]:
    return [row.pair_id for row in workspace.review.queue_page(QueueFilter(1), None, 100).rows]


def test_a_skipped_pair_is_not_met_again_before_the_end(generated: Workspace) -> None:
    order = in_order(generated)
    page = Page(generated)
    page.press("skip")
    assert page.pair == order[1]
    assert page.state.skipped == [order[0]]
    assert page.listed[0] == order[1]
    assert 'data-action="skipped"' in page.shown["queue"]
    page.press("drop")
    assert page.pair == order[2]
    assert generated.review.open_pair(order[0]).verdict.decision is None


def test_a_skipped_pair_is_not_prefetched_nor_drawn_at_random(generated: Workspace) -> None:
    order = in_order(generated)
    page = Page(generated)
    page.state.skipped = [order[1], order[2]]
    ahead = page.post(shown=order[0])["ahead"]["order"]
    assert not {order[1], order[2]} & set(ahead)
    assert order[3] in ahead


def test_skipped_pairs_come_back_when_nothing_else_is_left(generated: Workspace) -> None:
    order = in_order(generated)
    page = Page(generated)
    page.press("skip")
    page.press("skip")
    for pair in order[2:]:
        generated.review.decide(pair, 0, "correct")
    page.send("end")
    assert page.state.shows_skipped
    assert page.pair == order[0]
    assert page.listed == order[:2]
    page.press("correct")
    assert page.pair == order[1]
    page.press("correct")
    assert not page.state.shows_skipped
    assert page.state.pair is None
    assert "data-pair" not in page.shown["stage"]


def test_the_count_opens_them_as_a_queue_and_the_queue_again(generated: Workspace) -> None:
    order = in_order(generated)
    page = Page(generated)
    for _ in range(3):
        page.press("skip")
    assert page.pair == order[3]
    generated.review.decide(order[1], 0, "correct")  # in another tab
    page.request(redraw=True)
    assert ">2 skipped<" in page.shown["queue"]
    page.press("skipped")
    assert page.listed == [order[0], order[2]]
    page.press("skip")  # again: behind the others
    assert page.pair == order[2]
    assert page.listed == [order[2], order[0]]
    page.press("skipped")
    assert page.pair == order[3]


@pytest.mark.parametrize("state", [{"shows_skipped": True}, {"found": [1, 2]}])
def test_what_is_done_to_a_queue_is_not_done_to_such_a_list(
    generated: Workspace, state: dict[str, Any]
) -> None:
    page = Page(generated)
    page.press("skip")
    page.state = page.state.model_copy(update=state)
    assert "error" in page.press("save-view", filter={"review": "all"}, name="mine")
    assert set(decisions(generated)) == {None}
    assert generated.review.saved_views(1) == []


def test_the_only_skipped_pair_stays(generated: Workspace) -> None:
    page = Page(generated)
    first = page.pair
    page.press("skip")
    page.press("skipped")
    page.press("skip")
    assert page.pair == first


def test_another_queue_is_not_of_skipped_pairs(generated: Workspace) -> None:
    page = Page(generated)
    page.press("skip")
    page.press("skipped")
    page.send("filter", filter={"review": "all", "order": "position"})
    assert not page.state.shows_skipped
    assert page.state.pair not in page.state.skipped


def test_a_pair_with_a_verdict_is_not_skipped(generated: Workspace) -> None:
    page = Page(generated)
    first = page.pair
    page.press("drop")
    page.press("open", target=first)
    page.press("skip")
    assert (page.pair, page.state.skipped) == (first, [])


def test_skipping_the_last_pair_brings_it_back(generated: Workspace) -> None:
    *others, last = in_order(generated)
    for pair in others:
        generated.review.decide(pair, 0, "correct")
    page = Page(generated)
    page.press("skip")
    assert (page.pair, page.state.shows_skipped) == (last, True)


def test_a_page_that_is_loaded_again_does_not_open_on_a_skipped_pair(generated: Workspace) -> None:
    order = in_order(generated)
    page = Page(generated)
    page.state = PageState(skipped=[order[0]])
    page.send("visit", dataset=1, address={})
    assert page.pair != order[0]


def test_skipping_changes_nothing_in_the_sample_that_estimates_go_by(generated: Workspace) -> None:
    """A pair put aside leaves a gap in the random order, as one that is passed does."""
    page = Page(generated)
    page.press("skip")
    view = page.pair
    page.press("drop")
    (verdict,) = generated.review.list_undoable(1, None, 5)
    assert (verdict.pair_id, verdict.sampling) == (view, "queue")


def undoable(page: Page) -> list[str]:
    return page.shown["queue"].partition("undo-list")[2].partition("</div>")[0].split("<li>")[1:]


def test_what_can_be_undone_is_listed_in_the_order_of_undo(generated: Workspace) -> None:
    page = Page(generated)
    first = page.pair
    assert 'data-action="history"' not in page.shown["queue"]
    page.press("drop")
    assert 'data-action="history"' in page.shown["queue"]
    second = page.pair
    page.press("tag-add", edit={"of": f"{first},{second}", "name": "odd"})
    page.press("correct")
    page.press("history")
    entries = undoable(page)
    targets = [int(entry.partition('data-target="')[2].partition('"')[0]) for entry in entries]
    assert targets == [second, first, first]
    assert "odd" in entries[1]
    assert all("<time" in entry for entry in entries)
    assert generated.review.open_pair(first).external_id in entries[2]
    for left in (2, 1, 0):
        page.press("undo")
        assert len(undoable(page)) == left
    page.press("history")
    assert "undo-list" not in page.shown["queue"]


def test_verdicts_given_together_are_one_entry(generated: Workspace) -> None:
    page = Page(generated)
    rows = generated.review.queue_page(QueueFilter(1), None, 100).rows
    pairs = [(row.pair_id, row.verdict_version) for row in rows]
    generated.review.decide_many(pairs, "correct", author=page.state.author)
    page.press("history")
    (entry,) = undoable(page)
    assert "40 pairs" in entry
    assert len(generated.review.list_undoable(1, page.state.author, 10)) == 1
    page.press("undo")
    assert undoable(page) == []


def test_an_empty_list_says_so() -> None:
    assert "<ol>" not in render("review/undo_list.html", acts=[])
