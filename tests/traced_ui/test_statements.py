"""The database cost of a verdict: statements and transactions, on a scored store."""

from typing import Any

import pytest
from markupsafe import Markup
from sqlalchemy.orm import InstrumentedAttribute

from backend.review.operations import Review
from backend.review.queue_form import from_fields
from backend.workspace import QueueFilter, Workspace
from tests.db.building import Statements, watching
from tests.traced_ui.pages import Page
from traced_ui import queue_panel
from traced_ui.api import Caller, decide, open_pair


def queries(statements: Statements) -> list[str]:
    """Without those of the driver."""
    return [text for text, _ in statements if not text.startswith(("BEGIN", "PRAGMA"))]


def transactions(statements: Statements) -> int:
    return sum(text == "BEGIN IMMEDIATE" for text, _ in statements)


def reading_curators(statements: Statements) -> int:
    texts = (" ".join(text.split()) for text in queries(statements))
    return sum(text.startswith("SELECT") and "FROM curators " in f"{text} " for text in texts)


@pytest.fixture
def scored(generated: Workspace) -> Workspace:
    for name, role in (("Ada", "curator"), ("Ben", "adjudicator")):
        generated.accounts.add(name, "a long password", role)
    return generated


#: Statements before `decide` was changed to write only the verdict: 41 on a page, 47 for one of
#: several curators, 17 through the API.
@pytest.mark.parametrize(
    ("curator", "at_most", "writing"), [(None, 24, 1), ("Ada", 31, 2), ("Ben", 31, 2)]
)
def test_a_verdict_on_the_page_needs_half_of_the_earlier_statements(
    scored: Workspace, curator: str | None, at_most: int, writing: int
) -> None:
    page = Page(scored, curator=curator)
    first = page.pair
    seen = page.seen(first)
    with watching(scored.store.opened) as statements:
        message = page.send("correct", **seen)
    assert f"Saved: {seen['name']}" in message
    assert page.pair != first
    assert len(queries(statements)) <= at_most, "\n".join(queries(statements))
    assert transactions(statements) == writing, "the verdict; for a team the hold on the next pair"
    assert reading_curators(statements) == 0


def test_a_verdict_in_the_background_is_answered_by_few_queries(scored: Workspace) -> None:
    """While several curators do the same: what follows is read once, not once for each part."""
    page, other = Page(scored, curator="Ada"), Page(scored, curator="Ben")
    first, ahead = page.pair, page.post()["ahead"]
    have = {pair: drawn["mark"] for pair, drawn in ahead["drawn"].items()}
    elsewhere = [pair for pair in range(1, 41) if pair not in (*page.state.held, other.pair)]
    scored.review.decide_many([(pair, 0) for pair in elsewhere[:4]], "drop")
    verdict = page.verdict(first, "correct")
    with watching(scored.store.opened) as statements:
        done = page.post(verdict, shown=ahead["order"][0], have=have)
    assert (done["saved"], len(done["ahead"]["drawn"])) == ([first], 1)
    assert sum(text == "BEGIN" for text, _ in statements) == 3, "what follows, pairs, and queue"
    assert transactions(statements) == 2, "the verdict, and the holds on those that follow"
    assert len(queries(statements)) <= 39, "\n".join(queries(statements))
    assert "GROUP BY floor(" in " ".join(queries(statements)), "what is left is estimated"
    for each in (other, page):
        with watching(scored.store.opened) as statements:
            each.post()
        assert "GROUP BY floor(" not in " ".join(queries(statements)), "for all of them at once"


def test_a_verdict_draws_neither_the_form_of_filters_nor_other_rows_again(
    scored: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Page(scored)
    ahead = page.post()["ahead"]
    drawn: list[str] = []
    draw = queue_panel.render

    def watch(name: str, **values: Any) -> Markup:
        drawn.append(name)
        return draw(name, **values)

    transactions_before: list[int] = []
    filter_of = Review.filter_of

    def watch_filter(*arguments: Any) -> QueueFilter:
        transactions_before.append(sum(text == "BEGIN" for text, _ in statements))
        return filter_of(*arguments)

    monkeypatch.setattr(queue_panel, "render", watch)
    monkeypatch.setattr(Review, "filter_of", watch_filter)
    have = {pair: each["mark"] for pair, each in ahead["drawn"].items()}
    verdict = page.verdict(page.pair, "correct")
    with watching(scored.store.opened) as statements:
        page.post(verdict, shown=ahead["order"][0], have=have)
    assert drawn.count("review/queue.html") == 1
    assert "review/filters.html" not in drawn
    assert drawn.count("review/queue_row.html") <= 3, "the pair that is shown now, and new ones"
    assert sum(text == "BEGIN" for text, _ in statements) == 1, "all is read from one snapshot"
    assert transactions_before == [0], "which waits for no model that looks for the queue's pairs"
    assert len(queries(statements)) <= 29, "\n".join(queries(statements))


def test_a_pair_is_read_by_ten_statements_that_are_not_built_again(
    scored: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Building an expression takes longer than its answer: the second pair builds none."""
    scored.review.open_pair(1)
    compared: list[object] = []
    operate = InstrumentedAttribute.operate

    def watch(column: Any, *arguments: Any, **options: Any) -> Any:
        compared.append(column)
        return operate(column, *arguments, **options)

    monkeypatch.setattr(InstrumentedAttribute, "operate", watch)
    with watching(scored.store.opened) as statements:
        scored.review.open_pair(2)
    assert len(queries(statements)) <= 10, "\n".join(queries(statements))
    assert not compared
    # Of filters that no other test of this process has combined.
    fields = {"review": "decided", "suspect_kind": "count", "noted": "yes", "tag": "two"}
    queue = from_fields(1, {**fields, "vague": "yes", "captioned": "yes"})
    scored.review.queue_page(queue)
    assert compared, "a queue that nobody has opened is built"
    compared.clear()
    scored.review.queue_page(queue)
    assert not compared


@pytest.mark.parametrize(
    ("verdict", "corrected", "at_most"), [("drop", "", 6), ("correction", "Another caption.", 7)]
)
def test_a_verdict_through_the_api_needs_one_transaction(
    scored: Workspace, verdict: str, corrected: str, at_most: int
) -> None:
    caller = Caller(scored)
    etag = open_pair(caller, 1).etag
    with watching(scored.store.opened) as statements:
        answer = decide(caller, 1, etag, verdict, corrected)
    assert (answer.id, answer.etag[:2], answer.verdict) == (1, "1-", verdict)
    assert answer.corrected_caption == (corrected or None)
    assert len(queries(statements)) <= at_most, "\n".join(queries(statements))
    assert transactions(statements) == 1


def test_adjudicators_are_queried_only_if_a_dispute_can_be_settled(scored: Workspace) -> None:
    scored.review.decide(1, 0, "correct", author="Ada")
    scored.review.decide(1, 1, "drop", author="Cid")
    with watching(scored.store.opened) as statements:
        scored.review.decide(1, 2, "drop", author="Ben")
    assert reading_curators(statements) == 1
    assert scored.accounts.of_dataset(1).disputed == 0, "settled"
    assert scored.review.open_pair(1).verdict.decision == "drop"
