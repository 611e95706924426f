"""Pairs drawn at random are mixed into the queue, and tell how many errors remain."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backend.engine.statistics.stopping import ENOUGH
from backend.review.charts import progress_of
from backend.review.queue import LEAST_MIXED, MIXED_EVERY
from backend.workspace import QueueFilter, Workspace
from db.queries import pair_queries, verdict_acts
from research.bench.generated_store import generate
from tests.traced_ui.conftest import workspace_in
from tests.traced_ui.pages import Page
from traced_ui import api

PAIRS = LEAST_MIXED + 50


@pytest.fixture(scope="module")
def generated_pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("generated")
    opened = workspace_in(folder)
    generate(opened.store, PAIRS)
    opened.store.close()
    return folder / "state"


@pytest.fixture
def workspace(generated_pairs: Path, tmp_path: Path) -> Iterator[Workspace]:
    shutil.copytree(generated_pairs, tmp_path / "state")
    opened = workspace_in(tmp_path)
    yield opened
    opened.store.close()


def order_of(workspace: Workspace, order: str) -> list[int]:
    filter = QueueFilter(1, "unreviewed", order=order, descending=order == "p_error")
    return [row.pair_id for row in workspace.review.queue_page(filter, limit=PAIRS).rows]


def go_on(page: Page, drawn: dict[str, Any]) -> int:
    """Decide the pair and show the first of those prefetched, as the browser does. `drawn`: what it
    has prefetched."""
    ready = page.post(have={pair: parts["mark"] for pair, parts in drawn.items()})["ahead"]
    after = ready["order"][0]
    drawn |= ready["drawn"]
    page.post(page.verdict(page.pair, "correct"), redraw=False)
    page.state.visited.append(page.pair)
    if drawn[str(after)]["sampled"]:
        page.state.sampled.append(after)
        assert "random check" in drawn[str(after)]["stage"]
    page.state.pair = after
    return after


def test_one_pair_in_ten_is_the_next_of_the_random_order(workspace: Workspace) -> None:
    page = Page(workspace)
    ranked, drawn = order_of(workspace, "p_error"), order_of(workspace, "random")
    prefetched: dict[str, Any] = {}
    shown = [page.pair, *(go_on(page, prefetched) for _ in range(3 * MIXED_EVERY))]
    sampled = page.state.sampled
    assert len(sampled) >= 2
    assert len(shown) == len(set(shown))
    # Without them the queue is the ranking; and they are the head of the random order.
    by_rank = [pair for pair in ranked if pair not in sampled]
    assert [pair for pair in shown if pair not in sampled] == by_rank[: len(shown) - len(sampled)]
    undecided = [pair for pair in drawn if pair not in shown]
    assert drawn.index(undecided[0]) > drawn.index(sampled[-2])
    # Each follows the pair of the queue that asks for it, and a redraw still says what it is.
    for pair in sampled:
        assert shown[shown.index(pair) - 1] % MIXED_EVERY == 0
    # What a verdict teaches depends on how its pair was chosen.
    with workspace.store.reading() as session:
        decided = pair_queries.pairs_of(session, shown[:-1])
    ways = {row.id: row.sampling for row in decided}
    assert ways == {pair: "random" if pair in sampled else "queue" for pair in shown[:-1]}
    while page.pair not in sampled:
        page.press("previous")
    assert "random check" in page.shown["stage"]


def test_a_random_check_that_was_passed_by_does_not_come_again(workspace: Workspace) -> None:
    page = Page(workspace)
    prefetched: dict[str, Any] = {}
    while not page.state.sampled:
        go_on(page, prefetched)
    (passed,) = page.state.sampled
    page.press("next")  # without a verdict
    for _ in range(2 * MIXED_EVERY):
        assert go_on(page, prefetched) != passed
    assert len(page.state.sampled) > 1


@pytest.mark.parametrize(
    ("queue", "way"),
    [
        ({"order": "random"}, "random"),
        ({"order": "uncertainty"}, "queue"),
        ({"p_error_from": "0.0001"}, "filter"),
        ({"review": "all"}, "filter"),
    ],
)
def test_a_verdict_records_how_its_queue_chose_the_pair(
    workspace: Workspace, queue: dict[str, str], way: str
) -> None:
    page = Page(workspace, **queue)
    pair = page.pair
    page.post(page.verdict(pair, "correct"))
    with workspace.store.reading() as session:
        assert pair_queries.get_pair(session, pair).sampling == way
        assert verdict_acts.history(session, pair)[-1].sampling == way
    workspace.review.undo(1)
    workspace.review.redo(1)
    with workspace.store.reading() as session:
        assert pair_queries.get_pair(session, pair).sampling == way


def test_a_program_has_them_mixed_into_a_page_on_request(workspace: Workspace) -> None:
    caller = api.Caller(workspace)
    plain, mixed = (api.queue(caller, 1, limit=40, mixed=is_mixed).pairs
                    for is_mixed in (False, True))  # fmt: skip
    assert {row.sampling for row in plain} == {"queue"}
    sampled = [row.id for row in mixed if row.sampling == "random"]
    listed = {row.id for row in plain}
    others = [pair for pair in order_of(workspace, "random") if pair not in listed]
    assert sampled == others[: len(sampled)]
    assert 0 < len(sampled) == len(mixed) - len(plain)
    assert [row.id for row in mixed if row.sampling == "queue"] == [row.id for row in plain]


def test_they_are_left_out_on_request_in_other_queues_and_in_small_datasets(
    workspace: Workspace, tmp_path: Path
) -> None:
    asking = next(pair for pair in order_of(workspace, "p_error") if pair % MIXED_EVERY == 0)

    def is_mixed(page: Page) -> bool:
        page.send("open", target=asking)
        drawn = page.request(redraw=True)["ahead"]["drawn"].values()
        is_drawn = any(parts["sampled"] for parts in drawn)
        tip = re.search(r'class="hint left" title="([^"]*)"', page.shown["queue"])
        assert tip is not None
        assert (str(MIXED_EVERY) in tip[1]) == is_drawn, "the tip says what happens"
        return is_drawn

    page = Page(workspace)
    assert is_mixed(page)
    page.state.is_mixed = False
    assert not is_mixed(page)
    assert "data-mixed>" in page.shown["queue"], "the box is not checked"
    assert not is_mixed(Page(workspace, order="random"))
    assert not is_mixed(Page(workspace, p_error_from="0.0001"))
    assert not is_mixed(Page(workspace, review="all"))
    small = workspace_in(tmp_path / "small")
    generate(small.store, LEAST_MIXED - 1)
    asking = next(pair for pair in order_of(small, "p_error") if pair % MIXED_EVERY == 0)
    assert not is_mixed(Page(small))
    small.store.close()


def test_the_bar_says_what_is_expected_and_then_what_is_estimated(workspace: Workspace) -> None:
    page = Page(workspace)
    filter = QueueFilter(1, "unreviewed")
    chances = [row.p_error or 0 for row in workspace.review.queue_page(filter, limit=PAIRS).rows]
    first = progress_of(workspace.store, 1).left
    assert first.trusts_the_model
    assert first.errors == pytest.approx(sum(chances))
    assert first.in_words() in page.shown["queue"]
    sample = [(pair, 0) for pair in order_of(workspace, "random")[: 2 * ENOUGH]]
    workspace.review.decide_many(sample[::4], "drop")
    workspace.review.decide_many(sorted({*sample} - {*sample[::4]}), "correct")
    page.request(redraw=True)
    left = progress_of(workspace.store, 1).left
    assert left.estimate is not None
    # A quarter of the sample is wrong, as of the others.
    assert 0.5 < left.estimate.errors / (PAIRS / 4) < 1.2
    assert left.in_words() in page.shown["queue"]
    # The last ones are decided: nothing is left to estimate.
    workspace.review.decide_many([(pair, 0) for pair in order_of(workspace, "random")], "correct")
    page.request(redraw=True)
    assert 'class="hint left"' not in page.shown["queue"]
