"""What exports and `score --out` have of regions. (The help of these commands reads this module: it
imports no database.)"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backend.cli.commands import ScoreFile
from backend.features.regions.operation import REGIONS
from backend.jobs.export_steps import Column, ExportStep, ListColumn

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlalchemy.orm import Session

    from backend.features.regions.boxes import BoxesReport
    from backend.features.regions.queries import RegionRow
    from backend.store import Store


def region_cells(regions: "Sequence[RegionRow]") -> list[dict[str, Any]]:
    """As exports, files of scores and programs have them: whole pixels, null for no box."""
    return [
        {
            "start": region.start,
            "end": region.end,
            "box": region.box and [round(edge) for edge in region.box],
            "weight": round(region.weight, 4),
        }
        for region in regions
    ]


def _of_dataset(session: "Session", dataset_id: int) -> Column | None:
    """None: its words were never looked for."""
    from backend.features.regions import queries

    run_id = queries.run_of(session, dataset_id)
    if run_id is None:
        return None

    def of_pairs(session: "Session", pair_ids: Sequence[int]) -> Mapping[int, Any]:
        regions = queries.of_run(session, run_id, pair_ids)
        return {pair_id: region_cells(rows) for pair_id, rows in regions.items()}

    return of_pairs


def _type() -> "pa.DataType":
    import pyarrow as pa

    box, weight = pa.list_(pa.int32()), pa.float32()
    cells = [("start", pa.int32()), ("end", pa.int32()), ("box", box), ("weight", weight)]
    return pa.list_(pa.struct(cells))


def _check(store: "Store", dataset_id: int, steps: Collection[str]) -> None:
    if REGIONS.name not in steps:
        from backend.features.regions.boxes import check_looked

        check_looked(store, dataset_id)


def _write(store: "Store", dataset_id: int, out: Path) -> "BoxesReport":
    from backend.features.regions import boxes

    return boxes.write(store, dataset_id, out)


STEP = ExportStep("regions", lists={"regions": ListColumn(_type, _of_dataset)})
BOXES = ScoreFile(
    "boxes_written", ".json", "the boxes of the words that were found, in COCO's layout",
    _write, _check,
)  # fmt: skip
