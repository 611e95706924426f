"""The cards of the grid show what they are sorted by."""

from pathlib import Path

import pytest

from backend.workspace import QueueFilter
from research.bench.generated_store import generate
from tests.traced_ui.conftest import workspace_in
from tests.traced_ui.pages import Page
from traced_ui.review_labels import by_order


@pytest.mark.parametrize("order", ["s_0", "gain", "icc", "-s_0"])
def test_each_card_shows_the_value_that_it_is_sorted_by(tmp_path: Path, order: str) -> None:
    workspace = workspace_in(tmp_path)
    generate(workspace.store, 12)
    page = Page(workspace)
    page.press("sort", name=order)
    page.press("grid")
    rows = workspace.review.queue_page(QueueFilter(1), limit=20).rows
    parts = page.shown["stage"].split('data-pick="')[1:]
    cards = {part.partition('"')[0]: part for part in parts}
    assert len(cards) == len(rows)
    for row in rows:
        value = by_order(row, order)
        assert value
        assert f"· {value}" in cards[str(row.pair_id)]
