"""The contribution of each phrase to a pair's match, stored packed.

A phrase takes 21 bytes: its characters and those of its head, its kind, and three attributions,
which are NaN if no nonce fitted the phrase.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from db.models import PhraseScore, Run
from db.queries.run_queries import NEWEST_FIRST, RunRow, latest_run
from db.queries.statements import run

_RECORD = np.dtype(
    [
        ("start", "<u2"), ("end", "<u2"), ("head_start", "<u2"), ("head_end", "<u2"),
        ("kind", "u1"), ("pas", "<f4"), ("spread", "<f4"), ("basis", "<f4"),
    ]
)  # fmt: skip
#: The kind of the runs that measure phrases.
KIND = "support"
#: Rows read per batch.
_TOGETHER = 5000
#: Phrases that end beyond this character of a caption cannot be stored.
LONGEST = 2**16 - 1


@dataclass(frozen=True)
class PhraseRow:
    """`start`, `end`, `head_start`, `head_end`: characters of the caption. `kind`: 0 object,
    1 attribute, 2 relation. `pas`, `spread`, `basis`: see `backend.engine.phrases.attribution`;
    None if the phrase could not be tested."""

    start: int
    end: int
    head_start: int
    head_end: int
    kind: int
    pas: float | None
    spread: float | None
    basis: float | None


def is_in_other_languages(run: RunRow | None) -> bool:
    """Whether most captions were not English when this run measured their phrases."""
    return run is not None and float(run.observed.get("other_languages", 0)) > 0.5


_NEWEST_PHRASES = (
    select(PhraseScore.phrases)
    .join(Run, Run.id == PhraseScore.run_id)
    .where(PhraseScore.pair_id == bindparam("pair_id"))
    .order_by(*NEWEST_FIRST)
    .limit(1)
)


def phrases_of(session: Session, pair_id: int) -> list[PhraseRow] | None:
    """The pair's phrases under the latest run; None if not computed yet."""
    blob = run(session, _NEWEST_PHRASES, pair_id=pair_id).scalar_one_or_none()
    return None if blob is None else unpack(blob)


def phrases_of_many(
    session: Session, dataset_id: int, pair_ids: Sequence[int]
) -> dict[int, list[PhraseRow]]:
    """Phrases by pair under the dataset's latest run; pairs not computed yet are left out."""
    run = latest_run(session, dataset_id, KIND)
    if run is None:
        return {}
    rows = session.execute(
        select(PhraseScore.pair_id, PhraseScore.phrases).where(
            PhraseScore.run_id == run.id, PhraseScore.pair_id.in_(pair_ids)
        )
    )
    return {row.pair_id: unpack(row.phrases) for row in rows}


def iterate(
    session: Session, run_id: int, batch: int = 2000
) -> Iterator[tuple[int, NDArray[np.uint8], NDArray[np.float32]]]:
    """(pair, kinds, attributions that support is computed from) of all pairs of a run, in order of
    pair id; phrases that could not be tested are left out."""
    after = 0
    while rows := session.execute(
        select(PhraseScore.pair_id, PhraseScore.phrases)
        .where(PhraseScore.run_id == run_id, PhraseScore.pair_id > after)
        .order_by(PhraseScore.pair_id)
        .limit(batch)
    ).all():
        for pair_id, blob in rows:
            records = np.frombuffer(blob, _RECORD)
            records = records[np.isfinite(records["basis"])]
            yield pair_id, records["kind"].copy(), records["basis"].astype(np.float32)
        after = rows[-1].pair_id


def pack(rows: Sequence[PhraseRow]) -> bytes:
    """Pack phrases into bytes. Raises ValueError if one ends beyond LONGEST."""
    if any(row.end > LONGEST for row in rows):
        raise ValueError(f"phrases that end beyond character {LONGEST} cannot be stored")
    records = np.zeros(len(rows), _RECORD)
    for number, row in enumerate(rows):
        values = (row.pas, row.spread, row.basis)
        records[number] = (
            row.start, row.end, row.head_start, row.head_end, row.kind,
            *(np.nan if value is None else value for value in values),
        )  # fmt: skip
    return records.tobytes()


def unpack(blob: bytes) -> list[PhraseRow]:
    """The inverse of `pack`; attributions are rounded to float32."""
    rows = []
    for record in np.frombuffer(blob, _RECORD):
        values = (float(record[name]) for name in ("pas", "spread", "basis"))
        rows.append(
            PhraseRow(
                *(int(record[name]) for name in ("start", "end", "head_start", "head_end", "kind")),
                *(value if np.isfinite(value) else None for value in values),
            )
        )
    return rows
