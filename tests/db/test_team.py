"""Accounts, holds, the opinion of each curator, and the overlap in the queue."""

from datetime import timedelta

import pytest
from sqlalchemy import update

from db import Store
from db.column_types import now
from db.errors import AlreadyExists, MissingRow
from db.models import Hold
from db.queries import (
    blind_review,
    curator_queries,
    dataset_queries,
    hold_queries,
    opinion_queries,
    queue_queries,
    verdict_queries,
)
from db.queries.pair_queries import review_counts
from db.queries.queue_filter import QueueFilter
from tests.db.building import add_dataset, decide, in_queue, redo, undo, watching


def opinions_of(store: Store, pair: int) -> dict[str, str]:
    with store.reading() as session:
        return {
            opinion.author: opinion.decision for opinion in opinion_queries.of_pair(session, pair)
        }


def test_an_account_is_added_changed_and_closed(store: Store) -> None:
    with store.writing() as session:
        curator_queries.add_curator(session, "Ada", "hash", "curator")
    with store.writing() as session, pytest.raises(AlreadyExists, match="Ada"):
        curator_queries.add_curator(session, "Ada", "hash", "curator")
    with store.writing() as session:
        changed = curator_queries.change_curator(session, "Ada", role="adjudicator", active=False)
        assert (changed.role, changed.active) == ("adjudicator", False)
        assert curator_queries.count_active(session) == 0
    for name in ("Ben", "a\x00b", "Ada \ud800"):  # anyone can send a name at the login
        with store.reading() as session, pytest.raises(MissingRow, match="no account"):
            curator_queries.get_curator(session, name)


def test_a_login_holds_until_it_expires_or_the_account_changes(store: Store) -> None:
    with store.writing() as session:
        ada = curator_queries.add_curator(session, "Ada", "hash", "curator")
        curator_queries.add_login(session, ada.id, b"a" * 32, now() + timedelta(hours=1))
        curator_queries.add_login(session, ada.id, b"b" * 32, now() - timedelta(seconds=1))
    with store.reading() as session:
        curator = curator_queries.logged_in(session, b"a" * 32)
        assert curator is not None
        assert curator.name == "Ada"
        assert curator_queries.logged_in(session, b"b" * 32) is None
    with store.writing() as session:
        curator_queries.change_curator(session, "Ada", password_hash="other")
    with store.reading() as session:
        assert curator_queries.logged_in(session, b"a" * 32) is None


def test_a_hold_keeps_others_out_until_it_expires(store: Store) -> None:
    dataset, ids = add_dataset(store, 3)
    with store.writing() as session:
        assert hold_queries.hold(session, ids[0], "Ada")
        assert hold_queries.hold(session, ids[0], "Ada"), "one's own hold is renewed"
        assert not hold_queries.hold(session, ids[0], "Ben")
    handed = QueueFilter(dataset, order="position", descending=False, reader="Ben")
    with store.reading() as session:
        assert queue_queries.first_pair(session, handed) == ids[1]
        assert queue_queries.first_pair(session, QueueFilter(dataset, reader="Ada")) == ids[0]
    with store.writing() as session:
        session.execute(update(Hold).values(expires_at=now() - timedelta(seconds=1)))
    with store.writing() as session:
        assert queue_queries.first_pair(session, handed) == ids[0]
        assert hold_queries.hold(session, ids[0], "Ben")
        hold_queries.release(session, [ids[0]], "Ada")
        assert not hold_queries.hold(session, ids[0], "Ada"), "only one's own hold is given back"
        hold_queries.release(session, [ids[0]], "Ben")
        assert hold_queries.hold(session, ids[0], "Ada")


def test_what_others_hold_is_what_a_queue_lacks(store: Store) -> None:
    """A page shows the difference, which is faster than to count."""
    dataset, ids = add_dataset(store, 12)
    with store.writing() as session:
        dataset_queries.set_overlap(session, dataset, 0.5, 2)
        hold_queries.hold_each(session, ids[:6], "Ada")
    for pair in ids[4:10]:
        decide(store, pair, "correct", "Cid")
    for reader in ("Ada", "Ben", "Cid", None):
        filter = QueueFilter(dataset, "unreviewed", reader=reader)
        with store.reading() as session:
            blind_review.set_reader(session, reader)
            counts = review_counts(session, dataset)
            lacking = queue_queries.count_held_by_others(session, filter)
            assert queue_queries.count(session, filter) == counts.total - counts.reviewed - lacking
            assert (lacking > 0) == (reader in ("Ben", "Cid"))


def test_an_opinion_follows_the_acts_of_its_author(store: Store) -> None:
    dataset, (pair, *_) = add_dataset(store, 1)
    decide(store, pair, "correct", "Ada")
    decide(store, pair, "drop", "Ben")
    decide(store, pair, "unsure", "Ada")
    assert opinions_of(store, pair) == {"Ada": "unsure", "Ben": "drop"}
    undo(store, dataset)
    assert opinions_of(store, pair) == {"Ada": "correct", "Ben": "drop"}, "what Ada had said before"
    redo(store, dataset)
    assert opinions_of(store, pair) == {"Ada": "unsure", "Ben": "drop"}
    undo(store, dataset)
    undo(store, dataset, "Ben")
    assert opinions_of(store, pair) == {"Ada": "correct"}


@pytest.mark.parametrize("size", [4, 24])
def test_opinions_given_together_are_kept_together(store: Store, size: int) -> None:
    dataset, ids = add_dataset(store, size)
    decide(store, ids[0], "correct", "Ada")
    decide(store, ids[1], "unsure", "Ben")
    versions = [*((pair, 1) for pair in ids[:2]), *((pair, 0) for pair in ids[2:])]
    with watching(store) as statements, store.writing() as session:
        verdict_queries.add_verdicts(session, versions, "drop", author="Ada")
    assert sum("opinions" in statement for statement, _ in statements) == 1, "however many"
    both = {"Ada": "drop", "Ben": "unsure"}
    assert [opinions_of(store, pair) for pair in ids] == [
        {"Ada": "drop"}, both, *[{"Ada": "drop"}] * (size - 2),
    ]  # fmt: skip
    with watching(store) as statements:
        undo(store, dataset)
    assert sum("opinions" in statement for statement, _ in statements) == 2, "changed, and deleted"
    assert [opinions_of(store, pair) for pair in ids] == [
        {"Ada": "correct"}, {"Ben": "unsure"}, *[{}] * (size - 2),
    ]  # fmt: skip
    redo(store, dataset)
    assert opinions_of(store, ids[1]) == both


def test_pairs_in_the_overlap_wait_for_the_given_number_of_people(store: Store) -> None:
    dataset, ids = add_dataset(store, 40)
    for pair in ids:
        decide(store, pair, "correct", "Ada")

    def waiting(reader: str, share: float, people: int = 2) -> set[int]:
        with store.writing() as session:
            dataset_queries.set_overlap(session, dataset, share, people)
        filter = QueueFilter(dataset, "unreviewed", reader=reader)
        with store.reading() as session:
            blind_review.set_reader(session, reader)
            return {row.pair_id for row in queue_queries.page(session, filter, None, 100).rows}

    assert waiting("Ben", 0.0) == set()
    assert waiting("Ada", 1.0) == set(), "nobody is asked twice"
    assert waiting("Ben", 1.0) == set(ids)
    some = waiting("Ben", 0.5)
    assert 0 < len(some) < len(ids)
    assert waiting("Ben", 0.5) == some, "the draw is always the same"
    pair_id = min(some)
    decide(store, pair_id, "drop", "Ben")
    assert pair_id not in waiting("Eve", 0.5)
    assert pair_id in waiting("Eve", 0.5, people=3)


def test_a_disagreement_is_disputed_until_it_is_settled(store: Store) -> None:
    dataset, ids = add_dataset(store, 4)
    for pair in ids:
        decide(store, pair, "drop", "Ada")
    decide(store, ids[0], "drop", "Ben")
    decide(store, ids[1], "correct", "Ben")
    with store.reading() as session:
        assert [len(each) for each in opinion_queries.shared_opinions(session, dataset)] == [2, 2]
        (dispute,) = opinion_queries.disputed_pairs(session, dataset)
        assert dispute.pair_id == ids[1]
        assert {(o.author, o.decision) for o in dispute.opinions} == {
            ("Ada", "drop"), ("Ben", "correct"),
        }  # fmt: skip
    assert in_queue(store, dataset, review="disputed") == [ids[1]]
    decide(store, ids[1], "correct", "Eve", settles=True)
    with store.reading() as session:
        assert opinion_queries.count_disputed(session, dataset) == 0
        assert [len(each) for each in opinion_queries.shared_opinions(session, dataset)] == [2, 2]
    assert in_queue(store, dataset, review="disputed") == []


def test_search_results_keep_their_order_across_pages(store: Store) -> None:
    dataset, ids = add_dataset(store, 6)
    filter = QueueFilter(dataset, among=(ids[4], ids[1], ids[3]))
    with store.reading() as session:
        first = queue_queries.page(session, filter, None, 2)
        assert [row.pair_id for row in first.rows] == [ids[4], ids[1]]
        assert first.next_cursor is not None
        rest = queue_queries.page(session, filter, first.next_cursor, 2)
        assert [row.pair_id for row in rest.rows] == [ids[3]]
        assert queue_queries.count(session, filter) == 3
        assert queue_queries.next_pair(session, filter, ids[4]) == ids[1]
        assert queue_queries.previous_pair(session, filter, ids[3]) == ids[1]
        assert queue_queries.page(session, QueueFilter(dataset, among=())).rows == ()
