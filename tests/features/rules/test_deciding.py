"""One verdict for all pairs of a queue: a rule's, in parts, with one undo, beside curators."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import update

import db
from backend.errors import VerdictConflict
from backend.features.rules import deciding
from backend.features.rules.deciding import RuleReport
from backend.review.verdicts import Verdicts
from backend.settings import load_settings
from backend.store import Store
from db.authors import queue_author
from db.models import Pair
from db.queries import (
    dataset_queries,
    hold_queries,
    opinion_queries,
    pair_queries,
    plot_queries,
    undo_queries,
    verdict_queries,
)
from db.queries.pair_queries import PairRow
from db.queries.queue_filter import QueueFilter
from tests.db.building import add_dataset, watching
from tests.db.test_verdict_concurrency import check_consistent
from tests.fixtures.interrupting import stop_at
from tests.fixtures.sizes import Sizes

ALL = {"review": "all"}


@pytest.fixture
def opened(store: db.Store, sizes: Sizes) -> Store:
    """A store where five pairs fill a transaction."""
    sizes(AT_ONCE=5)
    return Store(store)


def decide_all(store: Store, dataset: int, decision: str, **more: Any) -> RuleReport:
    arguments: dict[str, Any] = {"curator": "Ada", "batch": "b1", "fields": ALL, **more}
    return deciding.decide_all(store, QueueFilter(dataset), decision=decision, **arguments)


def rows(store: Store, ids: list[int]) -> list[PairRow]:
    with store.reading() as session:
        return [pair_queries.get_pair(session, pair_id) for pair_id in ids]


def verdicts(store: Store) -> Verdicts:
    return Verdicts(store, load_settings({}, {}))


def decide(store: Store, pair: int, version: int, decision: str, author: str = "Ben") -> None:
    store.write(verdict_queries.add_verdict, pair, version, decision, author=author)


def test_a_rule_decides_what_is_free_and_is_no_person(opened: Store, store: db.Store) -> None:
    dataset, ids = add_dataset(store, 14)
    decide(opened, ids[0], 0, "correct")
    with opened.writing() as session:
        hold_queries.hold_each(session, ids[1:3], "Ben")
        hold_queries.hold_each(session, ids[3:4], "Ada")
    plan = deciding.preview(opened, QueueFilter(dataset), "Ada", False)
    assert (plan.number, plan.claimed, plan.decided) == (11, 2, 1)
    assert {row.pair_id for row in plan.sample} == set(ids[3:])
    done = decide_all(opened, dataset, "drop", fields={"text": "photo", "order": "icc"})
    assert done == RuleReport("drop", given=11, claimed=2, left_alone=0)
    after = rows(opened, ids)
    assert [row.decision for row in after] == ["correct", None, None, *["drop"] * 11]
    assert {row.decided_by for row in after[3:]} == {queue_author("Ada")}
    assert {row.note for row in after[3:]} == {"rule: text=photo"}
    with opened.reading() as session:
        assert {o.author for i in ids for o in opinion_queries.of_pair(session, i)} == {"Ben"}
        assert len(list(plot_queries.decided_points(session, dataset))) == 1, (
            "nothing to learn from"
        )


def test_what_is_listed_is_drawn_at_random_and_decided_too(opened: Store, store: db.Store) -> None:
    dataset, ids = add_dataset(store, 60)
    among = QueueFilter(dataset, among=tuple(ids[10:50]))
    plan = deciding.preview(opened, among, "Ada", False)
    assert len(plan.sample) == deciding.SHOWN
    assert [row.pair_id for row in plan.sample] != ids[10:30], "not the first ones"
    deciding.decide_all(opened, among, ALL, "unsure", curator="Ada", batch="b1")
    now = [row.decision for row in rows(opened, ids)]
    assert now == [None] * 10 + ["unsure"] * 40 + [None] * 10


def test_one_undo_takes_all_back_but_what_others_changed(opened: Store, store: db.Store) -> None:
    dataset, ids = add_dataset(store, 23)
    decide(opened, ids[20], 0, "correct", "Ada")
    decide_all(opened, dataset, "drop", replaces=True)
    decide(opened, ids[4], 1, "correct")
    with watching(store) as statements:
        undone = verdicts(opened).undo(dataset, "Ada")
    assert undone is not None
    assert (undone.together, undone.left_alone) == (22, 1)
    inserts = [given for text, given in statements if text.startswith("INSERT INTO verdicts")]
    assert [len(given) for given in inserts] == [5, 5, 5, 5, 2]
    now = {row.id: row.decision for row in rows(opened, ids) if row.decision}
    assert now == {ids[4]: "correct", ids[20]: "correct"}
    assert {o.author for o in opened.read(opinion_queries.of_pair, ids[20])} == {"Ada"}
    redone = verdicts(opened).redo(dataset, "Ada")
    assert redone is not None
    assert redone.together == 22
    assert sum(row.decision == "drop" for row in rows(opened, ids)) == 22
    assert verdicts(opened).undo(dataset, "Ben") is not None
    assert rows(opened, ids[4:5])[0].decision == "drop", "Ben's own verdict is his to undo"
    assert check_consistent(store, dataset, ids) == 1 + 23 + 1 + 22 + 22 + 1


def test_an_interrupted_undo_goes_on(opened: Store, store: db.Store) -> None:
    dataset, ids = add_dataset(store, 12)
    decide_all(opened, dataset, "drop")
    opened.write(undo_queries.undo_last, dataset, "Ada", request_id="a")
    undone = verdicts(opened).undo(dataset, "Ada", request_id="a")
    assert undone is not None
    assert undone.left_alone == 0
    assert check_consistent(store, dataset, ids) == 24
    assert verdicts(opened).undo(dataset, "Ada", request_id="a") is not None
    assert check_consistent(store, dataset, ids) == 24


@pytest.mark.parametrize("replaces", [False, True])
def test_an_interrupted_rule_goes_on_and_doubles_nothing(
    opened: Store, store: db.Store, replaces: bool
) -> None:
    dataset, ids = add_dataset(store, 17)
    with pytest.raises(KeyboardInterrupt):
        decide_all(opened, dataset, "drop", replaces=replaces, progress=stop_at(10))
    decide(opened, ids[0], 1, "correct")
    steps: list[tuple[int, int]] = []
    done = decide_all(
        opened, dataset, "drop", replaces=replaces,
        progress=lambda done, total, _: steps.append((done, total)),
    )  # fmt: skip
    assert done == RuleReport("drop", given=17, claimed=0, left_alone=0)
    assert steps[-1] == (17, 17)
    assert check_consistent(store, dataset, ids) == 18
    assert rows(opened, ids[:1])[0].decision == "correct", "what came later stays"
    undone = verdicts(opened).undo(dataset, "Ada")
    assert undone is not None
    assert (undone.together, undone.left_alone) == (16, 1)


def test_verdicts_are_replaced_on_request_where_they_may_be_known(
    opened: Store, store: db.Store
) -> None:
    dataset, ids = add_dataset(store, 6)
    decide(opened, ids[0], 0, "correct")
    decide(opened, ids[1], 0, "drop")
    done = decide_all(opened, dataset, "drop", replaces=True)
    assert (done.given, done.left_alone) == (5, 1), "one has this verdict"
    assert rows(opened, ids[1:2])[0].decided_by == "Ben"
    opened.write(dataset_queries.set_overlap, dataset, 1.0, 2)
    blind = opened.seen_by("Ada")
    plan = deciding.preview(blind, QueueFilter(dataset), "Ada", True)
    assert plan.number == 6
    done = decide_all(blind, dataset, "abstract", replaces=True, batch="b2")
    assert (done.given, done.left_alone) == (0, 6), "she owes them her own opinion"


def test_a_caption_that_is_missing_is_not_judged(opened: Store, store: db.Store) -> None:
    dataset, ids = add_dataset(store, 2)
    with opened.writing() as session:
        session.execute(update(Pair).where(Pair.id == ids[0]).values(caption=""))
    done = decide_all(opened, dataset, "correct")
    assert (done.given, done.left_alone) == (1, 1)
    assert decide_all(opened, dataset, "drop", batch="b2").given == 1


def test_a_queue_of_verdicts_has_nothing_free(opened: Store, store: db.Store) -> None:
    dataset, ids = add_dataset(store, 3)
    decide(opened, ids[0], 0, "correct")
    filter = QueueFilter(dataset, review="decided")
    assert deciding.preview(opened, filter, "Ada", False).number == 0
    assert deciding.preview(opened, filter, "Ada", True).number == 1


def test_eight_curators_at_once_lose_and_double_nothing(opened: Store, store: db.Store) -> None:
    """Four rules over the same pairs, three curators pair by pair, and one who takes back."""
    dataset, ids = add_dataset(store, 60)
    ready = threading.Barrier(8)

    def rule(author: str) -> int:
        return decide_all(opened, dataset, "drop", curator=author, batch=author).given

    def by_hand(author: str) -> int:
        done = 0
        for pair in ids:
            try:
                decide(opened, pair, 0, "correct", author)
                done += 1
            except VerdictConflict:
                pass
        return done

    def takes_back(author: str) -> int:
        decide_all(opened, dataset, "unsure", curator=author, batch=author)
        undone = verdicts(opened).undo(dataset, author)
        return undone.together if undone is not None else 0

    work: list[Any] = [rule] * 4 + [by_hand] * 3 + [takes_back]

    def start(number: int) -> int:
        ready.wait()
        return int(work[number](f"curator {number}"))

    with watching(store) as statements, ThreadPoolExecutor(8) as pool:
        counts = list(pool.map(start, range(8)))
    acts = check_consistent(store, dataset, ids)
    assert sum(counts[:7]) + 2 * counts[7] == acts
    decided = sum(row.decision is not None for row in rows(opened, ids))
    assert decided == sum(counts[:7])
    inserted = [g for text, g in statements if text.startswith("INSERT INTO verdicts")]
    assert max(len(given) if isinstance(given, list) else 1 for given in inserted) <= 5


def test_a_part_costs_the_same_statements_whatever_its_size(store: db.Store) -> None:
    """Others wait for one part at most."""
    opened = Store(store)
    dataset, ids = add_dataset(store, 400)
    costs = []
    for number, size in enumerate((40, 300)):
        filter = replace(QueueFilter(dataset), among=tuple(ids[:size]))
        with watching(store) as statements:
            deciding.decide_all(
                opened, filter, ALL, "drop", curator="Ada", batch=f"b{number}", replaces=True
            )
            verdicts(opened).undo(dataset, "Ada")
        # A connection's pragmas are set once.
        costs.append(sum(not text.startswith("PRAGMA") for text, _ in statements))
    assert costs[0] == costs[1]
