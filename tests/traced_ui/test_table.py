"""The table of many pairs: its columns, and captions that are edited in place."""

import re

from sqlalchemy import update

from backend.review.pair_selection import tag_pairs
from backend.workspace import QueueFilter, Workspace
from db.models import Pair
from db.queries import detection_queries
from db.queries.detection_queries import DetectionRow
from tests.traced_ui.pages import Page
from traced_ui.templates import percent

HOSTILE = "<script>alert(1)</script>"


def test_a_caption_is_corrected_in_place_and_the_edit_is_undone(workspace: Workspace) -> None:
    page = Page(workspace)
    page.press("table")
    assert page.state.grid
    assert page.state.is_table
    assert "data-caption" in page.shown["stage"]
    row = workspace.review.queue_page(QueueFilter(1, "unreviewed"), None, 5).rows[2]
    seen = page.seen(row.pair_id)
    page.press("edit-caption", **seen, text="A new <b>caption</b>")
    view = workspace.review.open_pair(row.pair_id)
    assert (view.verdict.decision, view.verdict.corrected_caption) == (
        "correction",
        "A new <b>caption</b>",
    )
    # A colleague's page still shows the pair as it was: nothing is written.
    refused = page.press("edit-caption", **seen, text="Another <one>")
    assert "warning" in refused
    assert "You wrote: Another &lt;one&gt;" in refused
    assert (
        workspace.review.open_pair(row.pair_id).verdict.corrected_caption == "A new <b>caption</b>"
    )
    page.press("undo")
    assert workspace.review.open_pair(row.pair_id).verdict.decision is None
    page.press("table")
    assert not page.state.grid


def test_columns_of_the_source_and_tags_are_shown_as_text(workspace: Workspace) -> None:
    page = Page(workspace)
    with workspace.store.writing() as session:
        session.execute(update(Pair).values(extra={HOSTILE: HOSTILE}))
    tag_pairs(workspace.store, [page.pair], "to <i>do</i>", "Ada")
    page.press("table")
    html = page.shown["stage"]
    assert HOSTILE not in html
    assert html.count("&lt;script&gt;") >= 2
    assert "to &lt;i&gt;do&lt;/i&gt;" in html


def test_a_column_sorts_the_queue(workspace: Workspace) -> None:
    page = Page(workspace)
    page.press("table")
    page.press("sort", name="icc")
    assert page.state.filter["order"] == "icc"
    assert 'data-cell="icc" aria-sort' in page.shown["stage"]
    page.press("sort", name="nonsense")
    assert page.state.filter["order"] == "icc"


def test_a_chance_is_written_as_everywhere_and_copied_as_a_number(workspace: Workspace) -> None:
    page = Page(workspace)
    with workspace.store.writing() as session:
        detection_queries.save_detections(session, [DetectionRow(page.pair, 0.9754, ())])
    page.press("table")
    cells = re.findall(r'data-cell="p_error"[^>]*>([^<]+)<', page.shown["stage"])
    assert cells == [percent(0.9754)]
    assert 'data-number="0.9754"' in page.shown["stage"]


def test_columns_beyond_the_first_numbers_are_folded_until_they_are_chosen(
    workspace: Workspace,
) -> None:
    page = Page(workspace)
    with workspace.store.writing() as session:
        session.execute(update(Pair).values(extra={"licence": "by"}))
    page.press("table")
    ticks = dict(re.findall(r'data-column="([^"]*)"( checked)?>', page.shown["stage"]))
    assert [name for name in ("p_error", "s_0", "gain", "note") if not ticks[name]] == []
    assert [name for name in ("icc", "support", "specificity") if ticks[name]] == []
    assert ticks["extra:licence"], "what the source says is shown"


def test_a_queue_that_no_column_sorts_shows_no_order_of_a_column(workspace: Workspace) -> None:
    """Nor is another order offered, in which it would not be."""
    page = Page(workspace)
    page.press("table")
    page.press("sort", name="icc")
    assert 'data-action="sort"' in page.shown["stage"]
    page.press("table")
    page.state.found = page.listed[::-1]
    page.press("table")
    assert "aria-sort" not in page.shown["stage"]
    assert 'data-action="sort"' not in page.shown["stage"]
    sort = page.shown["queue"].partition('data-filter="order">')[2].partition("</select>")[0]
    assert re.findall("<option[^>]*>([^<]*)", sort) == ["nearest first"]
