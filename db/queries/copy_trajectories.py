"""Trajectories of noisy copies of captions, stored so that training resumes after a kill.

A copy is identified by its pair and its text: noise with the same seed gives the same copies.
"""

import hashlib
from collections.abc import Sequence

from sqlalchemy import and_, select
from sqlalchemy.orm import Session

from db.models import CopyTrajectory
from db.queries.statements import chunks, insert_for
from db.queries.trajectories import VALUES, TrajectoryRow, check_finite, packed, unpacked

#: A pair and the caption of one of its copies.
Copy = tuple[int, str]
_AT_ONCE = 500
_COLUMNS = tuple(
    getattr(CopyTrajectory, name)
    for name in ("pair_id", "caption", *VALUES, "expectation", "captioner")
)


def save_copies(
    session: Session, run_id: int, captions: Sequence[str], batch: Sequence[TrajectoryRow]
) -> None:
    """Save one trajectory for each caption; existing ones are not changed, except that a whole
    trajectory replaces a first step.

    Raises ValueError like `save_trajectories`.
    """
    if not batch:
        return
    check_finite(batch)
    rows = [
        {"run_id": run_id, "pair_id": row.pair_id, "caption": digest(text), **packed(row)}
        for text, row in zip(captions, batch, strict=True)
    ]
    rows.sort(key=lambda row: (row["pair_id"], row["caption"]))
    insert = insert_for(session, CopyTrajectory)
    upsert = insert.on_conflict_do_update(
        index_elements=["run_id", "pair_id", "caption"],
        set_={name: insert.excluded[name] for name in VALUES},
        where=and_(insert.excluded["whole"], CopyTrajectory.whole.is_(False)),
    )
    session.connection().execute(upsert, rows)


def copies_of(session: Session, run_id: int, copies: Sequence[Copy]) -> dict[Copy, TrajectoryRow]:
    """The trajectory under the run of each copy that has one."""
    wanted = {(pair_id, digest(text)): (pair_id, text) for pair_id, text in copies}
    kept: dict[Copy, TrajectoryRow] = {}
    for pair_ids in chunks(sorted({pair_id for pair_id, _ in wanted}), _AT_ONCE):
        rows = session.execute(
            select(*_COLUMNS).where(
                CopyTrajectory.run_id == run_id, CopyTrajectory.pair_id.in_(pair_ids)
            )
        )
        for row in rows:
            copy = wanted.get((row.pair_id, row.caption))
            if copy is not None:
                kept[copy] = unpacked(row)
    return kept


def digest(caption: str) -> bytes:
    """The digest that identifies a copy's caption."""
    return hashlib.sha256(caption.encode("utf-8", "surrogatepass")).digest()
