"""What each worker of a cluster does: pairs in, trajectories out. The same engine as everywhere."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from backend.captions import Caption
from backend.engine import Engine
from backend.pipeline.pictures import encode_images
from backend.scoring.lemon import LemonParameters, LemonScorer, NeighbourBank
from backend.settings import Settings
from backend.trajectories.exploring import Exploring
from backend.trajectories.trajectory import SecondOpinion, Trajectory

#: What is sent to the workers, and what comes back: a row a pair. A pair whose picture cannot be
#: read comes back with the `problem` and nothing else.
QUESTIONS = pa.schema([("pair_id", pa.int64()), ("image", pa.string()), ("caption", pa.string())])
_FLOATS = pa.list_(pa.float32())
RESULTS = pa.schema(
    [
        ("pair_id", pa.int64()), ("image", pa.string()), ("caption", pa.string()),
        ("problem", pa.string()),
        ("scores", _FLOATS), ("similarities", _FLOATS), ("removed", pa.list_(pa.int32())),
        ("first_step_scores", _FLOATS), ("truncated", pa.bool_()),
        ("captions", pa.list_(pa.string())),
        ("second_scores", _FLOATS), ("second_first_step_scores", _FLOATS),
        ("image_embedding", _FLOATS),
    ]
)  # fmt: skip


class ScoringWorker:
    """Loads the models once; then scores batch after batch (Ray Data's `map_batches`)."""

    def __init__(
        self,
        settings: Settings,
        root: str,
        exploring: Exploring,
        lemon: tuple[NeighbourBank, LemonParameters] | None,
    ) -> None:
        self._engine = Engine(settings)
        self._root = Path(root)
        self._exploring = exploring
        if lemon is not None:
            scorer = self._engine.scorer
            assert isinstance(scorer, LemonScorer)
            scorer.bank, scorer.parameters = lemon

    def __call__(self, batch: pa.Table) -> pa.Table:
        asked = batch.to_pylist()
        states, problems = encode_images(self._engine, self._root, [one["image"] for one in asked])
        readable = [one for one in asked if one["image"] in states]
        trajectories = self._engine.trajectories(
            [(states[one["image"]], one["caption"]) for one in readable],
            [one["pair_id"] for one in readable],
            self._exploring,
        )
        vectors = self._engine.image_embeddings([states[one["image"]] for one in readable])
        rows = [
            {**one, **_columns(trajectory), "image_embedding": None if vectors is None else vector}
            for one, trajectory, vector in zip(
                readable, trajectories, vectors if vectors is not None else readable, strict=True
            )
        ]
        rows += [
            {**one, "problem": problems[one["image"]]}
            for one in asked
            if one["image"] not in states
        ]
        return pa.Table.from_pylist(rows, RESULTS)


def _columns(trajectory: Trajectory) -> dict[str, Any]:
    second = trajectory.second
    return {
        "problem": None,
        "scores": trajectory.scores,
        "similarities": trajectory.similarities,
        "removed": list(trajectory.removed),
        "first_step_scores": trajectory.first_step_scores,
        "truncated": trajectory.truncated,
        "captions": None if trajectory.captions is None else list(trajectory.captions),
        "second_scores": None if second is None else second.scores,
        "second_first_step_scores": None if second is None else second.first_step_scores,
    }


def trajectory_of(row: Mapping[str, Any]) -> Trajectory:
    """A row of RESULTS without a problem as it was at the worker."""

    def floats(name: str) -> Any:
        return np.array(row[name], np.float32)

    second = None
    if row["second_scores"] is not None:
        second = SecondOpinion(floats("second_scores"), floats("second_first_step_scores"))
    return Trajectory(
        Caption.parse(row["caption"]),
        floats("scores"),
        floats("similarities"),
        tuple(row["removed"]),
        floats("first_step_scores"),
        row["truncated"],
        None if row["captions"] is None else tuple(row["captions"]),
        second,
    )
