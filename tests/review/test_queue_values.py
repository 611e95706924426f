"""What the drawer says about a queue is what a plain count says."""

from collections import Counter

import pytest

from backend.review import queue_values
from backend.review.queue_form import from_fields
from backend.review.queue_values import QueueValues, histogram, read_values
from db import Store
from db.measures import filter_names
from db.queries import tag_queries
from db.queries.pair_queries import iterate_pairs
from db.queries.queue_filter import QueueFilter
from tests.db.building import watching
from tests.db.test_queue import reviewed_pairs
from tests.fixtures.sizes import Sizes


def drawer_of(store: Store, filter: QueueFilter) -> QueueValues:
    with store.reading() as session:
        return read_values(session, filter)


@pytest.mark.parametrize("where", ["", "not split = train", "tag = todo or p_error >= 0.5"])
def test_counts_equal_a_plain_count(store: Store, where: str) -> None:
    dataset = reviewed_pairs(store)
    with store.writing() as session:
        ids = [row.id for row in iterate_pairs(session, dataset)]
        tag_queries.add(session, ids[::3], "todo", "Ada")
        signals_rows = list(iterate_pairs(session, dataset))
    filter = from_fields(dataset, {"review": "all", "where": where})
    selection = [
        row for row in signals_rows
        if not where or (row.split != "train" if where.startswith("not") else
                         row.id in ids[::3] or (row.p_error or 0) >= 0.5)
    ]  # fmt: skip
    with watching(store) as statements:
        values = drawer_of(store, filter)
    reading = [statement for statement, _ in statements if "pairs.hidden" in statement]
    assert len(reading) == (4 if where else 2), "pairs of the queue"
    assert (values.pairs, values.is_sample) == (len(selection), False)
    for name in ("decision", "split", "decided_by"):
        counts = Counter(getattr(row, name) for row in selection if getattr(row, name))
        assert Counter(dict(values.words[name])) == counts
    assert dict(values.words["tag"])["todo"] == sum(row.id in ids[::3] for row in selection)
    assert {name for name, _ in values.words["split"]} == {"train", "test"}
    for name in filter_names():
        numbers = [n for row in selection if (n := row.numbers[name]) is not None]
        bars = values.numbers[name]
        assert sum(bar.count for bar in bars) == len(numbers)
        for bar in bars[:-1]:
            assert bar.count == sum(bar.low <= number < bar.high for number in numbers)


def test_a_long_queue_is_described_by_a_random_sample(store: Store, sizes: Sizes) -> None:
    dataset = reviewed_pairs(store)
    sizes(MOST_READ=20)
    values = drawer_of(store, from_fields(dataset, {"review": "all"}))
    assert (values.pairs, values.is_sample) == (20, True)
    assert dict(values.words["captioned"]) == {"yes": 20}


def test_an_empty_queue_has_no_bars(store: Store) -> None:
    dataset = reviewed_pairs(store)
    values = drawer_of(store, from_fields(dataset, {"text": "no such caption"}))
    assert values.pairs == 0
    assert not any(values.numbers.values())
    assert not any(values.words.values())


@pytest.mark.parametrize(
    "values", [[0.5], [0.0], [-3.0, -3.0], [1e-9, 2e-9], [-1e6, 1e6], [0.1, 0.15, 0.3]]
)
def test_every_value_is_in_a_bar(values: list[float]) -> None:
    bars = histogram(values)
    assert sum(bar.count for bar in bars) == len(values)
    assert 1 <= len(bars) <= queue_values.BARS + 1
    assert bars[0].low <= min(values) <= max(values) <= bars[-1].high
    assert len({bar.range for bar in bars}) == len(bars)
