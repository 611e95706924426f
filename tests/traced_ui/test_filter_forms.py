"""Filters that features add, on the review page: their values, their form and what a queue says of
them; one that fails is named, and the page stays."""

from pathlib import Path
from typing import Any

import pytest

from backend.review import queue_form
from backend.review.added_filters import AddedFilter
from backend.workspace import Workspace
from db.models import Pair
from tests.traced_ui.pages import Page
from traced_ui import queue_panel

_TEMPLATE = (
    '<input type="range" data-filter="{{ filter.name }}" value="{{ value }}">{{ counts|length }}'
)
_HOSTILE = "<img src=x onerror=alert(1)> ${7*6}"


def up_to(number: str) -> Any:
    return Pair.id <= int(number)


@pytest.fixture
def page(workspace: Workspace) -> Page:
    opened = Page(workspace)
    opened.state.is_filtering = True
    return opened


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let a filter take part, as if its feature were there."""

    def add(added: AddedFilter) -> None:
        monkeypatch.setitem(queue_form.ADDED, added.name, added)
        monkeypatch.setattr(queue_form, "KEYS", (*queue_form.KEYS, added.name))
        monkeypatch.setitem(queue_panel._CHIPS, added.name, added.title)
        topics = queue_panel._GROUPS
        monkeypatch.setitem(topics, added.topic, [*topics[added.topic], added.name])

    return add


def test_a_typed_filter_narrows_the_queue_and_says_so(page: Page, added: Any) -> None:
    added(AddedFilter("up_to", "Up to", up_to, words="the pair {}".format))
    page.press("filter", filter={"review": "all", "up_to": "2"})
    assert page.state.filter["up_to"] == "2"
    assert page.shown["queue"].count('data-action="open"') == 2
    assert "Up to: the pair 2" in page.shown["queue"]
    assert 'id="filter-up_to" data-filter="up_to" type="text"' in page.shown["queue"]
    page.press("drop-filter", name="up_to")
    assert not page.state.filter.get("up_to")


def test_its_values_are_counted_and_clicked(page: Page, added: Any) -> None:
    added(AddedFilter("up_to", "Up to", up_to, counts=lambda session, ids: {"1": 1, _HOSTILE: 1}))
    page.press("filter", filter={"review": "all"})
    assert 'data-name="up_to = 1"' in page.shown["queue"]
    assert "<img src=x" not in page.shown["queue"]
    assert "${" not in page.shown["queue"]
    page.press("narrow", name="up_to = 1", how="none")
    assert page.state.filter["where"] == "not up_to = 1"


def test_one_whose_values_no_pair_has_is_left_out_unless_it_is_set(page: Page, added: Any) -> None:
    legend = "<legend>Up to</legend>"
    added(AddedFilter("up_to", "Up to", up_to, ("1", "2"), counts=lambda session, ids: {}))
    page.press("filter", filter={"review": "all"})
    assert legend not in page.shown["queue"]
    page.press("filter", filter={"review": "all", "up_to": "2"})
    assert legend in page.shown["queue"]


def test_it_has_a_form_of_its_own(page: Page, added: Any, tmp_path: Path) -> None:
    (tmp_path / "up_to.html").write_text(_TEMPLATE)
    added(AddedFilter("up_to", "Up to", up_to, template=tmp_path / "up_to.html"))
    page.press("filter", filter={"review": "all", "up_to": "1"})
    assert '<input type="range" data-filter="up_to" value="1">0' in page.shown["queue"]


def test_one_that_fails_is_named_and_the_page_stays(page: Page, added: Any, tmp_path: Path) -> None:
    (tmp_path / "torn.html").write_text("{{ nothing.there }}")
    added(AddedFilter("torn", "Torn <b>", up_to, template=tmp_path / "torn.html"))
    before = page.state.pair
    page.press("filter", filter={"review": "all", "torn": "many"})
    assert "'torn'" in page.shown["toast"].replace("&#39;", "'")
    assert "torn" not in page.state.filter
    page.press("filter", filter={"review": "all"})
    assert "Torn &lt;b&gt;" in page.shown["queue"]
    assert 'data-filter="split"' in page.shown["queue"]
    assert page.state.pair == before


def test_one_that_failed_once_is_shown_as_soon_as_it_works(
    page: Page, added: Any, tmp_path: Path
) -> None:
    form = tmp_path / "mended.html"  # not there yet
    added(AddedFilter("mended", "Mended", up_to, template=form))
    page.state.is_filtering = False
    page.request(redraw=True)
    assert 'data-filter="mended"' not in page.shown["queue"]
    form.write_text(_TEMPLATE)
    page.request(redraw=True)
    assert 'data-filter="mended"' in page.shown["queue"]
