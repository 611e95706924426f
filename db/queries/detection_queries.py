"""Detections: probability of error and suspect words."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import exists, select
from sqlalchemy.orm import Session, aliased

from db.blobs import decode_suspects, encode_suspects
from db.models import Detection, Pair, Trajectory
from db.queries.ranking_queries import check_probability, p_error_of
from db.queries.statements import any_of, columns_of, run, save_rows, set_columns


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


_DETECTIONS = select(*columns_of(Detection, DetectionRow)).where(
    Detection.pair_id.in_(any_of("pair_ids"))
)


def save_detections(session: Session, batch: Sequence[DetectionRow]) -> None:
    """Save the newest detections, one per pair, and set p_error of their pairs."""
    save_suspects(session, batch)
    probabilities = {detection.pair_id: detection.p_error for detection in batch}
    rows = session.execute(
        select(Pair.id, Pair.dataset_id).where(Pair.id.in_(probabilities)).order_by(Pair.id)
    ).all()
    for dataset_id in {row.dataset_id for row in rows}:
        name = p_error_of(session, dataset_id).key
        ids = [row.id for row in rows if row.dataset_id == dataset_id]
        set_columns(session, {pair_id: {name: probabilities[pair_id]} for pair_id in ids})


def save_suspects(session: Session, batch: Sequence[DetectionRow]) -> None:
    """Like `save_detections`, for pairs whose p_error is already in use: it is not set again."""
    for detection in batch:
        check_probability(detection.pair_id, detection.p_error)
    rows = [vars(row) | {"suspects": encode_suspects(row.suspects)} for row in batch]
    save_rows(session, Detection, ("pair_id",), rows)


def get_detection(session: Session, pair_id: int) -> DetectionRow | None:
    """None if the pair has not been judged yet."""
    return detections_of(session, [pair_id]).get(pair_id)


def detections_of(session: Session, pair_ids: Sequence[int]) -> dict[int, DetectionRow]:
    """Detections by pair; pairs that have not been judged yet are left out."""
    return {
        row.pair_id: DetectionRow(**row._asdict() | {"suspects": decode_suspects(row.suspects)})
        for row in run(session, _DETECTIONS, pair_ids=pair_ids)
    }


def unjudged_pairs(
    session: Session,
    run_id: int,
    classifier_id: int,
    after: int,
    limit: int,
    only_whole: bool = False,
) -> list[int]:
    """The next pairs with an id above `after` whose trajectory under the run this classifier has
    not judged, in import order; `only_whole`: only those of which all are whole."""
    is_judged = exists().where(
        Detection.pair_id == Trajectory.pair_id,
        Detection.run_id == run_id,
        Detection.classifier_id == classifier_id,
    )
    other = aliased(Trajectory)
    lacks_steps = exists().where(
        other.pair_id == Trajectory.pair_id, other.run_id == run_id, other.whole.is_(False)
    )
    rows = session.execute(
        select(Trajectory.pair_id)
        .distinct()
        .where(
            Trajectory.run_id == run_id,
            Trajectory.pair_id > after,
            ~is_judged,
            *([~lacks_steps] if only_whole else []),
        )
        .order_by(Trajectory.pair_id)
        .limit(limit)
    ).scalars()
    return list(rows)
