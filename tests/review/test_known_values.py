"""Splits and curators that the dataset does not have are refused by name in a queue."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from backend.errors import SettingsError
from backend.review.caption_edits import change_each, edit_captions
from backend.review.queue_form import from_text
from backend.workspace import Workspace
from tests.datasets.folders import dogs
from tests.db.building import Statements, plans, watching
from tests.traced_ui.conftest import workspace_in
from tests.traced_ui.pages import Page
from traced_ui.api import Caller, queue

SPLITS = ["train", "test", "train", None, "test", "train"]


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """Two datasets, pairs and plain. In the first Ada has decided one pair and edited another, and
    a rule has dropped a third."""
    opened = workspace_in(tmp_path)
    opened.jobs.import_dataset(dogs(tmp_path / "pairs", 6, SPLITS))
    opened.jobs.import_dataset(dogs(tmp_path / "plain", 6))
    opened.review.decide(1, 0, "correct", author="Ada")
    opened.review.decide(2, 0, "drop", author="rule: gain over 0.2")
    last = opened.review.filter_of(1, from_text("external_id=p5"))
    edit_captions(opened.store, last, change_each("{} !".format), "Ada")
    yield opened
    opened.store.close()


def ids_of(workspace: Workspace, dataset_id: int, query: str) -> list[int]:
    filter = workspace.review.filter_of(dataset_id, from_text(query))
    return [row.pair_id for row in workspace.review.queue_page(filter).rows]


@pytest.mark.parametrize(
    ("dataset_id", "query", "message"),
    [
        (1, "split=tset", r"^There is no split 'tset'\. There are: test, train\. Did you mean "
                          r"'test'\?$"),
        (1, "split=x", r"^There is no split 'x'\. There are: test, train\.$"),
        (2, "split=train", "^There is no split 'train': the dataset has no splits.$"),
        (1, "decided_by=Adda", r"^There is no verdict by 'Adda'\. There are verdicts by: Ada, "
                               r"rule: gain over 0\.2\. Did you mean 'Ada'\?$"),
        (1, "decided_by=rule: edit by Ada", "There is no verdict by 'rule: edit by Ada'"),
    ],
)  # fmt: skip
def test_a_value_that_the_dataset_does_not_have_is_refused(
    workspace: Workspace, dataset_id: int, query: str, message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        workspace.review.filter_of(dataset_id, from_text(query))


def test_existing_values_filter_the_queue(workspace: Workspace) -> None:
    assert ids_of(workspace, 1, "split=test&review=all&order=position") == [2, 5]
    assert ids_of(workspace, 1, "decided_by=Ada&review=decided") == [1]
    assert ids_of(workspace, 1, "decided_by=rule: gain over 0.2&review=decided") == [2]
    assert ids_of(workspace, 2, "decided_by=Ada&review=decided") == [], "she has decided elsewhere"
    workspace.review.undo(1, "Ada")  # the edit
    workspace.review.undo(1, "Ada")
    assert ids_of(workspace, 1, "decided_by=Ada&review=decided") == [], "she has decided before"


def test_checking_values_only_searches_an_index(workspace: Workspace) -> None:
    """Not a scan of a million pairs at each keystroke: one row of an index, then distinct names."""
    store = workspace.store.opened
    with watching(store) as statements:
        workspace.review.filter_of(1, {"review": "all"})
    assert not statements_read(statements)
    with watching(store) as statements:
        workspace.review.filter_of(1, {"split": "test", "decided_by": "Ada"})
        for fields in ({"split": "tset"}, {"decided_by": "Nobdy"}):
            with pytest.raises(SettingsError):
                workspace.review.filter_of(1, fields)
    steps = plans(store, statements_read(statements), "")
    assert len(steps) > 2
    for step in steps:
        assert step.startswith("SEARCH"), step
        assert "COVERING INDEX" in step, step
        assert "B-TREE" not in step, step


def statements_read(statements: Statements) -> Statements:
    return [(text, given) for text, given in statements if text.startswith("SELECT")]


@pytest.mark.parametrize("query", ["split=tset", "decided_by=Nobdy"])
def test_every_interface_refuses_unknown_values(workspace: Workspace, query: str) -> None:
    message = "There is no (split 'tset'|verdict by 'Nobdy')"
    with pytest.raises(SettingsError, match=message):
        workspace.review.select_pairs(1, queue=query)
    with pytest.raises(SettingsError, match=message):
        queue(Caller(workspace), 1, filters=query)


def test_the_filters_of_one_dataset_are_dropped_where_another_lacks_the_value(
    workspace: Workspace,
) -> None:
    page = Page(workspace)
    page.press("filter", filter={"split": "test"})
    message = page.send("dataset", dataset=2)
    assert "There is no split &#39;test&#39;: the dataset has no splits" in message
    assert "filters were cleared" in message
    assert page.state.filter == {"review": "unreviewed", "order": "p_error"}
    assert workspace.review.open_pair(page.pair).dataset_id == 2
    assert "A dog" in page.shown["stage"]


def test_an_address_names_its_dataset(workspace: Workspace) -> None:
    page = Page(workspace, 2, dataset="1", split="test")
    assert page.shown["toast"] == ""
    assert page.state.filter["split"] == "test"
    assert workspace.review.open_pair(page.pair).dataset_id == 1
    deleted = Page(workspace, 2, dataset="99", split="test")
    assert "was ignored" in deleted.shown["toast"]


def test_saved_views_with_unknown_values_do_not_affect_others(workspace: Workspace) -> None:
    """A view with existing values opens; one with unknown values reports them, and that is all."""
    workspace.review.save_view(1, "the tests", {"split": "test"})
    workspace.review.save_view(1, "by Eve", {"decided_by": "Eve"})
    page = Page(workspace)
    assert "by Eve" in page.shown["queue"]
    page.press("view", name="the tests")
    assert page.state.filter["split"] == "test"
    assert "There is no verdict by &#39;Eve&#39;" in page.press("view", name="by Eve")
    assert page.state.filter["split"] == "test", "the queue stays as it was"
    page.press("grid")
    assert "by Eve" in page.shown["queue"]
    with pytest.raises(SettingsError, match="no verdict by 'Eve'"):
        workspace.review.select_pairs(1, view="by Eve")
    page.press("delete-view", name="by Eve")
    assert "by Eve" not in page.shown["queue"]
