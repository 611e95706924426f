"""The rows of a shard's result: what is written about a pair, and the trajectory read back.

`id`, `caption`, `split`; `p_error`, `s_0`, `icc`, `suspects` (as in `export_scores`); `model`;
`picture`: where the pair's picture is, relative to the shard's folder (see `containers`);
`trajectory`: the first step, and the captioner's expectations if there are any; and every feature
that a detector of first steps reads.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from backend.engine.captions import Caption
from backend.engine.detection.features import NAMES, feature_matrix
from backend.engine.expectation import Expectation
from backend.engine.trajectories.trajectory import AuxiliaryScores, Trajectory
from backend.jobs.export_scores import feature_cells, suspect_cells
from backend.jobs.stored_trajectories import latest_batches
from backend.store import Store
from db.queries import detections as detection_queries

_NUMBERS = pa.list_(pa.float32())
_TRAJECTORY = pa.struct(
    [
        ("scores", _NUMBERS), ("similarities", _NUMBERS), ("removed", pa.list_(pa.int32())),
        ("first_step_scores", _NUMBERS), ("truncated", pa.bool_()),
        ("captions", pa.list_(pa.string())), ("whole", pa.bool_()),
        ("auxiliary", pa.list_(_NUMBERS)),
        ("log_p", _NUMBERS), ("distance", _NUMBERS), ("captioner", pa.string()),
    ]
)  # fmt: skip
#: What a pair is imported with.
IMPORTED = (
    "id", "caption", "split", "p_error", "icc", "suspects", "picture", "trajectory",
)  # fmt: skip
SCHEMA = pa.schema(
    [
        ("id", pa.string()), ("caption", pa.string()), ("split", pa.string()),
        ("p_error", pa.float32()), ("s_0", pa.float32()), ("icc", pa.float32()),
        ("suspects", pa.list_(_NUMBERS)),
        ("model", pa.dictionary(pa.int32(), pa.string())),
        ("picture", pa.string()), ("trajectory", _TRAJECTORY),
        *((name, pa.float32()) for name in NAMES if name != "s_0"),
    ]
)  # fmt: skip


def result_rows(store: Store, dataset_id: int, model: str) -> Iterator[dict[str, Any]]:
    """The scored pairs of a dataset in order of import, as dictionaries of the columns."""
    for batch, trajectories in latest_batches(store, dataset_id):
        ids = [pair.id for pair in batch]
        with store.reading() as session:
            detections = detection_queries.detections_of(session, ids)
        features = feature_matrix(trajectories).tolist()
        for pair, trajectory, values in zip(batch, trajectories, features, strict=True):
            yield feature_cells(values) | {
                "id": pair.external_id, "caption": pair.caption, "split": pair.split,
                "p_error": pair.p_error, "s_0": pair.s_0, "icc": pair.icc, "model": model,
                "suspects": suspect_cells(detections.get(pair.id)),
                "picture": pair.image_path, "trajectory": _cells(trajectory),
            }  # fmt: skip


def _cells(trajectory: Trajectory) -> dict[str, Any]:
    auxiliary, expectation = trajectory.auxiliary, trajectory.expectation
    cells: dict[str, Any] = {
        name: getattr(trajectory, name)
        for name in ("scores", "similarities", "removed", "first_step_scores", "truncated",
                     "captions", "whole")
    }  # fmt: skip
    if auxiliary is not None:
        cells["auxiliary"] = [auxiliary.scores, auxiliary.first_step_scores]
    if expectation is not None:
        cells |= {name: getattr(expectation, name) for name in ("log_p", "distance", "captioner")}
    return cells


def trajectory_in(row: Mapping[str, Any]) -> Trajectory:
    """The trajectory of a row; without the alternatives that the captioner expected."""
    cells = row["trajectory"]

    def numbers(cell: list[float]) -> np.ndarray:
        return np.array(cell, np.float32)

    auxiliary = expectation = None
    if cells["auxiliary"] is not None:
        auxiliary = AuxiliaryScores(*map(numbers, cells["auxiliary"]))
    if cells["captioner"] is not None:
        expectation = Expectation(
            numbers(cells["log_p"]), numbers(cells["distance"]), captioner=cells["captioner"]
        )
    return Trajectory(
        Caption.parse(row["caption"]),
        numbers(cells["scores"]),
        numbers(cells["similarities"]),
        tuple(cells["removed"]),
        numbers(cells["first_step_scores"]),
        cells["truncated"],
        None if cells["captions"] is None else tuple(cells["captions"]),
        auxiliary,
        expectation,
        cells["whole"],
    )
