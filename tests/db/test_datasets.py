import numpy as np
import pytest

from db import Store
from db.errors import AlreadyExists, MissingRow
from db.queries import (
    classifier_queries,
    dataset_queries,
    detection_queries,
    job_queries,
    pair_queries,
    signal_queries,
    suggestion_queries,
    trajectory_queries,
)
from db.queries.dataset_queries import ProblemRow
from db.queries.detection_queries import DetectionRow
from db.queries.suggestion_queries import NewSuggestion
from db.queries.trajectory_queries import TrajectoryRow
from tests.db.building import add_dataset, decide, start_run, undo


def test_a_dataset_is_found_by_name_and_by_id(store: Store) -> None:
    with store.writing() as session:
        dataset = dataset_queries.create_dataset(
            session, "café", "/a/metadata.csv", "/a", note="of Ada"
        )
    with store.reading() as session:
        assert dataset_queries.get_dataset(session, "café") == dataset
        assert dataset_queries.get_dataset(session, dataset.id) == dataset
        assert dataset_queries.list_datasets(session) == [dataset]
    assert dataset.created_at.utcoffset() is not None


def test_dataset_names_are_unique(store: Store) -> None:
    add_dataset(store, 2)
    with pytest.raises(AlreadyExists, match="'photos'"), store.writing() as session:
        dataset_queries.create_dataset(session, "photos", "", "")
    with store.reading() as session:
        assert len(dataset_queries.list_datasets(session)) == 1


def test_an_unknown_dataset_is_reported_with_the_existing_ones(store: Store) -> None:
    with store.reading() as session, pytest.raises(MissingRow, match="none yet"):
        dataset_queries.get_dataset(session, "photos")
    add_dataset(store, 0, "drawings")
    with store.reading() as session, pytest.raises(MissingRow, match="It has 'drawings'"):
        dataset_queries.get_dataset(session, "photos")


def fill(store: Store, name: str) -> int:
    """A dataset with something in every table."""
    dataset_id, ids = add_dataset(store, 5, name)
    run_id = start_run(store, dataset_id)
    scores = np.array([0.1, 0.2], np.float32)
    with store.writing() as session:
        trajectory_queries.save_trajectories(
            session, run_id, [TrajectoryRow(i, scores, scores, (0,), scores[:1]) for i in ids]
        )
        classifier = classifier_queries.add_classifier(
            session, dataset_id, name="a", kind="cart", basis="injected", payload=b"x", report={}
        )
        classifier_queries.activate(session, classifier.id)
        detection_queries.save_detections(
            session, [DetectionRow(i, 0.5, ((0, 5, 1.0),), run_id, classifier.id) for i in ids]
        )
        signal_queries.save_icc(session, dict.fromkeys(ids, 0.5))
        suggestion_queries.save_suggestions(
            session,
            [NewSuggestion(i, "trajectory", "better", 0.1, 0.2, run_id=run_id) for i in ids],
        )
        suggestion = suggestion_queries.list_suggestions(session, ids[0])[0]
        dataset_queries.add_problems(
            session, dataset_id, [ProblemRow("a.csv", 3, "image", "unreadable")]
        )
        job_queries.create_job(session, "score", dataset_id)
    decide(store, ids[0], "correction", caption="better", suggestion_id=suggestion.id)
    decide(store, ids[1])
    undo(store, dataset_id)
    return dataset_id


def test_deleting_a_dataset_removes_its_rows_and_no_others(store: Store) -> None:
    doomed, kept = fill(store, "doomed"), fill(store, "kept")
    with store.writing() as session:
        dataset_queries.delete_dataset(session, doomed)
    with store.reading() as session:
        assert [dataset.id for dataset in dataset_queries.list_datasets(session)] == [kept]
        assert pair_queries.counts(session, doomed).total == 0
        counts = pair_queries.counts(session, kept)
        assert (counts.total, counts.scored, counts.reviewed) == (5, 5, 1)
        for pair in pair_queries.iterate_pairs(session, kept):
            assert trajectory_queries.get_trajectories(session, pair.id)
            assert detection_queries.get_detection(session, pair.id) is not None
            assert len(suggestion_queries.list_suggestions(session, pair.id)) == 1
        assert dataset_queries.count_problems(session, kept) == 1
        assert classifier_queries.active(session, kept) is not None


def test_ids_of_a_deleted_dataset_are_not_reused(store: Store) -> None:
    doomed, old_ids = add_dataset(store, 3)
    with store.writing() as session:
        dataset_queries.delete_dataset(session, doomed)
    again, new_ids = add_dataset(store, 3)
    assert again != doomed
    assert not set(old_ids) & set(new_ids)
    with pytest.raises(MissingRow), store.writing() as session:
        dataset_queries.delete_dataset(session, doomed)


def test_problems_are_listed_in_order_and_page_by_page(store: Store) -> None:
    dataset_id, _ = add_dataset(store, 0)
    problems = [ProblemRow("a.csv", row, "image", f"row {row}", f"id-{row}") for row in range(7)]
    unstorable = ProblemRow("a\x00.csv", None, "text", "half \ud83d of it")
    with store.writing() as session:
        dataset_queries.add_problems(session, dataset_id, [*problems, unstorable])
        dataset_queries.add_problems(session, dataset_id, [])
    with store.writing() as session:
        *listed, last = dataset_queries.list_problems(session, dataset_id, offset=5, limit=10)
        assert listed == problems[5:]
        assert (last.file, last.message) == ("a\ufffd.csv", "half ? of it"), "still reported"
        assert dataset_queries.count_problems(session, dataset_id) == 8
        dataset_queries.clear_problems(session, dataset_id)
        assert dataset_queries.count_problems(session, dataset_id) == 0


def test_scoring_anew_forgets_what_it_noted_and_not_what_the_import_left_out(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 1)
    with store.writing() as session:
        (pair,) = pair_queries.pairs_of(session, ids)
        files = ("left-out.png", pair.image_path)
        noted = [ProblemRow(name, None, "image", "no") for name in files]
        dataset_queries.add_problems(session, dataset_id, noted)
        dataset_queries.clear_problems(session, dataset_id, "image")
        assert dataset_queries.list_problems(session, dataset_id, 0, 9) == noted[:1]
