"""Words marked as wrong: set and removed, by several people, independent of suspect words."""

from sqlalchemy.orm import Session

from db import Store
from db.queries import dataset_queries, detection_queries, word_mark_queries
from db.queries.detection_queries import DetectionRow
from tests.db.building import add_dataset


def marks(session: Session, pair_id: int) -> list[tuple[int, int]]:
    return word_mark_queries.marks_and_tags(session, pair_id)[0]


def test_marks_of_several_curators_are_set_and_removed(store: Store) -> None:
    dataset_id, (first, second) = add_dataset(store, 2)
    with store.writing() as session:
        detection_queries.save_detections(
            session, [DetectionRow(i, 0.5, ((0, 5, 0.1), (6, 12, 0.9))) for i in (first, second)]
        )
        assert word_mark_queries.toggle(session, first, 6, 12, "Ada")
        assert word_mark_queries.toggle(session, first, 6, 12, "Ben")
        assert word_mark_queries.toggle(session, first, 0, 5, "Ben")
    with store.writing() as session:
        assert marks(session, first) == [(0, 5), (6, 12)]
        assert not word_mark_queries.toggle(session, first, 0, 5, "Ben")
        assert not word_mark_queries.toggle(session, first, 6, 12, "Ada")
        assert marks(session, first) == [(6, 12)], "Ben still says so"
        assert marks(session, second) == []
        ((spans, words),) = word_mark_queries.marked_and_suspect(session, dataset_id)
    assert spans == {(6, 12)}
    assert [(start, end) for start, end, _ in words] == [(0, 5), (6, 12)]
    with store.writing() as session:
        dataset_queries.delete_dataset(session, dataset_id)
        assert list(word_mark_queries.marked_and_suspect(session, dataset_id)) == []
