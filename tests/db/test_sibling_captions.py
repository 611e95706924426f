"""The captions of one picture, and the order in which they follow each other."""

from db import Store
from db.queries import blind_review, dataset_queries, queue_queries
from db.queries.pair_queries import NewPair, captions_of_picture
from db.queries.queue_filter import QueueFilter
from tests.db.building import add_pairs, decide, plans, watching

#: Longer than what the index holds of an address.
LONG = "images/" + "a" * 600


def test_the_captions_of_a_picture_in_import_order(store: Store) -> None:
    addresses = ["b.jpg", "a.jpg", f"{LONG}1.jpg", "b.jpg", "a.jpg", f"{LONG}2.jpg"]
    rows = [NewPair(f"pair-{i}", name, f"text {i}") for i, name in enumerate(addresses)]
    (dataset, ids), _ = (add_pairs(store, name, rows) for name in ("photos", "others"))
    decide(store, ids[3])

    def of(address: str) -> list[int]:
        with store.reading() as session:
            return [row.pair_id for row in captions_of_picture(session, dataset, address)]

    assert of("b.jpg") == [ids[0], ids[3]]
    assert of(f"{LONG}1.jpg") == [ids[2]]
    assert of(f"{LONG}2.jpg") == [ids[5]]
    assert of("c.jpg") == []
    with store.reading() as session:
        listed = captions_of_picture(session, dataset, "b.jpg")
        assert [(row.caption, row.decision) for row in listed] == [
            ("text 0", None), ("text 3", "drop"),
        ]  # fmt: skip
        queue = QueueFilter(dataset, order="picture", descending=False)
        page = queue_queries.page(session, queue, limit=3)
        rest = queue_queries.page(session, queue, page.next_cursor, 9)
    together = [row.image_path for row in (*page.rows, *rest.rows)]
    assert together == sorted(addresses)


def test_they_are_read_by_their_index(sqlite_store: Store) -> None:
    """Every pair that is opened needs them."""
    dataset, _ = add_pairs(sqlite_store, "photos", [NewPair("pair", "a.jpg", "text")])
    with watching(sqlite_store) as statements, sqlite_store.reading() as session:
        captions_of_picture(session, dataset, "a.jpg")
    assert ["ix_pairs_picture" in plan for plan in plans(sqlite_store, statements)] == [True]


def test_a_verdict_that_is_hidden_from_the_reader_stays_hidden(store: Store) -> None:
    rows = [NewPair(f"p-{i}", "a.jpg", "text") for i in range(2)]
    dataset, (first, _) = add_pairs(store, "photos", rows)
    with store.writing() as session:
        dataset_queries.set_overlap(session, dataset, 1.0, 2)
    decide(store, first)
    decision_of = {}
    for reader in (None, "Ada", "Ben"):
        with store.reading() as session:
            blind_review.set_reader(session, reader)
            decision_of[reader] = captions_of_picture(session, dataset, "a.jpg")[0].decision
    assert decision_of == {None: "drop", "Ada": "drop", "Ben": None}
