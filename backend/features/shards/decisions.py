"""What happens to each pair, as a table: `export DATASET FILE --decisions` writes it, and `select
RESULTS --decisions FILE` reads it, or one of your own."""

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from backend.datasets.cells import trim, unescape
from backend.datasets.reading.tables import rows_of
from backend.errors import DatasetFormatError, SettingsError
from backend.jobs.export_choice import ExportChoice
from backend.jobs.export_decisions import decided_pairs
from backend.jobs.export_scores import write_rows
from backend.store import Store

_DECISIONS = pa.schema(
    [("shard", pa.string()), ("id", pa.string()), ("keep", pa.bool_()), ("caption", pa.string())]
)
_YES, _NO = ("true", "1", "yes"), ("false", "0", "no")


@dataclass(frozen=True)
class Decision:
    """`caption`: the new one, "" if it stays."""

    keep: bool
    caption: str = ""


#: By shard ("": any) and id.
Decisions = dict[tuple[str, str], Decision]


def read_decisions(file: Path) -> Decisions:
    """Read a table (Parquet, CSV, JSONL) with the columns `id` and `keep`, and optionally `shard`
    and `caption`. Raises SettingsError for any other."""
    decisions: Decisions = {}
    try:
        for row in rows_of(file):
            if row.values is None:
                raise SettingsError(f"Row {row.number} of '{file.name}': {row.problem}")
            cells = {
                name: "" if value is None else unescape(str(value))
                for name, value in row.values.items()
            }
            keep = cells.get("keep", "").strip().lower()
            if not cells.get("id") or keep not in (*_YES, *_NO):
                raise SettingsError(
                    f"Row {row.number} of '{file.name}' needs an id, and true or false as keep."
                )
            key = cells.get("shard", ""), cells["id"]
            if key in decisions:
                raise SettingsError(
                    f"Row {row.number} of '{file.name}': '{trim(key[1])}' stands twice."
                )
            decisions[key] = Decision(keep in _YES, cells.get("caption", ""))
    except (OSError, DatasetFormatError) as problem:
        raise SettingsError(f"'{file}' cannot be read: {problem}") from problem
    return decisions


def write_decisions(store: Store, dataset_id: int, choice: ExportChoice, out: Path) -> int:
    """Write what an export would do with each pair to a table (.parquet, .csv, .jsonl), for
    `select_shards`; returns the number of rows. The shard of a pair is the file that it is from."""
    rows = (
        {
            "shard": pair.source_file,
            "id": pair.external_id.removeprefix(f"{pair.source_file}/"),
            "keep": not decision.left_out_because,
            "caption": decision.caption,
        }
        for pair, decision, _ in decided_pairs(store, dataset_id, choice)
    )
    return write_rows(rows, _DECISIONS, out)
