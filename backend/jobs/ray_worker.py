"""A cluster worker: pairs in, trajectories out, computed by the regular engine."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from backend.engine.captions import Caption
from backend.engine.familiarity import Familiarity
from backend.engine.trajectories.exploring import Exploring
from backend.engine.trajectories.trajectory import AuxiliaryScores, Trajectory
from backend.jobs.image_batches import open_pictures
from backend.jobs.known_pictures import encode_known
from backend.loaded_models import Engine
from backend.settings import Settings

#: Schemas of inputs and results, one row per pair. A pair whose picture cannot be read or is
#: unknown to the model comes back with only the `problem`.
QUESTIONS = pa.schema([("pair_id", pa.int64()), ("image", pa.string()), ("caption", pa.string())])
_FLOATS = pa.list_(pa.float32())
RESULTS = pa.schema(
    [
        ("pair_id", pa.int64()), ("image", pa.string()), ("caption", pa.string()),
        ("problem", pa.string()), ("unknown", pa.bool_()),
        ("scores", _FLOATS), ("similarities", _FLOATS), ("removed", pa.list_(pa.int32())),
        ("first_step_scores", _FLOATS), ("truncated", pa.bool_()),
        ("captions", pa.list_(pa.string())),
        ("second_scores", _FLOATS), ("second_first_step_scores", _FLOATS),
        ("image_embedding", _FLOATS), ("whole", pa.bool_()),
    ]
)  # fmt: skip


class ScoringWorker:
    """Loads the models once; then scores batch after batch (Ray Data's `map_batches`)."""

    def __init__(
        self,
        settings: Settings,
        root: str,
        exploring: Exploring,
        prepared: Any,  #: the result of `Scorer.prepare` in the driver
        recognises: bool = False,  #: whether pictures that the model does not know are left out
    ) -> None:
        self._engine = Engine(settings)
        self._root = Path(root)
        self._exploring = exploring
        self._known = Familiarity.of_model(settings.model) if recognises else None
        self._engine.scorer.take_over(prepared)

    def __call__(self, batch: pa.Table) -> pa.Table:
        records = batch.to_pylist()
        opened = open_pictures(self._root, [row["image"] for row in records])
        states, problems, unknown = encode_known(self._engine, opened, self._known)
        readable = [row for row in records if row["image"] in states]
        trajectories = self._engine.trajectories(
            [(states[row["image"]], row["caption"]) for row in readable],
            [row["pair_id"] for row in readable],
            self._exploring,
        )
        vectors = self._engine.image_embeddings([states[row["image"]] for row in readable])
        rows = [
            {**row, **_columns(trajectory), "image_embedding": None if vectors is None else vector}
            for row, trajectory, vector in zip(
                readable, trajectories, vectors if vectors is not None else readable, strict=True
            )
        ]
        rows += [
            {**row, "problem": why, "unknown": row["image"] in unknown}
            for row in records
            if (why := problems.get(row["image"]) or unknown.get(row["image"])) is not None
        ]
        return pa.Table.from_pylist(rows, RESULTS)


def _columns(trajectory: Trajectory) -> dict[str, Any]:
    auxiliary = trajectory.auxiliary
    return {
        "problem": None,
        "unknown": False,
        "scores": trajectory.scores,
        "similarities": trajectory.similarities,
        "removed": list(trajectory.removed),
        "first_step_scores": trajectory.first_step_scores,
        "truncated": trajectory.truncated,
        "whole": trajectory.whole,
        "captions": None if trajectory.captions is None else list(trajectory.captions),
        "second_scores": None if auxiliary is None else auxiliary.scores,
        "second_first_step_scores": None if auxiliary is None else auxiliary.first_step_scores,
    }


def trajectory_of(row: Mapping[str, Any]) -> Trajectory:
    """The trajectory in a row of RESULTS whose `problem` is null."""

    def floats(name: str) -> Any:
        return np.array(row[name], np.float32)

    auxiliary = None
    if row["second_scores"] is not None:
        auxiliary = AuxiliaryScores(floats("second_scores"), floats("second_first_step_scores"))
    return Trajectory(
        Caption.parse(row["caption"]),
        floats("scores"),
        floats("similarities"),
        tuple(row["removed"]),
        floats("first_step_scores"),
        row["truncated"],
        None if row["captions"] is None else tuple(row["captions"]),
        auxiliary,
        whole=row["whole"],
    )
