"""The stored answers of a second opinion, and the signs that follow from them."""

from collections.abc import Mapping, Sequence

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from db.blobs import encode_suspects
from db.models import Pair, PairNumber, SecondOpinion
from db.queries import measure_queries
from db.queries.pair_queries import PairCaption
from db.queries.ranking_queries import check_probability, p_error_of
from db.queries.signal_queries import ModelAnswerRow, opinions_where
from db.queries.statements import in_dataset, lock_pairs, save_rows

_MEASURE = "second_opinion"


def unasked_pairs(session: Session, dataset_id: int, run_id: int, limit: int) -> list[PairCaption]:
    """The pairs that are most likely wrong among those that the run has no answer about."""
    p_error = p_error_of(session, dataset_id)
    answered_ids = select(SecondOpinion.pair_id).where(SecondOpinion.run_id == run_id)
    rows = session.execute(
        select(Pair.id, Pair.image_path, Pair.caption)
        .where(in_dataset(dataset_id), p_error.is_not(None), Pair.id.not_in(answered_ids))
        .order_by(p_error.desc(), Pair.id)
        .limit(max(0, limit))
    )
    return [PairCaption(*row) for row in rows]


def save_opinion(session: Session, run_id: int, row: ModelAnswerRow) -> None:
    """Save an answer; replaces that of the same run."""
    check_probability(row.pair_id, row.p_yes)
    values = vars(row) | {"run_id": run_id, "deletions": encode_suspects(row.deletions)}
    save_rows(session, SecondOpinion, ("pair_id", "run_id"), [values])


def opinions_of_run(session: Session, run_id: int) -> dict[int, ModelAnswerRow]:
    """All answers of a run by pair."""
    return opinions_where(session, SecondOpinion.run_id == run_id)


def delete_opinions(session: Session, run_id: int, pair_ids: Sequence[int] | None = None) -> None:
    """Delete the answers of a run about these pairs, None: about all."""
    of_pairs = [] if pair_ids is None else [SecondOpinion.pair_id.in_(pair_ids)]
    session.execute(delete(SecondOpinion).where(SecondOpinion.run_id == run_id, *of_pairs))


def save_signs(session: Session, dataset_id: int, sign_of: Mapping[int, float]) -> None:
    """Set the sign of these pairs, and of no others of the dataset."""
    lock_pairs(session, list(sign_of))  # first, as who writes pairs and then their numbers
    of_dataset = PairNumber.measure == _MEASURE, PairNumber.dataset_id == dataset_id
    session.execute(
        delete(PairNumber).where(*of_dataset), execution_options={"synchronize_session": False}
    )
    measure_queries.save_numbers(session, dataset_id, _MEASURE, sign_of)
