"""Signals of pictures and the issues derived from them, on both databases."""

import pytest

from db import Store
from db.queries import dataset_queries, detections, pair_queue, pictures
from db.queries.pair_queue import QueueFilter
from db.queries.pictures import SignalsRow
from tests.db.building import add_dataset


def signals(pair_id: int) -> SignalsRow:
    return SignalsRow(pair_id, 0.1, 0.9, 1.0, 7.5, 30.0, 12.0, 96.0, "ab" * 16, "cd" * 8)


def test_signals_are_stored_and_issues_replaced(store: Store) -> None:
    dataset, ids = add_dataset(store, 4)
    _, others = add_dataset(store, 1, "other")
    with store.writing() as session:
        pictures.save_signals(session, [signals(ids[0]), signals(others[0])])
        pictures.save_signals(session, [signals(ids[0]), signals(ids[2])])
    with store.reading() as session:
        waiting = pictures.unmeasured(session, dataset, 0, 10)
        assert [row.id for row in waiting] == [ids[1], ids[3]]
        kept = pictures.signals_of(session, dataset)
        assert kept == [(signals(ids[0]), "images/0.jpg"), (signals(ids[2]), "images/2.jpg")]
        assert pictures.count_measured(session, dataset) == 2
    with store.writing() as session:
        pictures.replace_issues(session, dataset, {"dark": ids[:2], "blurry": ids[1:2]})
    with store.writing() as session:
        pictures.replace_issues(session, dataset, {"dark": ids[1:3], "blurry": ids[1:2]})
        detections.toggle(session, ids[1], 0, 5, "Ada")
        detections.toggle(session, ids[1], 0, 5, "Ben")
    filter = QueueFilter(dataset, order="position", descending=False, picture="dark")
    with store.reading() as session:
        assert [row.pair_id for row in pair_queue.page(session, filter).rows] == ids[1:3]
        assert pair_queue.count(session, filter) == 2
        assert pictures.marks_and_issues(session, ids[1]) == ([(0, 5)], ("blurry", "dark"))
        assert pictures.marks_and_issues(session, ids[0]) == ([], ())
        assert pictures.all_issues(session, dataset) == {
            ids[1]: ("blurry", "dark"), ids[2]: ("dark",),
        }  # fmt: skip
    with pytest.raises(ValueError, match="picture must be one of"):
        QueueFilter(dataset, picture="murky")
    with store.writing() as session:
        dataset_queries.delete_dataset(session, dataset)
