"""Signals of pictures and the issues derived from them, on both databases."""

import pytest

from db import Store
from db.queries import datasets, picture_quality, queue, word_marks
from db.queries.picture_quality import SignalsRow
from db.queries.queue import QueueFilter
from tests.db.building import add_dataset


def signals(pair_id: int) -> SignalsRow:
    return SignalsRow(pair_id, 0.1, 0.9, 1.0, 7.5, 30.0, 12.0, 96.0, "ab" * 16, "cd" * 8)


def test_signals_are_stored_and_issues_replaced(store: Store) -> None:
    dataset, ids = add_dataset(store, 4)
    _, others = add_dataset(store, 1, "other")
    with store.writing() as session:
        picture_quality.save_signals(session, [signals(ids[0]), signals(others[0])])
        picture_quality.save_signals(session, [signals(ids[0]), signals(ids[2])])
    with store.reading() as session:
        waiting = picture_quality.unmeasured(session, dataset, 0, 10)
        assert [row.id for row in waiting] == [ids[1], ids[3]]
        kept = picture_quality.signals_of(session, dataset)
        assert kept == [(signals(ids[0]), "images/0.jpg"), (signals(ids[2]), "images/2.jpg")]
        assert picture_quality.count_measured(session, dataset) == 2
    with store.writing() as session:
        picture_quality.replace_issues(session, dataset, {"dark": ids[:2], "blurry": ids[1:2]})
    with store.writing() as session:
        picture_quality.replace_issues(session, dataset, {"dark": ids[1:3], "blurry": ids[1:2]})
        word_marks.toggle(session, ids[1], 0, 5, "Ada")
        word_marks.toggle(session, ids[1], 0, 5, "Ben")
    filter = QueueFilter(dataset, order="position", descending=False, picture="dark")
    with store.reading() as session:
        assert [row.pair_id for row in queue.page(session, filter).rows] == ids[1:3]
        assert queue.count(session, filter) == 2
        assert picture_quality.marks_and_issues(session, ids[1]) == ([(0, 5)], ("blurry", "dark"))
        assert picture_quality.marks_and_issues(session, ids[0]) == ([], ())
        assert picture_quality.all_issues(session, dataset) == {
            ids[1]: ("blurry", "dark"), ids[2]: ("dark",),
        }  # fmt: skip
    with pytest.raises(ValueError, match="picture must be one of"):
        QueueFilter(dataset, picture="murky")
    with store.writing() as session:
        datasets.delete_dataset(session, dataset)
