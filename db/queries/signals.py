"""Signals that pairs carry beside their scores: the most suspect word, disagreement of scorers."""

from array import array
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import bindparam, func, select, update
from sqlalchemy.orm import Session

from db.blobs import decode_floats
from db.models import Pair, Run, Trajectory
from db.queries.statements import table_of

#: "1000 or more" says enough about pairs that have something in common.
MOST_COUNTED = 1000


def save_suspect_words(
    session: Session, found: Mapping[int, tuple[str | None, str | None]]
) -> None:
    """Of each pair the most suspect word and its kind; None, None if no word is suspect."""
    if found:
        pairs = table_of(Pair)
        session.connection().execute(
            update(pairs)
            .where(pairs.c.id == bindparam("pair"))
            .values(suspect_word=bindparam("word"), suspect_kind=bindparam("kind")),
            [
                {"pair": pair_id, "word": word[:64] if word else None, "kind": kind}
                for pair_id, (word, kind) in sorted(found.items())
            ],
        )


def save_disagreement(session: Session, found: Mapping[int, float]) -> None:
    if found:
        pairs = table_of(Pair)
        session.connection().execute(
            update(pairs)
            .where(pairs.c.id == bindparam("pair"))
            .values(disagreement=bindparam("value")),
            [{"pair": pair_id, "value": value} for pair_id, value in sorted(found.items())],
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
    """How many pairs of the dataset have this most suspect word, and how many one of this kind;
    counting ends at `MOST_COUNTED`."""
    counts: list[int] = []
    for column, value in ((Pair.suspect_word, word), (Pair.suspect_kind, kind)):
        if value is None:
            counts.append(0)
            continue
        found = select(Pair.id).where(Pair.dataset_id == dataset_id, column == value)
        query = select(func.count()).select_from(found.limit(MOST_COUNTED).subquery())
        counts.append(session.execute(query).scalar_one())
    return counts[0], counts[1]
