"""Where words of a pair's caption are in its picture, stored packed.

A region takes 28 bytes: the characters of the words, a box, NaN if nothing in the picture speaks
for them, and a weight.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from backend.features.regions.tables import WordRegions
from db.queries.run_queries import latest_run
from db.queries.statements import lock_pairs, save_rows

#: The kind of the runs that look for regions.
KIND = "regions"
_RECORD = np.dtype([("start", "<u4"), ("end", "<u4"), ("box", "<f4", (4,)), ("weight", "<f4")])


@dataclass(frozen=True)
class RegionRow:
    """`start`, `end`: characters of the caption. `box`: (x0, y0, x1, y1) in pixels of the upright
    picture; None: nothing in it speaks for these words. `weight`: see
    `region.Region`."""

    start: int
    end: int
    box: tuple[float, float, float, float] | None
    weight: float


def add_regions(session: Session, run_id: int, regions: Mapping[int, Sequence[RegionRow]]) -> None:
    """Add regions of words to those of their pairs; words that have one get the new one."""
    lock_pairs(session, list(regions))
    before = of_run(session, run_id, list(regions))
    rows = []
    for pair_id, rows_of_pair in regions.items():
        by_span = {(r.start, r.end): r for r in [*before.get(pair_id, ()), *rows_of_pair]}
        blob = _pack([by_span[span] for span in sorted(by_span)])
        rows.append({"pair_id": pair_id, "run_id": run_id, "regions": blob})
    save_rows(session, WordRegions, ("pair_id", "run_id"), rows)


def of_run(
    session: Session, run_id: int, pair_ids: Sequence[int]
) -> dict[int, tuple[RegionRow, ...]]:
    """The regions of each of these pairs that has some under a run, in the order of its caption."""
    query = select(WordRegions.pair_id, WordRegions.regions).where(
        WordRegions.run_id == run_id, WordRegions.pair_id.in_(pair_ids)
    )
    return {row.pair_id: _unpack(row.regions) for row in session.execute(query)}


def run_of(session: Session, dataset_id: int) -> int | None:
    """The newest run that looked for the dataset's words; None: none did."""
    run = latest_run(session, dataset_id, KIND)
    return run.id if run is not None else None


def of_dataset(
    session: Session, dataset_id: int, pair_ids: Sequence[int]
) -> dict[int, tuple[RegionRow, ...]]:
    """`of_run` of the dataset's latest run; empty without one."""
    run_id = run_of(session, dataset_id)
    return of_run(session, run_id, pair_ids) if run_id is not None else {}


def _pack(regions: Sequence[RegionRow]) -> bytes:
    nowhere = (np.nan,) * 4
    rows = [(r.start, r.end, r.box or nowhere, r.weight) for r in regions]
    return np.array(rows, _RECORD).tobytes()


def _unpack(blob: bytes) -> tuple[RegionRow, ...]:
    rows = []
    for record in np.frombuffer(blob, _RECORD):
        x0, y0, x1, y1 = map(float, record["box"])
        box = None if np.isnan(x0) else (x0, y0, x1, y1)
        row = RegionRow(int(record["start"]), int(record["end"]), box, float(record["weight"]))
        rows.append(row)
    return tuple(rows)
