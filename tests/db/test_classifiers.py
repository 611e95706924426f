from concurrent.futures import ThreadPoolExecutor

import pytest

from db import Store
from db.errors import MissingRow
from db.queries import classifier_queries
from tests.db.building import add_dataset


def add(store: Store, dataset_id: int, name: str) -> int:
    with store.writing() as session:
        return classifier_queries.add_classifier(
            session, dataset_id, name=name, kind="xgboost", basis="injected", payload=b"\0\xff",
            report={"auc": 0.9, "folds": [1, 2]},
        ).id  # fmt: skip


def test_one_classifier_is_active_and_earlier_ones_can_be_activated_again(store: Store) -> None:
    dataset_id, _ = add_dataset(store, 0)
    other_dataset, _ = add_dataset(store, 0, "other")
    first, second = add(store, dataset_id, "first"), add(store, dataset_id, "second")
    foreign = add(store, other_dataset, "foreign")
    for chosen in (foreign, first, second, second, first):
        with store.writing() as session:
            assert classifier_queries.activate(session, chosen).active
    with store.reading() as session:
        for dataset, expected in ((dataset_id, first), (other_dataset, foreign)):
            active = classifier_queries.active(session, dataset)
            assert active is not None
            assert active.id == expected


def test_concurrent_adoption_leaves_one_classifier_active(store: Store) -> None:
    dataset_id, _ = add_dataset(store, 0)
    ids = [add(store, dataset_id, f"classifier {i}") for i in range(6)]

    def adopt(classifier_id: int) -> None:
        for _ in range(5):
            with store.writing() as session:
                classifier_queries.activate(session, classifier_id)

    with ThreadPoolExecutor(len(ids)) as pool:
        list(pool.map(adopt, ids))
    with store.reading() as session:
        stored = classifier_queries.list_classifiers(session, dataset_id)
    assert sum(classifier.active for classifier in stored) == 1


def test_an_unknown_classifier_is_reported(store: Store) -> None:
    with store.writing() as session:
        for name in ("activate", "get_payload", "get_classifier"):
            with pytest.raises(MissingRow, match="no classifier 7"):
                getattr(classifier_queries, name)(session, 7)
