"""Computations that are deferred until a pair is opened: the later steps of a
trajectory of which only the first is known, and the probabilities of error of its corrections."""

from collections.abc import Sequence
from dataclasses import replace

from PIL import Image

from backend.engine.scoring.protocol import ImageState
from backend.engine.trajectories.trajectory import Trajectory
from backend.engine.trajectories.word_expectations import with_expectations
from backend.jobs.classifiers import (
    classifier_captioner,
    classifier_in_use,
    probabilities,
    steps_needed_by,
)
from backend.jobs.stored_trajectories import exploring_of, to_row
from backend.loaded_models import Engine
from backend.store import Store
from db.queries import suggestions as suggestion_queries
from db.queries import trajectories as trajectory_queries
from db.queries.pairs import PairRow
from db.queries.runs import RunRow
from db.queries.suggestions import NewSuggestion, SuggestionRow


def complete_trajectory(
    store: Store,
    engine: Engine,
    run: RunRow,
    pair_id: int,
    state: ImageState,
    trajectory: Trajectory,
) -> Trajectory:
    """The pair's whole trajectory under the run: as given if it is whole, or computed and stored.

    `state`: the pair's encoded image (`Scorer.of_pair`). Probability and suspect words stay: they
    follow from the first step.
    """
    if trajectory.whole:
        return trajectory
    (made,) = engine.trajectories([(state, trajectory.caption.text)], exploring=exploring_of(run))
    with store.writing() as session:
        trajectory_queries.save_trajectories(session, run.id, [to_row(pair_id, made)])
    return replace(made, expectation=trajectory.expectation)


def unjudged(store: Store, run: RunRow, pair_id: int) -> list[SuggestionRow]:
    """The corrections of a scored pair that have no probability of error yet."""
    with store.reading() as session:
        suggestions = suggestion_queries.list_suggestions(session, pair_id, run.id)
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
    """Compute and store the probability of error of each of the pair's corrections, by the
    classifier in use; returns whether there is one. `state`: as for `complete_trajectory`."""
    classifier = classifier_in_use(store, pair.dataset_id)
    if classifier is None or not suggestions:
        return False
    trajectories = engine.trajectories(
        [(state, suggestion.caption) for suggestion in suggestions],
        exploring=steps_needed_by(classifier, exploring_of(run)),
    )
    with engine.lock:
        reader = classifier_captioner(engine, classifier)
        trajectories = with_expectations(reader, [image] * len(suggestions), trajectories)
    rows = [
        NewSuggestion(
            pair.id, row.proposer, row.caption, row.s_before, row.s_after, pair.p_error, p_after,
            row.run_id, row.similarity, row.provenance, row.kind,
        )
        for row, p_after in zip(suggestions, probabilities(classifier, trajectories), strict=True)
    ]  # fmt: skip
    with store.writing() as session:
        suggestion_queries.save_suggestions(session, rows)
    return True
