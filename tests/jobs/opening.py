"""Workspaces for tests of jobs."""

from collections.abc import Callable
from pathlib import Path

from backend.settings import MODELS, load_settings
from backend.workspace import Workspace

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
