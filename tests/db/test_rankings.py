"""Two columns for the probability of error: one is in use, the next ranking goes to the other."""

from db import Store
from db.queries import pair_queue, pairs, pictures, plots, rankings, signals
from db.queries.pair_queue import QueueFilter, Range
from db.queries.pictures import DuplicateRow
from db.queries.plots import PlaceRow
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
            page = pair_queue.page(session, chosen, None, 3)
            shown += [page, pair_queue.page(session, chosen, page.next_cursor, 9)]
            shown.append(pair_queue.count(session, chosen))
            shown.append(pair_queue.next_pair(session, chosen, page.rows[0].pair_id))
        listed = list(pairs.iterate_pairs(session, dataset_id))
        shown += [
            listed,
            pairs.most_likely_wrong(session, dataset_id, 0.3, 3),
            list(plots.by_scores(session, dataset_id)),
            list(plots.decided(session, dataset_id)),
            plots.reached(session, dataset_id),
            list(plots.points(session, dataset_id)),
            pictures.members(session, [listed[0].id]),
        ]
    return shown


def test_results_do_not_depend_on_the_column_in_use(store: Store) -> None:
    dataset_id, ids = add_dataset(store, len(VALUES))
    add_dataset(store, 2, "another")
    set_probabilities(store, ids, VALUES)
    with store.writing() as session:
        signals.save_icc(session, dict.fromkeys(ids, 0.5))
        plots.replace_places(session, dataset_id, [PlaceRow(i, 0.5, 0.5) for i in ids])
        pictures.replace_groups(
            session, dataset_id, [DuplicateRow(i, ids[0], 1.0) for i in ids[:3]]
        )
    decide(store, ids[3])
    before = everything_shown(store, dataset_id)
    with store.writing() as session:
        rankings.begin(session, dataset_id)
        rankings.write_next(session, dataset_id, dict.fromkeys(ids, 0.3))
    assert everything_shown(store, dataset_id) == before, "not in use yet"
    with store.writing() as session:
        rankings.write_next(session, dataset_id, dict(zip(ids, VALUES, strict=True)))
        rankings.use_next(session, dataset_id)
    assert everything_shown(store, dataset_id) == before
    set_probabilities(store, ids[:1], [0.0])
    with store.reading() as session:
        assert pairs.get_pair(session, ids[0]).p_error == 0.0
        assert dict(rankings.iterate_next(session, dataset_id))[ids[0]] == 0.9


def test_a_later_claim_replaces_the_earlier(store: Store) -> None:
    dataset_id, _ = add_dataset(store, 1)
    other, _ = add_dataset(store, 1, "another")
    with store.writing() as session:
        first, elsewhere = rankings.begin(session, dataset_id), rankings.begin(session, other)
        assert rankings.is_current(session, dataset_id, first)
        second = rankings.begin(session, dataset_id)
    with store.writing() as session:
        assert not rankings.is_current(session, dataset_id, first)
        assert rankings.is_current(session, dataset_id, second)
        rankings.use_next(session, dataset_id)
        assert not rankings.is_current(session, dataset_id, second), "used once"
        assert rankings.is_current(session, other, elsewhere)
