"""The input of a selection, on SQLite and on PostgreSQL."""

import numpy as np

from backend.features.selection.queries import captions_and_images, selection_columns
from db import Store
from db.queries.statements import set_columns
from tests.db.building import add_dataset


def test_selection_columns_contain_every_pair_of_the_dataset(store: Store) -> None:
    dataset, ids = add_dataset(store, 5)
    with store.writing() as session:
        set_columns(session, {ids[0]: {"support": 0.5}, ids[3]: {"support": -2.0}})
    with store.reading() as session:
        columns = selection_columns(session, dataset, "support")
        captions = captions_and_images(session, dataset, ids[1], 2)
        nothing = selection_columns(session, dataset + 1, "support")
    assert columns.ids.tolist() == ids
    np.testing.assert_array_equal(columns.value, [0.5, np.nan, np.nan, -2.0, np.nan])
    assert columns.verdicts.tolist() == [0] * 5
    assert [columns.split_names[i] for i in columns.splits] == [columns.split_names[0]] * 5
    assert [row[0] for row in captions] == ids[2:4]
    assert (len(nothing.ids), nothing.split_names) == (0, ())
