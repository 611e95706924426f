"""Load stored classifiers and apply them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from backend.engine.detection.classifier import Classifier
from backend.engine.detection.features import feature_matrix
from backend.engine.detection.localisation import DEFAULT, WordWeights, suspect_words
from backend.engine.detection.opinion_signs import with_opinions
from backend.engine.detection.types import SuspectWord
from backend.engine.trajectories.exploring import Exploring
from backend.engine.trajectories.trajectory import Trajectory
from backend.loaded_models import Engine
from backend.store import Store
from db.queries import classifiers as queries

if TYPE_CHECKING:
    from backend.engine.correction.captioner import Captioner


def classifier_in_use(store: Store, dataset_id: int) -> Classifier | None:
    """The classifier behind the dataset's probabilities, None if there is none yet."""
    with store.reading() as session:
        row = queries.active(session, dataset_id)
        if row is None:
            return None
        payload = queries.get_payload(session, row.id)
    return Classifier.from_bytes(payload)


def stored_classifier(store: Store, classifier_id: int) -> tuple[queries.ClassifierRow, Classifier]:
    """A classifier and its database row, by id."""
    with store.reading() as session:
        row = queries.get_classifier(session, classifier_id)
        payload = queries.get_payload(session, classifier_id)
    return row, Classifier.from_bytes(payload)


def probabilities(classifier: Classifier, trajectories: Sequence[Trajectory]) -> list[float]:
    """p_error of each trajectory, in order; higher is worse."""
    if not trajectories:
        return []
    read = [classifier.read(trajectory) for trajectory in trajectories]
    signs = np.array([trajectory.second_opinion for trajectory in trajectories])
    p_error = classifier.predict(feature_matrix(read))
    return with_opinions(p_error, signs, classifier.opinion_weight).tolist()


def suspects_by(
    classifier: Classifier | None, trajectory: Trajectory, p_error: float | None
) -> tuple[SuspectWord, ...]:
    """The suspect words by the classifier's weights, from the steps that it reads: those of a
    classifier of first steps do not change when later steps become known."""
    if classifier is not None and classifier.first_step:
        trajectory = trajectory.first_step()
    return suspect_words(trajectory, p_error, word_weights(classifier))


def word_weights(classifier: Classifier | None) -> WordWeights:
    """The weights of the suspect-word features on this classifier's dataset."""
    return classifier.words if classifier is not None else DEFAULT


def classifier_captioner(engine: Engine, classifier: Classifier | None) -> "Captioner | None":
    """The session's captioner if the classifier was trained with its evidence: new captions judged
    by this classifier need it too."""
    if classifier is None or not classifier.captioner:
        return None
    captioner = engine.captioner
    return captioner if captioner and captioner.identity == classifier.captioner else None


def steps_needed_by(
    classifier: Classifier | None, exploring: Exploring, words: bool = False
) -> Exploring:
    """How to compute trajectories that only this classifier will read: without the later steps,
    whose cost is quadratic in the caption's length, if its probability does not depend on them.
    `words`: the suspect words (`suspects_by`) must not depend on them either."""
    if classifier is None or (classifier.needs_steps if not words else not classifier.first_step):
        return exploring
    return replace(exploring, whole=False)


def judging(
    classifier: Classifier | None,
) -> Callable[[Sequence[Trajectory]], list[float]] | None:
    """`probabilities` bound to this classifier, for judging suggestions; None without one."""
    return partial(probabilities, classifier) if classifier is not None else None
