"""Saved views: unique by name and deleted with their dataset."""

from db import Store
from db.queries import dataset_queries, view_queries
from tests.db.building import add_dataset


def names(store: Store, dataset_id: int) -> dict[str, dict[str, str]]:
    with store.reading() as session:
        return {row.name: row.fields for row in view_queries.list_views(session, dataset_id)}


def test_a_view_is_saved_replaced_and_deleted(store: Store) -> None:
    dataset_id, _ = add_dataset(store, 1)
    other, _ = add_dataset(store, 1, "others")
    with store.writing() as session:
        view_queries.save_view(session, dataset_id, "weak", {"s_0_to": "0.3"}, "Ada")
        view_queries.save_view(session, dataset_id, "dogs 🐕", {"text": "dog"}, "Ada")
        view_queries.save_view(session, other, "weak", {"order": "random"}, "Ben")
    with store.writing() as session:
        view_queries.save_view(session, dataset_id, "weak", {"s_0_to": "0.2"}, "Ben")
    assert names(store, dataset_id) == {"dogs 🐕": {"text": "dog"}, "weak": {"s_0_to": "0.2"}}
    with store.writing() as session:
        view_queries.delete_view(session, dataset_id, "weak")
        view_queries.delete_view(session, dataset_id, "weak")
    assert list(names(store, dataset_id)) == ["dogs 🐕"]
    with store.writing() as session:
        dataset_queries.delete_dataset(session, dataset_id)
    assert names(store, dataset_id) == {}
    assert list(names(store, other)) == ["weak"]
