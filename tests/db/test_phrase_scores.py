"""Phrases of pairs in the store, on SQLite and on PostgreSQL: stored once and read in order."""

import numpy as np

from db import Store
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
            phrase_queries.save_phrase_scores(
                session, run, {ids[2]: [], ids[0]: [ROW, UNTESTED], ids[1]: [UNTESTED]}
            )
    with store.reading() as session:
        assert phrase_queries.phrases_of(session, ids[0]) == [ROW, UNTESTED]
        assert phrase_queries.phrases_of(session, ids[2]) == []
        stored = list(phrase_queries.iterate(session, run, batch=2))
    assert [pair for pair, _, _ in stored] == ids
    assert [values.tolist() for _, _, values in stored] == [[-0.5], [], []]
    assert stored[0][1].tolist() == [1]


def test_selection_columns_contain_every_pair_of_the_dataset(store: Store) -> None:
    dataset, ids = add_dataset(store, 5)
    with store.writing() as session:
        phrase_queries.save_support(
            session, {ids[0]: (0.5, -1.5), ids[3]: (-2.0, -3.0), ids[1]: (None, None)}
        )
    with store.reading() as session:
        columns = phrase_queries.selection_columns(session, dataset, "support")
        captions = phrase_queries.captions_and_images(session, dataset, ids[1], 2)
        nothing = phrase_queries.selection_columns(session, dataset + 1, "support")
    assert columns.ids.tolist() == ids
    np.testing.assert_array_equal(columns.value, [0.5, np.nan, np.nan, -2.0, np.nan])
    assert columns.verdicts.tolist() == [0] * 5
    assert [columns.split_names[i] for i in columns.splits] == [columns.split_names[0]] * 5
    assert [row[0] for row in captions] == ids[2:4]
    assert (len(nothing.ids), nothing.split_names) == (0, ())
