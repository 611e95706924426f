"""Signals of pairs besides their scores: the most suspect word, ICC, disagreement, a second
opinion.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, bindparam, func, select
from sqlalchemy.orm import Session

from db.blobs import decode_floats, decode_suspects
from db.models import Pair, PairNumber, Run, SecondOpinion, Trajectory
from db.queries.statements import check_number, in_dataset, run, set_columns

Deletions = tuple[tuple[int, int, float], ...]


@dataclass(frozen=True)
class ModelAnswerRow:
    """`p_yes`: P(yes) / (P(yes) + P(no)) in [0, 1], None if the model answered something else;
    `deletions`: (start, end, p_yes) of the caption without the word at these characters."""

    pair_id: int
    p_yes: float | None
    deletions: Deletions = ()


def latest_opinions(session: Session, pair_ids: Sequence[int]) -> dict[int, ModelAnswerRow]:
    """The newest answer about each of these pairs, by pair."""
    return opinions_where(session, SecondOpinion.pair_id.in_(pair_ids))


def opinions_where(session: Session, condition: ColumnElement[bool]) -> dict[int, ModelAnswerRow]:
    """The answers that meet the condition on `SecondOpinion`; of several on a pair the newest."""
    rows = session.execute(
        select(SecondOpinion.pair_id, SecondOpinion.p_yes, SecondOpinion.deletions)
        .where(condition)
        .order_by(SecondOpinion.run_id, SecondOpinion.pair_id)
    )
    return {pair: ModelAnswerRow(pair, p_yes, decode_suspects(blob)) for pair, p_yes, blob in rows}


def signs(
    session: Session, dataset_id: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Ids, s_0 and sign of the pairs that have both, in import order, shape [pairs] each."""
    rows = session.execute(
        select(Pair.id, Pair.s_0, PairNumber.value)
        .join(PairNumber, PairNumber.pair_id == Pair.id)
        .where(
            Pair.dataset_id == dataset_id, Pair.s_0.is_not(None),
            PairNumber.measure == "second_opinion",
        )
        .order_by(Pair.id)
    ).all()  # fmt: skip
    ids, s_0, sign = zip(*rows, strict=True) if rows else ((), (), ())
    return np.array(ids, np.int64), np.array(s_0, np.float64), np.array(sign, np.float64)


#: Counts of similar pairs stop here: "1000 or more" is precise enough.
MOST_COUNTED = 1000


def captions_suspect_for(session: Session, dataset_id: int, words: Sequence[str]) -> Iterator[str]:
    """Captions whose most suspect word is one of these, given in lower case. Streamed."""
    spellings = {spelt for word in words for spelt in (word, word.capitalize(), word.upper())}
    query = (
        select(Pair.caption)
        .where(in_dataset(dataset_id), Pair.suspect_word.in_(spellings))
        .execution_options(yield_per=10_000)
    )
    yield from session.execute(query).scalars()


def save_suspect_words(
    session: Session, words_by_pair: Mapping[int, tuple[str | None, str | None]]
) -> None:
    """Save each pair's most suspect word and its kind; (None, None) if no word is suspect."""
    set_columns(
        session,
        {
            pair_id: {"suspect_word": word[:64] if word else None, "suspect_kind": kind}
            for pair_id, (word, kind) in words_by_pair.items()
        },
    )


def count_without_icc(session: Session, dataset_id: int) -> int:
    """How many captions have no ICC yet."""
    query = select(func.count()).where(
        in_dataset(dataset_id), Pair.caption != "", Pair.icc.is_(None)
    )
    return session.execute(query).scalar_one()


def save_icc(session: Session, icc_of_pair: Mapping[int, float]) -> None:
    """Save the ICC of pairs, by id; higher is more concrete."""
    for pair_id, icc in icc_of_pair.items():
        check_number(icc, f"the ICC of pair {pair_id}")
    set_columns(session, {pair_id: {"icc": icc} for pair_id, icc in icc_of_pair.items()})


def save_disagreement(session: Session, values_by_pair: Mapping[int, float]) -> None:
    set_columns(session, {pair: {"disagreement": value} for pair, value in values_by_pair.items()})


def scoring_runs(session: Session, dataset_id: int) -> list[int]:
    """The newest run of every scorer (kind and weights) that has scored the dataset."""
    newest = (
        select(func.max(Run.id))
        .where(Run.dataset_id == dataset_id, Run.kind == "score", Run.status == "done")
        .group_by(Run.scorer_kind, Run.revision)
    )
    return sorted(session.execute(newest).scalars())


def first_scores(session: Session, run_id: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Ids of all pairs that the run has scored, ascending, and their s_0, of several claims the
    lowest; both of shape [pairs]."""
    ids, s_0 = array("q"), array("d")
    rows = session.execute(
        select(Trajectory.pair_id, Trajectory.scores)
        .where(Trajectory.run_id == run_id)
        .order_by(Trajectory.pair_id)
        .execution_options(yield_per=2000)
    )
    for pair_id, scores in rows:
        score = float(decode_floats(scores[:4])[0])
        if ids and ids[-1] == pair_id:
            s_0[-1] = min(s_0[-1], score)
        else:
            ids.append(pair_id)
            s_0.append(score)
    return np.array(ids, np.int64), np.array(s_0)


def _count_like(column: ColumnElement[str | None], name: str) -> ColumnElement[int]:
    is_like = Pair.dataset_id == bindparam("dataset_id"), column == bindparam(name)
    first_pairs = select(Pair.id).where(*is_like).limit(MOST_COUNTED).subquery()
    return select(func.count()).select_from(first_pairs).scalar_subquery().label(name)


_SUSPECTS_LIKE = select(
    _count_like(Pair.suspect_word.expression, "word"),
    _count_like(Pair.suspect_kind.expression, "kind"),
)


def suspects_like(
    session: Session, dataset_id: int, word: str | None, kind: str | None
) -> tuple[int, int]:
    """How many pairs of the dataset have this most suspect word, and how many have one of this
    kind; counting stops at `MOST_COUNTED`."""
    if word is None and kind is None:
        return 0, 0
    row = run(session, _SUSPECTS_LIKE, dataset_id=dataset_id, word=word, kind=kind).one()
    return row.word, row.kind
