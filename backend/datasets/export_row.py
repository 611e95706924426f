"""A pair on its way out, and the names of its columns in every form."""

import json
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from backend.datasets.containers import ImageFile

#: Marks a folder as ours, so that --overwrite never deletes anything else.
MARK = ".traced-export"
COLUMNS = (
    "id",
    "caption",
    "original_caption",
    "split",
    "verdict",
    "p_error",
    "s_0",
    "icc",
    "tags",
)


@dataclass(frozen=True)
class ExportRow:
    """One pair that stays."""

    id: str
    image_path: ImageFile
    caption: str
    original_caption: str
    split: str | None = None
    verdict: str | None = None
    p_error: float | None = None
    s_0: float | None = None
    icc: float | None = None
    tags: tuple[str, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)


#: The same columns as fields of an Arrow schema, the source's other columns behind them as JSON.
FIELDS = [
    ("id", pa.string()), ("caption", pa.string()), ("original_caption", pa.string()),
    ("split", pa.string()), ("verdict", pa.string()), ("p_error", pa.float64()),
    ("s_0", pa.float64()), ("icc", pa.float64()), ("tags", pa.list_(pa.string())),
    ("extra", pa.string()),
]  # fmt: skip


def arrow_values(row: ExportRow) -> dict[str, Any]:
    """A row of `FIELDS`."""
    return {
        **{name: getattr(row, name) for name in COLUMNS},
        "tags": list(row.tags),
        "extra": json.dumps(row.extra, ensure_ascii=False) if row.extra else None,
    }


def json_values(row: ExportRow) -> dict[str, Any]:
    """All columns for a JSON line; columns of the source never overwrite ours."""
    own = {name: getattr(row, name) for name in COLUMNS}
    own["tags"] = list(row.tags)
    taken = {*own, "file_name", "image_path"}
    extra = {(f"source_{key}" if key in taken else key): v for key, v in row.extra.items()}
    return {**own, **extra}
