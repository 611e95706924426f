"""The result of a shard: the columns of its Parquet file, written of scored pairs and read again.

They are `id`, `caption`, `split`, `model`; `p_error`, `s_0`, `icc`, `suspects` and `claims` as in
`export_scores`; `picture`: where the pair's picture is, relative to the shard's folder (see
`containers`); `trajectory`: the first step, and the captioner's expectations if there are any;
`set_aside`: whether its caption is not judged by itself, since the shard as a whole has a fault
(`notices`); and every feature that a detector of first steps reads. Of a caption of several claims
both are those of the claim that is most likely wrong, and `claim_trajectories` has the trajectory
of each claim, null for one that repeats another; of any other caption `claims` and
`claim_trajectories` are empty.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pyarrow as pa

from backend.engine.captions import Caption
from backend.engine.claims.claim import Claim
from backend.engine.claims.scored_caption import ScoredCaption, ScoredClaim
from backend.engine.detection.features import NAMES, feature_matrix
from backend.engine.expectation import Expectation
from backend.engine.trajectories.trajectory import AuxiliaryScores, Trajectory
from backend.jobs.export_scores import CLAIM_CELLS, SUSPECT, SUSPECTS, feature_cells, suspect_cells
from backend.jobs.notices import set_aside
from backend.jobs.scoring.stored_claims import CLAIMS, known_claims
from backend.jobs.scoring.stored_rows import latest_batches
from backend.store import Store
from db.queries import detection_queries

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
_CLAIM_TRAJECTORIES = pa.list_(
    pa.struct(
        [
            ("start", pa.int32()), ("end", pa.int32()), ("kind", pa.string()),
            ("repeats", pa.bool_()), ("subject", pa.string()), ("trajectory", _TRAJECTORY),
        ]
    )
)  # fmt: skip
#: What a pair is imported with.
IMPORTED = (
    "id", "caption", "split", "p_error", "icc", "suspects", "picture", "trajectory", CLAIMS,
    "claim_trajectories",
)  # fmt: skip
RESULT_SCHEMA = pa.schema(
    [
        ("id", pa.string()), ("caption", pa.string()), ("split", pa.string()),
        ("p_error", pa.float32()), ("s_0", pa.float32()), ("icc", pa.float32()),
        (SUSPECTS, pa.list_(SUSPECT)), (CLAIMS, CLAIM_CELLS),
        ("model", pa.dictionary(pa.int32(), pa.string())), ("set_aside", pa.bool_()),
        ("picture", pa.string()), ("trajectory", _TRAJECTORY),
        ("claim_trajectories", _CLAIM_TRAJECTORIES),
        *((name, pa.float32()) for name in NAMES if name != "s_0"),
    ]
)  # fmt: skip


def result_rows(store: Store, dataset_id: int, model: str) -> Iterator[dict[str, Any]]:
    """The scored pairs of a dataset in order of import, as dictionaries of the columns."""
    spans = store.read(set_aside, dataset_id)
    for batch, captions in latest_batches(store, dataset_id):
        trajectories = [caption.leading.trajectory for caption in captions]
        ids = [pair.id for pair in batch]
        with store.reading() as session:
            detections = detection_queries.detections_of(session, ids)
            claims = known_claims(session, batch)
        features = feature_matrix(trajectories).tolist()
        for pair, caption, trajectory, values in zip(
            batch, captions, trajectories, features, strict=True
        ):
            of_pair = claims.get(pair.id, ())
            yield feature_cells(values) | {
                "id": pair.external_id, "caption": pair.caption, "split": pair.split,
                "p_error": pair.p_error, "s_0": pair.s_0, "icc": pair.icc, "model": model,
                "set_aside": any(first <= pair.id <= last for first, last in spans),
                "suspects": suspect_cells(detections.get(pair.id)),
                CLAIMS: [claim.cells() for claim in of_pair],
                "picture": pair.image_path, "trajectory": _trajectory_cells(trajectory),
                "claim_trajectories": _claim_cells([each.claim for each in of_pair], caption),
            }  # fmt: skip


def _claim_cells(claims: Sequence[Claim], caption: ScoredCaption) -> list[dict[str, Any]]:
    trajectories = {each.claim.start: _trajectory_cells(each.trajectory) for each in caption.claims}
    return [vars(claim) | {"trajectory": trajectories.get(claim.start)} for claim in claims]


def _trajectory_cells(trajectory: Trajectory) -> dict[str, Any]:
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


def claims_in(row: Mapping[str, Any]) -> list[Claim]:
    """The claims of a row's caption, also those that repeat others; none if it is one claim."""
    names = [field.name for field in fields(Claim)]
    return [Claim(**{name: cells[name] for name in names}) for cells in row["claim_trajectories"]]


def scored_caption_in(row: Mapping[str, Any]) -> ScoredCaption:
    """The caption of a row with its trajectories; without the alternatives that the captioner
    expected."""
    if not row["claim_trajectories"]:
        return ScoredCaption.of_one_claim(_trajectory_in(row["caption"], row["trajectory"]))
    parts = zip(claims_in(row), row["claim_trajectories"], row[CLAIMS], strict=True)
    return ScoredCaption(
        tuple(
            ScoredClaim(
                claim,
                _trajectory_in(claim.question(row["caption"]), cells["trajectory"]),
                numbers["icc"],
                numbers["p_error"],
            )
            for claim, cells, numbers in parts
            if cells["trajectory"] is not None
        )
    )


def _trajectory_in(text: str, cells: Mapping[str, Any]) -> Trajectory:
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
        Caption.parse(text),
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
