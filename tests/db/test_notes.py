"""Notes are stored, undone and searched with verdicts; guidelines belong to a dataset."""

import pytest

from db import Store
from db.errors import MissingRow, UnstorableText, VersionConflict
from db.queries import dataset_queries, opinion_queries, verdict_acts, verdict_queries
from db.queries.verdict_acts import VerdictRow
from tests.db.building import add_dataset, decide, in_queue, redo, rows_of, undo

HOSTILE = "50% _off_ \\ 'quoted' <b>犬</b>"


def notes(store: Store, *ids: int) -> list[str]:
    return [row.note for row in rows_of(store, ids)]


def test_a_note_follows_its_verdict_through_undo_and_redo(store: Store) -> None:
    dataset, (pair_id,) = add_dataset(store, 1)
    first = decide(store, pair_id, note=HOSTILE)
    assert decide(store, pair_id, note=HOSTILE, version=0).id == first.id, "a repeated request"
    decide(store, pair_id, "correct", note="second thought")
    assert notes(store, pair_id) == ["second thought"]
    for expected in (HOSTILE, ""):
        undo(store, dataset)
        assert notes(store, pair_id) == [expected]
    redo(store, dataset)
    assert notes(store, pair_id) == [HOSTILE]
    every = [HOSTILE, "second thought", HOSTILE, "", HOSTILE]
    with store.reading() as session:
        assert [act.note for act in verdict_acts.history(session, pair_id)] == every
        assert [act["note"] for act in opinion_queries.iterate_acts(session, dataset)] == every


def test_one_undo_removes_the_note_of_many_verdicts(store: Store) -> None:
    dataset, ids = add_dataset(store, 3)
    with store.writing() as session:
        seen = [(pair_id, 0) for pair_id in ids]
        verdict_queries.add_verdicts(session, seen, "unsure", author="Ada", note="ask Ben")
    assert notes(store, *ids) == ["ask Ben"] * 3
    undo(store, dataset)
    assert notes(store, *ids) == [""] * 3


def test_a_note_alone_decides_nothing(store: Store) -> None:
    dataset, (pair_id, other) = add_dataset(store, 2)

    def add(version: int, note: str = HOSTILE, pair_id: int = pair_id) -> VerdictRow:
        with store.writing() as session:
            return verdict_queries.add_note(session, pair_id, version, note, author="Ada")

    first = add(0)
    assert add(0).id == first.id, "a repeated request"
    with pytest.raises(VersionConflict):
        add(0, "another")
    (row,) = rows_of(store, [pair_id])
    assert (row.note, row.decision, row.decided_by) == (HOSTILE, None, None)
    assert in_queue(store, dataset, review="unreviewed") == [pair_id, other]
    assert in_queue(store, dataset, noted=True) == [pair_id]
    with store.reading() as session:
        assert opinion_queries.of_pair(session, pair_id) == []
    decide(store, pair_id, "correct", note="decided")
    with pytest.raises(VersionConflict):
        add(2)
    for note in (HOSTILE, ""):
        undo(store, dataset, "Ada")
        assert notes(store, pair_id) == [note]
    redo(store, dataset, "Ada")
    assert notes(store, pair_id) == [HOSTILE]
    with store.reading() as session:
        assert opinion_queries.of_pair(session, pair_id) == []


def test_notes_can_be_searched(store: Store) -> None:
    dataset, ids = add_dataset(store, 4)
    decide(store, ids[0], "drop", note=HOSTILE)
    decide(store, ids[1], "unsure", note="Ask Ben\nor Eve")
    decide(store, ids[2], "correct")
    assert in_queue(store, dataset, note="ask ben") == [ids[1]]
    assert in_queue(store, dataset, note="50% _off_ \\") == [ids[0]]
    assert in_queue(store, dataset, note="%") == [ids[0]]
    assert in_queue(store, dataset, noted=True) == ids[:2]
    assert in_queue(store, dataset, noted=False) == ids[2:]
    assert in_queue(store, dataset, note="nowhere") == []
    with pytest.raises(UnstorableText):
        in_queue(store, dataset, note="a\0b")


def test_guidelines_belong_to_their_dataset(store: Store) -> None:
    (dataset, _), (other, _) = add_dataset(store, 1), add_dataset(store, 1, "other")
    with store.writing() as session:
        dataset_queries.set_guidelines(session, dataset, "# Say what is seen\n" + HOSTILE)
    with store.reading() as session:
        assert dataset_queries.get_dataset(session, dataset).guidelines.endswith(HOSTILE)
        assert dataset_queries.get_dataset(session, other).guidelines == ""
    with pytest.raises(MissingRow), store.writing() as session:
        dataset_queries.set_guidelines(session, 10**6, "x")
