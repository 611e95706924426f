"""Load stored classifiers and apply them; also to what is computed only when a pair is opened:
later steps of its trajectory, and the probabilities of error of its corrections.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from backend.engine.claims.scored_caption import ScoredCaption
from backend.engine.detection.classifier import Classifier
from backend.engine.detection.features import feature_matrix
from backend.engine.detection.localisation import DEFAULT, WordWeights, suspect_words
from backend.engine.detection.opinion_signs import with_opinions
from backend.engine.detection.types import SuspectWord
from backend.engine.scoring.protocol import ImageState
from backend.engine.trajectories.exploring import Exploring
from backend.engine.trajectories.trajectory import Trajectory
from backend.engine.trajectories.word_expectations import with_expectations
from backend.jobs.scoring.stored_rows import exploring_of, question_of, to_row, with_judgement
from backend.loaded_models import Engine
from backend.store import Store
from db.queries import classifier_queries, suggestion_queries, trajectory_queries
from db.queries.pair_queries import PairRow
from db.queries.run_queries import RunRow
from db.queries.suggestion_queries import SuggestionRow

if TYPE_CHECKING:
    from backend.engine.correction.captioner import Captioner


def classifier_in_use(store: Store, dataset_id: int) -> Classifier | None:
    """The classifier behind the dataset's probabilities, None if there is none yet."""
    with store.reading() as session:
        row = classifier_queries.active(session, dataset_id)
        if row is None:
            return None
        payload = classifier_queries.get_payload(session, row.id)
    return Classifier.from_bytes(payload)


def stored_classifier(store: Store, classifier_id: int) -> Classifier:
    """A classifier by its id. Raises NotFound."""
    return Classifier.from_bytes(store.read(classifier_queries.get_payload, classifier_id))


def probabilities(classifier: Classifier, trajectories: Sequence[Trajectory]) -> list[float]:
    """p_error of each trajectory, in order; higher is worse."""
    if not trajectories:
        return []
    readings = [classifier.read(trajectory) for trajectory in trajectories]
    signs = np.array([trajectory.second_opinion for trajectory in trajectories])
    p_error = classifier.predict(feature_matrix(readings))
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


def doubting(
    classifier: Classifier | None,
) -> Callable[[Trajectory, float | None], tuple[SuspectWord, ...]]:
    """`suspects_by` bound to this classifier, for the words of suggestions."""
    return partial(suspects_by, classifier)


def complete_trajectories(
    store: Store,
    engine: Engine,
    run: RunRow,
    pair_id: int,
    state: ImageState,
    caption: ScoredCaption,
) -> ScoredCaption:
    """The pair's caption with whole trajectories under the run: as given if they are whole, or
    computed and stored.

    `state`: the pair's encoded image (`Scorer.of_pair`). Probability and suspect words stay: they
    follow from the first step.
    """
    if caption.whole_steps:
        return caption
    texts = [(state, scored_claim.trajectory.caption.text) for scored_claim in caption.claims]
    trajectories = engine.trajectories(texts, exploring=exploring_of(run))
    rows = [
        to_row(pair_id, trajectory, scored_claim.claim)
        for trajectory, scored_claim in zip(trajectories, caption.claims, strict=True)
    ]
    store.write(trajectory_queries.save_trajectories, run.id, rows)
    return ScoredCaption(
        tuple(
            replace(
                scored_claim,
                trajectory=replace(trajectory, expectation=scored_claim.trajectory.expectation),
            )
            for trajectory, scored_claim in zip(trajectories, caption.claims, strict=True)
        )
    )


def unjudged_suggestions(store: Store, run: RunRow, pair_id: int) -> list[SuggestionRow]:
    """The corrections of a scored pair that have no probability of error yet."""
    suggestions = store.read(suggestion_queries.list_suggestions, pair_id, run.id)
    return [row for row in suggestions if row.p_before is not None and row.p_after is None]


def judge_suggestions(
    store: Store,
    engine: Engine,
    run: RunRow,
    pair: PairRow,
    image: Image.Image,
    state: ImageState,
    suggestions: Sequence[SuggestionRow],
) -> bool:
    """Compute and store the probability of error of each of the pair's corrections, or of the
    claim that it replaces, by the classifier in use; returns whether there is one. `state`: as for
    `complete_trajectories`."""
    classifier = classifier_in_use(store, pair.dataset_id)
    if classifier is None or not suggestions:
        return False
    trajectories = engine.trajectories(
        [(state, question_of(suggestion)) for suggestion in suggestions],
        exploring=steps_needed_by(classifier, exploring_of(run)),
    )
    with engine.lock:
        reader = classifier_captioner(engine, classifier)
        trajectories = with_expectations(reader, [image] * len(suggestions), trajectories)
    rows = [
        with_judgement(pair.caption, row, p_after, trajectory, doubting(classifier))
        for row, trajectory, p_after in zip(
            suggestions, trajectories, probabilities(classifier, trajectories), strict=True
        )
    ]
    store.write(suggestion_queries.save_suggestions, rows)
    return True
