"""Two columns for the probability of error: one is in use, the next ranking goes to the other."""

import numpy as np

from backend.jobs.scoring.replace_ranking import use_ranking
from backend.store import Store as JobStore
from db import Store
from db.queries import (
    pair_queries,
    plot_queries,
    queue_queries,
    ranking_queries,
    signal_queries,
)
from db.queries.queue_filter import QueueFilter, Range
from tests.db.building import add_dataset, decide, set_probabilities

VALUES = [0.9, 0.2, None, 0.55, 0.45, 0.9, 0.1, None]


def everything_shown(store: Store, dataset_id: int) -> list[object]:
    """The result of every query that reads the probability of error."""
    filters = [
        QueueFilter(dataset_id),
        QueueFilter(dataset_id, descending=False, review="unreviewed"),
        QueueFilter(dataset_id, order="uncertainty"),
        QueueFilter(dataset_id, order="s_0"),
        QueueFilter(dataset_id, ranges=(Range("p_error", 0.15, 0.6),)),
        QueueFilter(dataset_id, ranges=(Range("p_error", 0.15),), order="uncertainty"),
    ]
    shown: list[object] = []
    with store.reading() as session:
        for chosen in filters:
            page = queue_queries.page(session, chosen, None, 3)
            shown += [page, queue_queries.page(session, chosen, page.next_cursor, 9)]
            shown.append(queue_queries.count(session, chosen))
            shown.append(queue_queries.next_pair(session, chosen, page.rows[0].pair_id))
        listed = list(pair_queries.iterate_pairs(session, dataset_id))
        shown += [
            listed,
            pair_queries.most_likely_wrong(session, dataset_id, 0.3, 3),
            list(plot_queries.decided_points(session, dataset_id)),
            plot_queries.review_progress(session, dataset_id),
        ]
    return shown


def test_results_do_not_depend_on_the_column_in_use(store: Store) -> None:
    dataset_id, ids = add_dataset(store, len(VALUES))
    add_dataset(store, 2, "another")
    set_probabilities(store, ids, VALUES)
    with store.writing() as session:
        signal_queries.save_icc(session, dict.fromkeys(ids, 0.5))
    decide(store, ids[3])
    before = everything_shown(store, dataset_id)
    with store.writing() as session:
        ranking_queries.begin(session, dataset_id)
        ranking_queries.write_next(session, dataset_id, dict.fromkeys(ids, 0.3))
    assert everything_shown(store, dataset_id) == before, "not in use yet"
    with store.writing() as session:
        ranking_queries.write_next(session, dataset_id, dict(zip(ids, VALUES, strict=True)))
        ranking_queries.use_next(session, dataset_id)
    assert everything_shown(store, dataset_id) == before
    set_probabilities(store, ids[:1], [0.0])
    with store.reading() as session:
        assert pair_queries.get_pair(session, ids[0]).p_error == 0.0
        assert dict(ranking_queries.iterate_next(session, dataset_id))[ids[0]] == 0.9


def test_a_later_claim_replaces_the_earlier(store: Store) -> None:
    dataset_id, _ = add_dataset(store, 1)
    other, _ = add_dataset(store, 1, "another")
    with store.writing() as session:
        first, elsewhere = (
            ranking_queries.begin(session, dataset_id),
            ranking_queries.begin(session, other),
        )
        assert ranking_queries.is_current(session, dataset_id, first)
        second = ranking_queries.begin(session, dataset_id)
    with store.writing() as session:
        assert not ranking_queries.is_current(session, dataset_id, first)
        assert ranking_queries.is_current(session, dataset_id, second)
        ranking_queries.use_next(session, dataset_id)
        assert not ranking_queries.is_current(session, dataset_id, second), "used once"
        assert ranking_queries.is_current(session, other, elsewhere)


def test_a_ranking_that_is_overtaken_at_its_end_is_not_used(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 2)
    opened, used = JobStore(store), list[object]()

    def overtake(done: int, total: int, message: str) -> None:
        if done == total:
            opened.write(ranking_queries.begin, dataset_id)

    ranking = np.array(ids), np.array([0.5, 0.7])
    assert not use_ranking(opened, dataset_id, *ranking, used.append, overtake)
    assert used == []
    assert use_ranking(opened, dataset_id, *ranking, used.append)
    assert len(used) == 1
