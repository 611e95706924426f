"""Workspaces for tests of jobs."""

from collections.abc import Callable
from pathlib import Path

from backend.settings import MODELS, load_settings
from backend.workspace import Workspace
from db.queries import pair_queries, run_queries
from db.queries.pair_queries import PairRow
from db.queries.run_queries import RunRow

#: (state, copy_of, **settings): the fixture `open_workspace`.
OpenWorkspace = Callable[..., Workspace]
#: Settings of the embedded CLIP.
CLIP = {"kind": "clip", "model": str(MODELS / "scenes-clip")}
#: One family of detectors, where it does not matter which one is best.
QUICK_CLIP = {**CLIP, "detector": "nine signs"}
#: The cheapest scoring, where only the vectors matter.
VECTORS = {**CLIP, "detector": "eight signs", "trajectories": "first-step"}


def opened(state: Path, **settings: object) -> Workspace:
    return Workspace(load_settings({"data_directory": str(state), **settings}, {}))


def score_pairs(base: Path, **settings: object) -> Path:
    """Import the dataset in `base`/pairs and score it, with the state in `base`/state; returns
    `base`."""
    workspace = opened(base / "state", **settings)
    workspace.jobs.score(workspace.find_or_import(str(base / "pairs")), suggestions=False)
    workspace.store.close()
    return base


def pairs_of(workspace: Workspace, dataset_id: int = 1) -> list[PairRow]:
    """The dataset's pairs, those that are hidden as well, in the order of import."""
    with workspace.store.reading() as session:
        return list(pair_queries.iterate_pairs(session, dataset_id))


def scoring_of(workspace: Workspace, dataset_id: int = 1) -> RunRow:
    """The run that scored the dataset last."""
    run = workspace.store.read(run_queries.latest_run, dataset_id, "score")
    assert run is not None
    return run
