"""The queue: the right pairs, in the right order, each exactly once, read from an index."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import groupby, product
from typing import Any

import numpy as np
import pytest

from db import Store
from db.decisions import ORDERS
from db.errors import MissingRow, UnstorableText
from db.measures import MEASURES, Measure, filter_names
from db.queries import (
    dataset_queries,
    measure_queries,
    pair_queries,
    queue_filter,
    queue_queries,
    ranking_queries,
    signal_queries,
    tag_queries,
    trajectory_queries,
)
from db.queries.pair_queries import NewPair, PairRow
from db.queries.queue_filter import Cursor, Group, QueueFilter, QueueRow, Range
from db.queries.statements import set_columns
from db.queries.trajectory_queries import TrajectoryRow
from tests.db.building import (
    add_dataset,
    add_pairs,
    decide,
    in_queue,
    plans,
    set_probabilities,
    start_run,
    watching,
)  # fmt: skip

SIZE = 36
#: A column of the source: numbers, text, JSON's null, and pairs without it.
WIDTHS = (None, 3, 20, 3.5, "wide", None, 20)
#: Orders whose text a database sorts by its own collation.
TEXT_ORDERS = ("picture", "external_id", "caption", "split", "decision", "note", "tag")


#: A measure without a column of its own, as plug-ins have.
LENGTH = Measure(name="length", title="Length", explanation="How long it is.", order="longest")


@pytest.fixture(scope="module")
def dataset_id(module_store: Store) -> Iterator[int]:
    MEASURES["length"] = LENGTH
    yield reviewed_pairs(module_store)
    del MEASURES["length"]


#: Orders in which an index has the pairs.
WITH_INDEX = (*queue_queries.WITH_INDEX, *filter_names())


def orders() -> list[str]:
    return [*filter_names(), *ORDERS, "extra:width"]


def reviewed_pairs(store: Store) -> int:
    """Pairs with many equal and many unknown values, some decided, in two splits; and a second
    dataset that must never appear."""
    choose = random.Random(5)
    captions, splits = ["A red DOG runs", "a cat", "50% off_", "ein Hund"], ["train", "test", None]
    dataset, ids = add_pairs(
        store,
        "photos",
        [
            NewPair(
                f"photo-{i}",
                f"{i}.jpg",
                choose.choice(captions),
                choose.choice(splits),
                extra={"width": WIDTHS[i % 7]} if i % 7 else {},
            )
            for i in range(SIZE)
        ],
    )
    run_id = start_run(store, dataset)

    def some(share: float = 0.7) -> list[int]:
        return [i for i in ids if choose.random() < share]

    def scored(pair_id: int) -> TrajectoryRow:
        scores = [choose.choice([0.25, 0.5]), choose.choice([0.5, 0.75])]
        similarities, first_steps = np.array([1, 0], np.float32), np.array([0.5], np.float32)
        return TrajectoryRow(
            pair_id, np.array(scores, np.float32), similarities, (0,), first_steps,
            choose.random() < 0.3,
        )  # fmt: skip

    set_probabilities(store, ids, [choose.choice([None, 0.25, 0.5, 0.5, 0.75, 1.0]) for _ in ids])
    with store.writing() as session:
        trajectory_queries.save_trajectories(session, run_id, [scored(i) for i in some(0.8)])
        signal_queries.save_icc(session, {i: choose.choice([0.1, 0.4, 0.9]) for i in some()})
        signal_queries.save_disagreement(session, {i: choose.choice([0.1, 0.5]) for i in some()})
        lows = {i: choose.choice([-1.5, 0.0, 0.5]) for i in some()}
        set_columns(session, {i: {"support": low, "weakest": low - 1} for i, low in lows.items()})
        set_columns(session, {i: {"specificity": choose.choice([-2.0, -0.5])} for i in some()})
        for measure in MEASURES.values():
            if measure.operation == "measure":
                values = {i: choose.choice([0.2, 0.7]) for i in some()}
                measure_queries.save_numbers(session, dataset, measure.name, values)
    for i in some(0.4):
        note = choose.choice(["", "blurred", "see above"])
        decide(store, i, choose.choice(["correct", "drop", "unsure"]), note=note)
    with store.writing() as session:
        tag_queries.add(session, ids[::3], "night", "Ada")
        tag_queries.add(session, ids[::4], "blurred", "Ada")
    _, others = add_dataset(store, 10, "others")
    set_probabilities(store, others, [0.5] * 10)
    return dataset


def all_pairs(store: Store, dataset_id: int) -> list[PairRow]:
    with store.reading() as session:
        return list(pair_queries.iterate_pairs(session, dataset_id))


def walk(store: Store, filter: QueueFilter, limit: int) -> list[QueueRow]:
    """The rows of all pages in order."""
    rows: list[QueueRow] = []
    cursor: Cursor | None = None
    while True:
        with store.reading() as session:
            page = queue_queries.page(session, filter, cursor, limit)
        rows += page.rows
        assert len(page.rows) <= limit
        if page.next_cursor is None:
            return rows
        assert len(page.rows) == limit
        cursor = page.next_cursor


def sort_values(store: Store, rows: list[QueueRow], order: str) -> list[Any]:
    ids = [row.pair_id for row in rows]
    with store.reading() as session:
        tags, extras = tag_queries.of_pairs(session, ids), pair_queries.extras_of(session, ids)

    def value(row: QueueRow) -> Any:
        match order:
            case "position":
                return row.pair_id
            case "uncertainty":
                return None if row.p_error is None else abs(row.p_error - 0.5)
            case "picture":
                return row.image_path
            case "random":
                return row.random_key
            case "tag":
                return min(tags.get(row.pair_id, ()), default=None)
            case "extra:width":
                return extras[row.pair_id].get("width")
            case "note":
                return row.note or None
        return row.numbers[order] if order in MEASURES else getattr(row, order)

    return [value(row) for row in rows]


def type_of_cell(value: Any) -> bool:
    return isinstance(value, str)


def is_sorted(values: list[Any], order: str, descending: bool) -> bool:
    if order in TEXT_ORDERS:  # each value once; how they are compared is the database's affair
        return len(list(groupby(values))) == len(set(values))
    if order == "extra:width":  # databases differ in what comes first, numbers or text
        kinds = [list(group) for _, group in groupby(values, type_of_cell)]
        return len(kinds) == 2 and all(is_sorted(kind, "", descending) for kind in kinds)
    # The most uncertain come first, in whichever direction.
    return values == sorted(values, reverse=descending and order != "uncertainty")


def test_pages_are_complete_sorted_and_without_duplicates(
    module_store: Store, dataset_id: int
) -> None:
    for order, descending in product(orders(), (True, False)):
        filter = QueueFilter(dataset_id, order=order, descending=descending)
        walked = walk(module_store, filter, 3)
        assert sorted(row.pair_id for row in walked) == [
            p.id for p in all_pairs(module_store, dataset_id)
        ]
        values = sort_values(module_store, walked, order)
        cells = [value for value in values if value is not None]
        assert is_sorted(cells, order, descending), (order, cells)
        assert values[len(cells) :] == [None] * (SIZE - len(cells)), "unknown values come last"
        if order == "caption":
            assert len(set(cells)) < SIZE, "the test needs ties"
        elif order not in ("position", "random", "picture", "external_id"):
            assert 0 < len(set(cells)) < len(cells) < SIZE, "the test needs ties and unknown values"
        assert walk(module_store, filter, SIZE) == walked


def test_next_and_previous_agree_with_the_pages(module_store: Store, dataset_id: int) -> None:
    for order, descending in product(orders(), (True, False)):
        filter = QueueFilter(dataset_id, review="unreviewed", order=order, descending=descending)
        ids = [row.pair_id for row in walk(module_store, filter, 1000)]
        with module_store.reading() as session:
            assert queue_queries.first_pair(session, filter) == ids[0]
            assert [queue_queries.next_pair(session, filter, i) for i in ids] == [*ids[1:], None]
            before = [None, *ids[:-1]]
            previous = [queue_queries.previous_pair(session, filter, i) for i in ids[::3]]
            assert previous == before[::3]


#: Criteria, and which pairs meet them.
Filter = tuple[dict[str, Any], Callable[[PairRow], bool]]
FILTERS: list[Filter] = [
    ({}, lambda p: True),
    ({"review": "unreviewed"}, lambda p: p.decision is None),
    ({"review": "decided"}, lambda p: p.decision is not None),
    ({"decision": "drop"}, lambda p: p.decision == "drop"),
    ({"split": "test"}, lambda p: p.split == "test"),
    ({"ranges": (Range("p_error", 0.5),)}, lambda p: (p.p_error or 0) >= 0.5),
    ({"ranges": (Range("p_error", 0.25, 0.5),)}, lambda p: 0.25 <= (p.p_error or 0) <= 0.5),
    ({"text": " dog "}, lambda p: "dog" in p.caption.lower()),
    (
        {"text": "dog", "review": "decided"},
        lambda p: "dog" in p.caption.lower() and p.decision is not None,
    ),
    (
        {"text": "dog", "split": "test"},
        lambda p: "dog" in p.caption.lower() and p.split == "test",
    ),
    ({"text": "%"}, lambda p: "%" in p.caption),
    ({"text": "ff_"}, lambda p: "ff_" in p.caption),
    ({"text": "  "}, lambda p: True),
    ({"text": "zebra"}, lambda p: False),
    (
        {"ranges": (Range("icc", None, 0.4), Range("s_0", 0.3, None))},
        lambda p: (1 if p.icc is None else p.icc) <= 0.4 and (p.s_0 or 0) >= 0.3,
    ),
    ({"decided_by": "Ada"}, lambda p: p.decided_by == "Ada"),
    ({"decided_by": "Eve"}, lambda p: False),
    ({"truncated": True}, lambda p: p.truncated),
    (
        {"review": "unreviewed", "split": "train", "ranges": (Range("p_error", 0.5),), "text": "a"},
        lambda p: (
            (p.decision, p.split) == (None, "train")
            and (p.p_error or 0) >= 0.5
            and "a" in p.caption.lower()
        ),
    ),
]


def test_a_filter_returns_exactly_the_matching_pairs(module_store: Store, dataset_id: int) -> None:
    every = all_pairs(module_store, dataset_id)
    orders = ("p_error", "s_0", "position", "uncertainty", "random")
    long: Filter = ({"ranges": (Range("length", 5.0),)}, lambda p: (p.numbers["length"] or 0) >= 5)
    for criteria, keeps in (*FILTERS, long):
        expected = [pair.id for pair in every if keeps(pair)]
        for order in orders:
            query = QueueFilter(dataset_id, order=order, **criteria)
            walked = [row.pair_id for row in walk(module_store, query, 20)]
            assert sorted(walked) == expected, criteria
        with module_store.reading() as session:
            filter = QueueFilter(dataset_id, **criteria)
            for most in (None, 1, 3, SIZE):
                counted = min(len(expected), SIZE if most is None else most)
                assert queue_queries.count(session, filter, most) == counted


def test_no_pair_is_missed_or_repeated_while_pairs_are_decided(store: Store) -> None:
    filter = QueueFilter(reviewed_pairs(store), review="unreviewed")
    expected = [row.pair_id for row in walk(store, filter, 1000)]
    seen: list[int] = []
    cursor: Cursor | None = None
    while True:
        with store.reading() as session:
            page = queue_queries.page(session, filter, cursor, 4)
        seen += [row.pair_id for row in page.rows]
        # The curator decides all but the first of the page, so that its last row, which the
        # cursor names, is no longer in the queue.
        for row in page.rows[1:]:
            decide(store, row.pair_id, "correct", "Ben", version=row.verdict_version)
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == expected


def test_the_next_pair_follows_one_that_was_just_decided(store: Store) -> None:
    filter = QueueFilter(reviewed_pairs(store), review="unreviewed")
    ids = [row.pair_id for row in walk(store, filter, 1000)]
    decide(store, ids[3])
    with store.reading() as session:
        assert queue_queries.next_pair(session, filter, ids[3]) == ids[4]
        assert queue_queries.previous_pair(session, filter, ids[3]) == ids[2]
        assert queue_queries.next_pair(session, filter, ids[2]) == ids[4]


def test_an_empty_queue_has_an_empty_page(store: Store) -> None:
    (dataset_id, _), (_, (elsewhere,)) = add_dataset(store, 0), add_dataset(store, 1, "elsewhere")
    filter = QueueFilter(dataset_id)
    with store.reading() as session:
        assert queue_queries.page(session, filter) == queue_filter.QueuePage((), None)
        assert queue_queries.first_pair(session, filter) is None
        assert queue_queries.count(session, filter) == 0
        with pytest.raises(MissingRow):
            queue_queries.next_pair(session, filter, elsewhere)


def test_an_invalid_filter_is_refused(store: Store) -> None:
    wrong: list[dict[str, Any]] = [
        {"order": "id; DROP TABLE pairs"}, {"review": "some"}, {"decision": "incorrect"},
    ]  # fmt: skip
    for criteria in wrong:
        with pytest.raises(ValueError, match=r"must be one of|not a decision"):
            QueueFilter(1, **criteria)
    for field, bad in product(("text", "external_id"), ("a\x00b", "\x00", "a dog \ud800")):
        with pytest.raises(UnstorableText, match="to search for holds"):
            in_queue(store, 1, **{field: bad})


#: An index for each of the two columns of the probability of error.
BY_RANKING = ("p_error", "unreviewed", "decided", "split", "suspect_word", "suspect_kind")


@pytest.mark.parametrize(
    ("criteria", "index"),
    [
        ({}, "p_error"),
        ({"descending": False}, "p_error"),
        ({"ranges": (Range("p_error", 0.5),)}, "p_error"),
        ({"review": "unreviewed"}, "unreviewed"),
        ({"decision": "drop", "review": "decided"}, "decided"),
        ({"split": "train"}, "split"),
        ({"suspect_word": "dog"}, "suspect_word"),
        ({"suspect_kind": "noun"}, "suspect_kind"),
        ({"order": "s_0", "descending": False}, "s_0"),
        ({"order": "s_0"}, "s_0"),
        ({"order": "gain"}, "gain"),
        ({"order": "icc", "descending": False}, "icc"),
        ({"order": "position", "descending": False}, "position"),
        ({"order": "random", "descending": False}, "random_key"),
        ({"order": "split", "descending": False}, "by_split"),
        ({"order": "split"}, "by_split"),
    ],
)
def test_every_page_is_a_range_of_an_index_and_is_never_sorted(
    sqlite_store: Store, criteria: dict[str, Any], index: str
) -> None:
    dataset_id, _ = add_dataset(sqlite_store, 0)
    filter = QueueFilter(dataset_id, **criteria)
    for column in ("", "_odd"):
        for after in (None, Cursor(0.5, 7), Cursor(None, 7)):
            with watching(sqlite_store) as statements, sqlite_store.reading() as session:
                queue_queries.page(session, filter, after)
            steps = plans(sqlite_store, statements)
            assert all(step.startswith("SEARCH pairs USING INDEX") for step in steps), steps
            assert not any("B-TREE" in step for step in steps), steps
            if after is None:
                suffix = column if index in BY_RANKING else ""
                assert f"INDEX ix_pairs_{index}{suffix} " in steps[0]
        with sqlite_store.writing() as session:
            ranking_queries.use_next(session, dataset_id)
        with sqlite_store.reading() as session:
            # The first page after a change of rankings may assume the one before it.
            queue_queries.page(session, filter)


def test_orders_with_an_index_are_not_sorted(sqlite_store: Store) -> None:
    dataset_id, _ = add_dataset(sqlite_store, 0)
    for order in WITH_INDEX:
        with watching(sqlite_store) as statements, sqlite_store.reading() as session:
            queue_queries.page(session, QueueFilter(dataset_id, order=order))
        # The most uncertain: of two ranges of an index, ties alone are sorted.
        steps = plans(sqlite_store, statements)
        assert not any("B-TREE FOR ORDER" in step for step in steps), order


def test_source_columns_and_parts_of_ids_can_be_filtered(store: Store) -> None:
    rows = [
        NewPair(f"img_{i}%", f"{i}.jpg", "a cat", extra={"licence": "by", "stars": i})
        for i in range(3)
    ]
    dataset, ids = add_pairs(store, "web", [*rows, NewPair("other", "o.jpg", "a cat")])
    assert in_queue(store, dataset, extra=("licence", "by")) == ids[:3]
    assert in_queue(store, dataset, extra=("stars", "1")) == ids[1:2]
    assert in_queue(store, dataset, extra=("nothing", "1")) == []
    assert in_queue(store, dataset, external_id="_1%") == ids[1:2]
    assert in_queue(store, dataset, external_id="%r") == []
    assert in_queue(store, dataset, truncated=True) == []
    assert in_queue(store, dataset, suspect_kind="colour") == []


def test_pictures_without_an_accepted_caption_can_be_filtered(store: Store) -> None:
    texts = {"written": "a cat", "empty": "", "described": "", "removed": ""}
    rows = [NewPair(name, f"{name}.jpg", text) for name, text in texts.items()]
    dataset, (human, empty, later, gone) = add_pairs(store, "drawn", rows)
    decide(store, later, "correction", caption="A dog.")
    decide(store, gone)
    assert in_queue(store, dataset, captioned=True) == [human, later]
    assert in_queue(store, dataset, captioned=False) == [empty, gone]


def test_what_a_group_excludes_is_not_read(sqlite_store: Store) -> None:
    high = QueueFilter(1, ranges=(Range("p_error", 0.5),))
    filter = QueueFilter(1, where=Group("all", (QueueFilter(1), Group("none", (high,)))))
    with watching(sqlite_store) as statements, sqlite_store.reading() as session:
        queue_queries.page(session, filter)
        queue_queries.page(session, filter, Cursor(0.4, 7))
        queue_queries.count(session, filter)
        pair_queries.totals(session, 1)
    *pages, count, totals = plans(sqlite_store, statements)
    assert any("p_error_even<?" in page for page in pages)
    whole = [page for page in pages if "p_error_even>?" in page and "p_error_even<?" not in page]
    assert not whole, "from the highest value on"
    assert "ix_pairs_position" in count, "reads pairs as they lie"
    assert "ix_pairs_hidden" in totals


def test_matches_of_a_search_are_counted_one_by_one(sqlite_store: Store) -> None:
    with watching(sqlite_store) as statements, sqlite_store.reading() as session:
        queue_queries.count(session, QueueFilter(1, "unreviewed", text="red"), 10)
        queue_queries.count(session, QueueFilter(1, text="red", among=(1,)), 10)
    alone, among = plans(sqlite_store, statements)
    assert "LIST" not in alone, "no list of all matches is made first"
    assert "pairs USING INTEGER PRIMARY KEY" in alone
    assert "LIST" in among, "few pairs are not looked for among all matches"


def test_pictures_without_a_caption_are_read_from_their_index(sqlite_store: Store) -> None:
    filter = QueueFilter(1, captioned=False)
    with watching(sqlite_store) as statements, sqlite_store.reading() as session:
        queue_queries.count(session, filter)
    assert "ix_pairs_caption" in plans(sqlite_store, statements)[0]


CAPTIONS = [
    "A RED dog", "a reddish cat", "50% off_", "50x offx", "Straße", "a\\b", 'say "hi"', "犬が走る",
    "x", "it's -- here",
]  # fmt: skip


SEARCHES = [
    "red", "RED D", "50%", "% off_", "_", "ße", "a\\b", '"hi"', "犬が走", "犬", "x", "'s --",
    "zebra", "a", "dog ", "NOT red", "red OR cat", "re*",
]  # fmt: skip


def test_a_search_finds_what_holds_the_text_and_nothing_else(store: Store) -> None:
    rows = [NewPair(str(i), "i.jpg", text) for i, text in enumerate(CAPTIONS)]
    dataset, ids = add_pairs(store, "texts", rows)
    for text in SEARCHES:
        wanted = text.strip().lower()
        assert in_queue(store, dataset, text=text) == [
            i for i, caption in zip(ids, CAPTIONS, strict=True) if wanted in caption.lower()
        ]


#: Letters that the index takes for k and s are among them.
ALIKE = [
    "dark wood",
    "dar\u212a wood",
    "darts",
    "dart\u017f",
    "DARK\u00c9",
    "two darts",
    "a cat",
    "darK",
]


def test_a_search_is_the_same_near_and_far(
    sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [NewPair(str(i), "i.jpg", ALIKE[i % len(ALIKE)]) for i in range(40)]
    dataset, ids = add_pairs(sqlite_store, "alike", rows)
    set_probabilities(sqlite_store, ids, [None if i % 5 == 0 else i % 3 / 4 for i in range(40)])
    for i in ids[::7]:
        decide(sqlite_store, i)

    def search(text: str, order: str, descending: bool) -> list[list[int | None]]:
        filter = QueueFilter(dataset, "unreviewed", order=order, descending=descending, text=text)
        pages = [row.pair_id for row in walk(sqlite_store, filter, 7)]
        with sqlite_store.reading() as session:
            return [
                [*pages],
                [queue_queries.next_pair(session, filter, i) for i in ids[::13]],
                [queue_queries.previous_pair(session, filter, i) for i in ids[::13]],
                [queue_queries.count(session, filter)],
            ]

    orders = sorted(WITH_INDEX)  # in all others, no search looks near
    searches = [*product(("arts", "wood"), orders, (True, False)), ("zebra", "p_error", True)]
    near = {}
    for most in (3, 1000):
        monkeypatch.setattr(queue_queries, "_NEAR", most)
        near[most] = [search(*each) for each in searches]
    monkeypatch.setattr(queue_queries, "_looks_ahead", lambda *_: False)
    far = [search(*each) for each in searches]
    assert all(found == far for found in near.values()), "as the plain statement has it"
    assert {len(pages) for pages, *_ in far} >= {0, 9}


def test_ranges_are_the_same_near_and_far(
    sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset, ids = add_dataset(sqlite_store, 40)
    set_probabilities(sqlite_store, ids, [None if i % 5 == 0 else i % 7 / 8 for i in range(40)])
    with sqlite_store.writing() as session:
        columns = {i: {"icc": i % 9 / 9, "s_0": i % 4 / 4} for i in ids[:35]}
        set_columns(session, columns)
    part = QueueFilter(dataset, ranges=(Range("icc", 0.3, 0.9),))
    filters = [
        QueueFilter(dataset, ranges=(Range("icc", 0.3, 0.9), Range("s_0", 0.25))),
        QueueFilter(dataset, where=Group("none", (part,))),
        QueueFilter(dataset, ranges=(Range("icc", 2.0),)),
        QueueFilter(dataset, "unreviewed", ranges=(Range("icc", 0.3, 0.9),)),
    ]
    for i in ids[::3]:
        decide(sqlite_store, i)

    def queue(filter: QueueFilter, order: str, descending: bool) -> list[list[int | None]]:
        ordered = replace(filter, order=order, descending=descending)
        pages = [row.pair_id for row in walk(sqlite_store, ordered, 7)]
        with sqlite_store.reading() as session:
            return [
                [*pages],
                [queue_queries.next_pair(session, ordered, i) for i in ids[::13]],
                [queue_queries.previous_pair(session, ordered, i) for i in ids[::13]],
            ]

    each = [*product(filters, sorted(WITH_INDEX), (True, False))]
    near = {}
    for most in (3, 1000):
        monkeypatch.setattr(queue_queries, "_NEAR", most)
        near[most] = [queue(*one) for one in each]
    monkeypatch.setattr(queue_queries, "_looks_ahead", lambda *_: False)
    without = vars(queue_queries._segment_queries)["__wrapped__"]  # no statement from before
    monkeypatch.setattr(queue_queries, "_segment_queries", without)
    far = [queue(*one) for one in each]
    assert all(found == far for found in near.values()), "as the plain statement has it"
    assert {len(pages) for pages, *_ in far} >= {0, 16, 18}


def test_a_range_of_another_number_is_not_sorted_whole(sqlite_store: Store) -> None:
    dataset, ids = add_dataset(sqlite_store, 30)
    with sqlite_store.writing() as session:
        set_columns(session, {i: {"icc": 0.5, "s_0": i / 100} for i in ids})
    for order in ("s_0", "random", "position"):
        filter = QueueFilter(dataset, ranges=(Range("icc", 0.35),), order=order)
        with watching(sqlite_store) as statements, sqlite_store.reading() as session:
            assert len(queue_queries.page(session, filter, limit=5).rows) == 5
        reading = plans(sqlite_store, statements)
        assert len(reading) == 1
        assert "ix_pairs_icc" not in reading[0], "it would be read to its end"


def test_a_frequent_search_makes_no_list_of_its_matches(sqlite_store: Store) -> None:
    dataset, ids = add_dataset(sqlite_store, 30)
    filter = QueueFilter(dataset, text="photo", order="position", descending=False)
    with watching(sqlite_store) as statements, sqlite_store.reading() as session:
        page = queue_queries.page(session, filter, limit=5)
    assert [row.pair_id for row in page.rows] == ids[:5]
    reading = [statement for statement, _ in statements if "FROM pairs" in statement]
    assert len(reading) == 1
    assert "CASE" in reading[0]
    assert "MATCH" in reading[0]


def test_the_search_index_follows_the_pairs(sqlite_store: Store) -> None:
    dataset, _ = add_dataset(sqlite_store, 3)
    other, _ = add_dataset(sqlite_store, 2, "others")
    with sqlite_store.writing() as session:
        dataset_queries.delete_dataset(session, dataset)
        session.connection().exec_driver_sql(
            "INSERT INTO pair_captions (pair_captions, rank) VALUES ('integrity-check', 1)"
        )
    with sqlite_store.reading() as session:
        assert queue_queries.count(session, QueueFilter(dataset, text="photo")) == 0
        assert queue_queries.count(session, QueueFilter(other, text="photo")) == 2
