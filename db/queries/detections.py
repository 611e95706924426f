"""Detections: probability of error and suspect words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import bindparam, exists, select, update
from sqlalchemy.orm import Session

from db.blobs import decode_suspects, encode_suspects
from db.models import Detection, Pair, Trajectory
from db.queries.probabilities import check_probability, p_error_of
from db.queries.statements import insert_for, table_of


@dataclass(frozen=True)
class DetectionRow:
    """`p_error`: probability that the caption is wrong, in [0, 1], None without a classifier.
    `suspects`: (start, end, score) in characters of the caption; scores in [0, 1] are stored in
    steps of 1/255. Higher is worse for both."""

    pair_id: int
    p_error: float | None
    suspects: tuple[tuple[int, int, float], ...]
    run_id: int | None = None
    classifier_id: int | None = None


def save_detections(session: Session, batch: Sequence[DetectionRow]) -> None:
    """Save the newest detections, one per pair, and set p_error of their pairs."""
    save_suspects(session, batch)
    _set_on_pairs(session, {detection.pair_id: detection.p_error for detection in batch})


def save_suspects(session: Session, batch: Sequence[DetectionRow]) -> None:
    """Like `save_detections`, for pairs whose p_error is already in use: it is not set again."""
    if not batch:
        return
    for detection in batch:
        check_probability(detection.pair_id, detection.p_error)
    ordered = sorted(batch, key=lambda detection: detection.pair_id)
    insert = insert_for(session, Detection)
    upsert = insert.on_conflict_do_update(
        index_elements=["pair_id"],
        set_={
            name: insert.excluded[name]
            for name in ("run_id", "classifier_id", "p_error", "suspects")
        },
    )
    session.connection().execute(
        upsert,
        [
            {
                "pair_id": detection.pair_id,
                "run_id": detection.run_id,
                "classifier_id": detection.classifier_id,
                "p_error": detection.p_error,
                "suspects": encode_suspects(detection.suspects),
            }
            for detection in ordered
        ],
    )


def get_detection(session: Session, pair_id: int) -> DetectionRow | None:
    """None if the pair has not been judged yet."""
    return detections_of(session, [pair_id]).get(pair_id)


def detections_of(session: Session, pair_ids: Sequence[int]) -> dict[int, DetectionRow]:
    """Detections by pair; pairs that have not been judged yet are left out."""
    rows = session.execute(
        select(
            Detection.pair_id,
            Detection.p_error,
            Detection.suspects,
            Detection.run_id,
            Detection.classifier_id,
        ).where(Detection.pair_id.in_(pair_ids))
    )
    return {
        row.pair_id: DetectionRow(
            pair_id=row.pair_id,
            p_error=row.p_error,
            suspects=decode_suspects(row.suspects),
            run_id=row.run_id,
            classifier_id=row.classifier_id,
        )
        for row in rows
    }


def unjudged(
    session: Session,
    run_id: int,
    classifier_id: int,
    after: int,
    limit: int,
    only_whole: bool = False,
) -> list[int]:
    """The next pairs with an id above `after` whose trajectory under the run this classifier has
    not judged, in import order; `only_whole`: only those with a whole trajectory."""
    done = exists().where(
        Detection.pair_id == Trajectory.pair_id,
        Detection.run_id == run_id,
        Detection.classifier_id == classifier_id,
    )
    rows = session.execute(
        select(Trajectory.pair_id)
        .where(
            Trajectory.run_id == run_id,
            Trajectory.pair_id > after,
            ~done,
            *([Trajectory.whole.is_(True)] if only_whole else []),
        )
        .order_by(Trajectory.pair_id)
        .limit(limit)
    ).scalars()
    return list(rows)


def _set_on_pairs(session: Session, probabilities: Mapping[int, float | None]) -> None:
    pairs = table_of(Pair)
    rows = session.execute(
        select(Pair.id, Pair.dataset_id).where(Pair.id.in_(probabilities)).order_by(Pair.id)
    ).all()
    for dataset_id in {row.dataset_id for row in rows}:
        column = p_error_of(session, dataset_id)
        session.connection().execute(
            update(pairs)
            .where(pairs.c.id == bindparam("pair"))
            .values({column.key: bindparam("value")}),
            [
                {"pair": row.id, "value": probabilities[row.id]}
                for row in rows
                if row.dataset_id == dataset_id
            ],
        )
