"""Filters of queues that features and packages add: one that fails says so, and the rest works."""

from collections.abc import Sequence
from importlib.metadata import EntryPoint
from typing import Any, cast

import pytest
from sqlalchemy import literal_column, text
from sqlalchemy.orm import Session

from backend import plugins
from backend.errors import SettingsError
from backend.review import queue_form, queue_values
from backend.review.added_filters import AddedFilter, load_filters
from backend.review.queue import Queue
from backend.settings import load_settings
from backend.store import Store as OpenStore
from db import Store
from db.models import Pair
from db.queries.queue_filter import QueueFilter
from db.queries.queue_queries import page
from tests.db.building import add_dataset


def ends_with(digit: str) -> Any:
    if len(digit) > 1:
        raise LookupError(f"no digit {digit}")
    return Pair.caption.endswith(digit)


def fail(*arguments: object) -> Any:
    raise LookupError("no such list")


GOOD = AddedFilter("last", "Ends with", ends_with, words="“{}”".format)


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> dict[str, AddedFilter]:
    """The filters that there are; a test adds its own."""
    for name in ("last", "torn"):
        monkeypatch.setitem(queue_form.ADDED, name, GOOD)
        del queue_form.ADDED[name]  # what the test adds goes with it
    monkeypatch.setattr(queue_form, "KEYS", (*queue_form.KEYS, "last", "torn"))
    return queue_form.ADDED


def loaded(
    monkeypatch: pytest.MonkeyPatch, filters: Sequence[object], taken: Sequence[str] = ()
) -> tuple[dict[str, AddedFilter], dict[str, str]]:
    """Those that take part, and what is wrong with the others, of objects at these places."""
    monkeypatch.setattr(plugins, "_LOADED", {})
    entries = [EntryPoint(f"f{n}", f"{n}", "traced_curator.filters") for n in range(len(filters))]
    monkeypatch.setattr(plugins, "_of_features", lambda: tuple(entries))
    monkeypatch.setattr(EntryPoint, "load", lambda self: filters[int(self.value)])
    there = load_filters(taken)
    return there, {p.name: p.problem for p in plugins._LOADED["filters"] if p.problem}


def test_two_filters_of_one_name_and_words_that_are_taken_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    twin = AddedFilter("last", "Another", ends_with)
    there, problems = loaded(
        monkeypatch, [GOOD, twin, AddedFilter("split", "", ends_with), 7], ("split",)
    )
    assert there == {"last": GOOD}
    assert set(problems) == {"f1", "f2", "f3"}
    assert "'last'" in problems["f1"]
    assert "'split'" in problems["f2"]


@pytest.mark.parametrize("name", ["", "Split", "a b", "a=b", "größe", "1st"])
def test_a_name_is_a_word_of_an_address(name: str) -> None:
    with pytest.raises(ValueError, match="address"):
        AddedFilter(name, "", ends_with)


def test_every_word_of_an_address_is_taken() -> None:
    for word in ("split", "p_error", "p_error_from", "where", "dataset", "pair", "grid"):
        assert word in queue_form.TAKEN


def test_a_filter_selects_alone_and_in_groups(store: Store, added: dict[str, AddedFilter]) -> None:
    added["last"] = GOOD
    dataset, _ = add_dataset(store, 12)
    for query, count in (
        ("last=1", 2), ("last=0", 2), ("last=9", 1), ("where=not last = 1", 10),
        ("where=last = 9 or external_id = photo-8", 2), ("last=1&external_id=11", 1), ("", 12),
    ):  # fmt: skip
        filter = queue_form.from_fields(dataset, queue_form.from_text(query))
        for _ in range(2):  # built, and built before
            with store.reading() as session:
                assert len(page(session, filter).rows) == count, query
    fields = queue_form.from_text("last=1&split=val")
    assert queue_form.from_text(queue_form.as_query(fields)) == fields


@pytest.mark.parametrize(
    ("condition", "named"),
    [
        (fail, "LookupError"),
        (lambda _: None, "NoneType"),
        (lambda _: text("1"), "TextClause"),
    ],
)
def test_one_that_fails_is_named_where_it_is_used_and_only_there(
    store: Store, added: dict[str, AddedFilter], condition: Any, named: str
) -> None:
    dataset, _ = add_dataset(store, 1)
    added["torn"] = AddedFilter("torn", "", condition, counts=fail, words=fail)
    for query in ("torn=yes", "where=torn = yes"):
        with pytest.raises(SettingsError, match=f"'torn'.*{named}"):
            queue_form.from_fields(dataset, queue_form.from_text(query))
    assert added["torn"].in_words("yes") == "yes"
    with store.reading() as session:
        values = queue_values.read_values(session, QueueFilter(dataset))
    assert values.words["torn"] == ()
    assert values.words["noted"] == (("no", 1),)


def test_a_value_that_means_nothing_in_a_dataset_is_refused_there_and_in_groups(
    store: Store, added: dict[str, AddedFilter]
) -> None:
    dataset, _ = add_dataset(store, 1)

    def check(session: Session, dataset_id: int, value: str) -> None:
        if value == "old":
            raise SettingsError("It is outdated.")
        if value == "torn":
            fail(value)

    added["torn"] = AddedFilter("torn", "torn ones", lambda _: Pair.id > 0, check=check)
    opened = OpenStore(store)
    queue_form.check_added(opened, dataset, {"torn": "new", "split": "val"})
    for value, named in (("old", "outdated"), ("torn", "'torn'")):
        with pytest.raises(SettingsError, match=named):
            queue_form.check_added(opened, dataset, {"torn": value})
    queue = Queue(opened, cast(Any, None), load_settings({}, {}))
    queue.filter_of(dataset, {"where": "torn = new or noted = yes"})
    with pytest.raises(SettingsError, match="outdated"):
        queue.filter_of(dataset, {"where": "torn = new or torn = old"})


def test_an_unknown_filter_and_an_unknown_value_are_named(added: dict[str, AddedFilter]) -> None:
    added["last"] = GOOD
    with pytest.raises(SettingsError, match="'gone'"):
        queue_form.from_text("gone=yes")
    with pytest.raises(SettingsError, match=r"'last'.*LookupError"):
        queue_form.from_fields(1, queue_form.from_text("last=10"))


def test_the_same_value_is_the_same_filter(added: dict[str, AddedFilter]) -> None:
    """Statements are built once for equal filters."""
    added["last"] = AddedFilter("last", "", lambda value: literal_column("1") == 1)
    fields = queue_form.from_text("last=1")
    assert queue_form.from_fields(1, fields) == queue_form.from_fields(1, fields)
    assert hash(queue_form.from_fields(1, fields)) == hash(queue_form.from_fields(1, fields))
    assert queue_form.from_fields(1, fields) != queue_form.from_fields(1, {**fields, "last": "2"})
