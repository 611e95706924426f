"""A second model's opinions: its answers by run, and the sign that they give each pair."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import bindparam, select, update
from sqlalchemy.orm import Session

from db.blobs import decode_suspects, encode_suspects
from db.models import Pair, SecondOpinion
from db.queries.probabilities import check_probability, p_error_of
from db.queries.statements import check_number, in_dataset, insert_for, table_of

Deletions = tuple[tuple[int, int, float], ...]


@dataclass(frozen=True)
class OpinionRow:
    """`p_yes`: P(yes) / (P(yes) + P(no)) in [0, 1], None if the model answered something else;
    `deletions`: (start, end, p_yes) of the caption without the word at these characters."""

    pair_id: int
    p_yes: float | None
    deletions: Deletions = ()


@dataclass(frozen=True)
class UnaskedPair:
    """A pair to ask about."""

    pair_id: int
    image_path: str
    caption: str


def save_opinion(session: Session, run_id: int, row: OpinionRow) -> None:
    """Save an answer; replaces that of the same run."""
    check_probability(row.pair_id, row.p_yes)
    insert = insert_for(session, SecondOpinion)
    values = {"p_yes": row.p_yes, "deletions": encode_suspects(row.deletions)}
    session.execute(
        insert.values(pair_id=row.pair_id, run_id=run_id, **values).on_conflict_do_update(
            index_elements=["pair_id", "run_id"], set_=values
        )
    )


def opinions_of_run(session: Session, run_id: int) -> dict[int, OpinionRow]:
    """All answers of a run by pair."""
    rows = session.execute(
        select(SecondOpinion.pair_id, SecondOpinion.p_yes, SecondOpinion.deletions)
        .where(SecondOpinion.run_id == run_id)
        .order_by(SecondOpinion.pair_id)
    )
    return {row.pair_id: OpinionRow(row.pair_id, row.p_yes, decode_suspects(row.deletions))
            for row in rows}  # fmt: skip


def latest_opinions(session: Session, pair_ids: Sequence[int]) -> dict[int, OpinionRow]:
    """The newest answer about each of these pairs, by pair."""
    rows = session.execute(
        select(SecondOpinion.pair_id, SecondOpinion.p_yes, SecondOpinion.deletions)
        .where(SecondOpinion.pair_id.in_(pair_ids))
        .order_by(SecondOpinion.run_id)
    )
    return {row.pair_id: OpinionRow(row.pair_id, row.p_yes, decode_suspects(row.deletions))
            for row in rows}  # fmt: skip


def unasked(session: Session, dataset_id: int, run_id: int, limit: int) -> list[UnaskedPair]:
    """The pairs that are most likely wrong among those that the run has no answer about."""
    p_error = p_error_of(session, dataset_id)
    answered_ids = select(SecondOpinion.pair_id).where(SecondOpinion.run_id == run_id)
    rows = session.execute(
        select(Pair.id, Pair.image_path, Pair.caption)
        .where(in_dataset(dataset_id), p_error.is_not(None), Pair.id.not_in(answered_ids))
        .order_by(p_error.desc(), Pair.id)
        .limit(max(0, limit))
    )
    return [UnaskedPair(*row) for row in rows]


def save_signs(session: Session, dataset_id: int, sign_of: Mapping[int, float]) -> None:
    """Set the sign of these pairs, and of no others of the dataset."""
    for pair_id, sign in sign_of.items():
        check_number(sign, f"the second opinion on pair {pair_id}")
    session.execute(
        update(Pair)
        .where(Pair.dataset_id == dataset_id, Pair.second_opinion.is_not(None))
        .values(second_opinion=None),
        execution_options={"synchronize_session": False},
    )
    if sign_of:
        pairs = table_of(Pair)
        session.connection().execute(
            update(pairs)
            .where(pairs.c.id == bindparam("pair"))
            .values(second_opinion=bindparam("value")),
            [{"pair": pair_id, "value": sign} for pair_id, sign in sorted(sign_of.items())],
        )


def signs(
    session: Session, dataset_id: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Ids, s_0 and sign of the pairs that have both, in import order, shape [pairs] each."""
    rows = session.execute(
        select(Pair.id, Pair.s_0, Pair.second_opinion)
        .where(
            Pair.dataset_id == dataset_id, Pair.s_0.is_not(None), Pair.second_opinion.is_not(None)
        )
        .order_by(Pair.id)
    ).all()
    ids, s_0, sign = zip(*rows, strict=True) if rows else ((), (), ())
    return np.array(ids, np.int64), np.array(s_0, np.float64), np.array(sign, np.float64)
