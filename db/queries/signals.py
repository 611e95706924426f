"""Signals of pairs besides their scores: the most suspect word, ICC, disagreement."""

from array import array
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, bindparam, func, literal, select, update
from sqlalchemy.orm import Session

from db.blobs import decode_floats
from db.models import Pair, Run, Trajectory
from db.queries.statements import check_number, in_dataset, table_of

#: Counts of similar pairs stop here: "1000 or more" is precise enough.
MOST_COUNTED = 1000


def save_suspect_words(
    session: Session, words_by_pair: Mapping[int, tuple[str | None, str | None]]
) -> None:
    """Save each pair's most suspect word and its kind; (None, None) if no word is suspect."""
    if words_by_pair:
        pairs = table_of(Pair)
        session.connection().execute(
            update(pairs)
            .where(pairs.c.id == bindparam("pair"))
            .values(suspect_word=bindparam("word"), suspect_kind=bindparam("kind")),
            [
                {"pair": pair_id, "word": word[:64] if word else None, "kind": kind}
                for pair_id, (word, kind) in sorted(words_by_pair.items())
            ],
        )


def count_without_icc(session: Session, dataset_id: int) -> int:
    """How many pairs have no ICC yet."""
    query = select(func.count()).where(in_dataset(dataset_id), Pair.icc.is_(None))
    return session.execute(query).scalar_one()


def save_icc(session: Session, icc_of_pair: Mapping[int, float]) -> None:
    """Save the ICC of pairs, by id; higher is more concrete."""
    if not icc_of_pair:
        return
    for pair_id, icc in icc_of_pair.items():
        check_number(icc, f"the ICC of pair {pair_id}")
    pairs = table_of(Pair)
    session.connection().execute(
        update(pairs).where(pairs.c.id == bindparam("pair")).values(icc=bindparam("value")),
        [{"pair": pair_id, "value": icc} for pair_id, icc in sorted(icc_of_pair.items())],
    )


def save_disagreement(session: Session, values_by_pair: Mapping[int, float]) -> None:
    if values_by_pair:
        pairs = table_of(Pair)
        session.connection().execute(
            update(pairs)
            .where(pairs.c.id == bindparam("pair"))
            .values(disagreement=bindparam("value")),
            [
                {"pair": pair_id, "value": value}
                for pair_id, value in sorted(values_by_pair.items())
            ],
        )


def scoring_runs(session: Session, dataset_id: int) -> list[int]:
    """The newest run of every scorer (kind and weights) that has scored the dataset."""
    newest = (
        select(func.max(Run.id))
        .where(Run.dataset_id == dataset_id, Run.kind == "score", Run.status == "done")
        .group_by(Run.scorer_kind, Run.revision)
    )
    return sorted(session.execute(newest).scalars())


def first_scores(session: Session, run_id: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Ids of all pairs that the run has scored, ascending, and their s_0; both of shape [pairs]."""
    ids, s_0 = array("q"), array("d")
    rows = session.execute(
        select(Trajectory.pair_id, Trajectory.scores)
        .where(Trajectory.run_id == run_id)
        .order_by(Trajectory.pair_id)
        .execution_options(yield_per=2000)
    )
    for pair_id, scores in rows:
        ids.append(pair_id)
        s_0.append(float(decode_floats(scores[:4])[0]))
    return np.array(ids, np.int64), np.array(s_0)


def suspects_like(
    session: Session, dataset_id: int, word: str | None, kind: str | None
) -> tuple[int, int]:
    """How many pairs of the dataset have this most suspect word, and how many have one of this
    kind; counting stops at `MOST_COUNTED`."""
    if word is None and kind is None:
        return 0, 0
    counts: list[ColumnElement[int]] = []
    for column, value in ((Pair.suspect_word, word), (Pair.suspect_kind, kind)):
        pairs = select(Pair.id).where(Pair.dataset_id == dataset_id, column == value)
        limited = pairs.limit(MOST_COUNTED).subquery()
        count = select(func.count()).select_from(limited).scalar_subquery()
        counts.append(count if value is not None else literal(0))
    same_word, same_kind = session.execute(select(*counts)).one()
    return same_word, same_kind
