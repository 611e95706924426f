"""The later steps of trajectories of which only the first is known, for one pair at a time."""

from dataclasses import replace

from backend.engine.scoring.protocol import ImageState
from backend.engine.trajectories.trajectory import Trajectory
from backend.jobs.stored_trajectories import exploring_of, to_row
from backend.loaded_models import Engine
from backend.store import Store
from db.queries import trajectories as trajectory_queries
from db.queries.runs import RunRow


def whole_of(
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
