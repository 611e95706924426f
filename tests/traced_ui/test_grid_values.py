"""The cards of the grid show what they are sorted by."""

import pytest

from backend.workspace import QueueFilter, Workspace
from tests.traced_ui.pages import Page
from traced_ui.review_labels import by_order


@pytest.mark.parametrize("order", ["s_0", "gain", "icc", "-s_0"])
def test_each_card_shows_the_value_that_it_is_sorted_by(generated: Workspace, order: str) -> None:
    page = Page(generated)
    page.press("sort", name=order)
    page.press("grid")
    every = generated.review.queue_page(QueueFilter(1), limit=40).rows
    rows = {row.pair_id: row for row in every}
    cards = page.shown["stage"].split('data-pick="')[1:]
    assert cards
    for card in cards:
        value = by_order(rows[int(card.partition('"')[0])], order)
        assert value
        assert f"· {value}" in card
