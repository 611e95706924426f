"""Notes are stored, undone and searched with verdicts; guidelines belong to a dataset."""

import pytest

from db import Store
from db.errors import MissingRow, UnstorableText
from db.queries import dataset_queries, opinions, pair_queue, pairs, verdict_queries
from db.queries.pair_queue import QueueFilter
from tests.db.building import add_dataset

HOSTILE = "50% _off_ \\ 'quoted' <b>犬</b>"


def note_of(store: Store, pair_id: int) -> str:
    with store.reading() as session:
        return pairs.get_pair(session, pair_id).note


def test_a_note_follows_its_verdict_through_undo_and_redo(store: Store) -> None:
    dataset, ids = add_dataset(store, 3)
    with store.writing() as session:
        first = verdict_queries.add_verdict(session, ids[0], 0, "drop", author="Ada", note=HOSTILE)
        assert first.note == HOSTILE
        # Repeating the request returns the same act.
        again = verdict_queries.add_verdict(session, ids[0], 0, "drop", author="Ada", note=HOSTILE)
        assert again.id == first.id
    with store.writing() as session:
        verdict_queries.add_verdict(
            session, ids[0], 1, "correct", author="Ada", note="second thought"
        )
    assert note_of(store, ids[0]) == "second thought"
    for expected in (HOSTILE, ""):
        with store.writing() as session:
            verdict_queries.undo_last(session, dataset, "Ada")
        assert note_of(store, ids[0]) == expected
    with store.writing() as session:
        verdict_queries.redo_last(session, dataset, "Ada")
    assert note_of(store, ids[0]) == HOSTILE
    with store.reading() as session:
        assert [act.note for act in verdict_queries.history(session, ids[0])] == [
            HOSTILE, "second thought", HOSTILE, "", HOSTILE,
        ]  # fmt: skip
        kept = [act["note"] for act in opinions.iterate_acts(session, dataset)]
        assert kept == [HOSTILE, "second thought", HOSTILE, "", HOSTILE]


def test_one_undo_removes_the_note_of_many_verdicts(store: Store) -> None:
    dataset, ids = add_dataset(store, 3)
    with store.writing() as session:
        seen = [(pair_id, 0) for pair_id in ids]
        verdict_queries.add_verdicts(session, seen, "unsure", author="Ada", note="ask Ben")
    assert {note_of(store, pair_id) for pair_id in ids} == {"ask Ben"}
    with store.writing() as session:
        verdict_queries.undo_last(session, dataset, "Ada")
    assert {note_of(store, pair_id) for pair_id in ids} == {""}


def test_notes_can_be_searched(store: Store) -> None:
    dataset, ids = add_dataset(store, 4)
    with store.writing() as session:
        verdict_queries.add_verdict(session, ids[0], 0, "drop", author="Ada", note=HOSTILE)
        verdict_queries.add_verdict(
            session, ids[1], 0, "unsure", author="Ada", note="Ask Ben\nor Eve"
        )
        verdict_queries.add_verdict(session, ids[2], 0, "correct", author="Ada")

    def listed(**fields: object) -> list[int]:
        filter = QueueFilter(dataset, order="position", descending=False, **fields)  # pyrefly: ignore[bad-argument-type]
        with store.reading() as session:
            assert pair_queue.count(session, filter) == len(pair_queue.page(session, filter).rows)
            return [row.pair_id for row in pair_queue.page(session, filter).rows]

    assert listed(note="ask ben") == [ids[1]]
    assert listed(note="50% _off_ \\") == [ids[0]]
    assert listed(note="%") == [ids[0]]
    assert listed(noted=True) == ids[:2]
    assert listed(noted=False) == ids[2:]
    assert listed(note="nowhere") == []
    with pytest.raises(UnstorableText):
        listed(note="a\0b")


def test_guidelines_belong_to_their_dataset(store: Store) -> None:
    dataset, _ = add_dataset(store, 1)
    other, _ = add_dataset(store, 1, "other")
    with store.writing() as session:
        dataset_queries.set_guidelines(session, dataset, "# Say what is seen\n" + HOSTILE)
    with store.reading() as session:
        assert dataset_queries.get_dataset(session, dataset).guidelines.endswith(HOSTILE)
        assert dataset_queries.get_dataset(session, other).guidelines == ""
    with pytest.raises(MissingRow), store.writing() as session:
        dataset_queries.set_guidelines(session, 10**6, "x")
