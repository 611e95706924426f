"""Classifiers between store and engine: which one is in use, and what it says."""

from collections.abc import Callable, Sequence
from functools import partial

from backend.detection.classifier import Classifier
from backend.detection.features import feature_matrix
from backend.store import Store
from backend.trajectories.trajectory import Trajectory
from db.queries import classifiers as queries


def classifier_in_use(store: Store, dataset_id: int) -> Classifier | None:
    """The classifier that the dataset's probabilities come from, None before the first."""
    with store.reading() as session:
        row = queries.active(session, dataset_id)
        if row is None:
            return None
        payload = queries.get_payload(session, row.id)
    return Classifier.from_bytes(payload)


def stored_classifier(store: Store, classifier_id: int) -> tuple[queries.ClassifierRow, Classifier]:
    """One classifier by its id, with what is known about it."""
    with store.reading() as session:
        row = queries.get_classifier(session, classifier_id)
        payload = queries.get_payload(session, classifier_id)
    return row, Classifier.from_bytes(payload)


def probabilities(classifier: Classifier, trajectories: Sequence[Trajectory]) -> list[float]:
    """p_error of each trajectory, in order; higher is worse."""
    if not trajectories:
        return []
    return [float(p) for p in classifier.predict(feature_matrix(trajectories))]


def judging(
    classifier: Classifier | None,
) -> Callable[[Sequence[Trajectory]], list[float]] | None:
    """`probabilities` by this classifier, for what judges suggestions; None without one."""
    return partial(probabilities, classifier) if classifier is not None else None
