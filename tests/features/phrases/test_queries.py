"""Phrases of pairs in the store, on SQLite and on PostgreSQL: stored once and read in order."""

from backend.features.phrases import queries
from db import Store
from db.models import Pair
from db.queries import phrase_queries
from db.queries.phrase_queries import PhraseRow
from tests.db.building import add_dataset, start_run

ROW = PhraseRow(2, 9, 5, 9, 1, 0.25, 0.125, -0.5)
UNTESTED = PhraseRow(0, 1, 0, 1, 0, None, None, None)


def test_saving_phrases_twice_stores_them_once(store: Store) -> None:
    dataset, ids = add_dataset(store, 3)
    run = start_run(store, dataset)
    for _ in range(2):
        with store.writing() as session:
            queries.save_phrase_scores(
                session, run, {ids[2]: [], ids[0]: [ROW, UNTESTED], ids[1]: [UNTESTED]}
            )
    with store.reading() as session:
        assert phrase_queries.phrases_of(session, ids[0]) == [ROW, UNTESTED]
        assert phrase_queries.phrases_of(session, ids[2]) == []
        stored = list(phrase_queries.iterate(session, run, batch=2))
    assert [pair for pair, _, _ in stored] == ids
    assert [values.tolist() for _, _, values in stored] == [[-0.5], [], []]
    assert stored[0][1].tolist() == [1]


def test_hidden_pairs_are_not_measured(store: Store) -> None:
    dataset, ids = add_dataset(store, 2)
    with store.writing() as session:
        session.get_one(Pair, ids[0]).hidden = True
    with store.reading() as session:
        captions = queries.captions_after(session, dataset, 0, 9)
    assert [pair for pair, _ in captions] == [ids[1]]
