"""SeeTRUE (Yarom et al., NeurIPS 2023): does a text match its picture, by people."""

from pathlib import Path

from backend.datasets.reading.tables import rows_of
from backend.errors import DatasetFormatError
from research.benchmarks.benchmark import Benchmark, Content, Item, Pictures, check_fields

_TITLE = "SeeTRUE"


def _read(path: Path, pictures: Pictures) -> Content:
    rows = list(rows_of(path))
    broken = [row for row in rows if row.values is None]
    if broken:
        raise DatasetFormatError(
            f"{len(broken):,} of {len(rows):,} rows of '{path}' cannot be read, row "
            f"{broken[0].number} first: {broken[0].problem}"
        )
    entries = check_fields(
        (row.values for row in rows),
        {"image": str, "text": str, "label": (str, int, float), "dataset_source": str}, path,
        _TITLE,
    )  # fmt: skip
    labels = [str(row["label"]).removesuffix(".0") for row in entries]
    unclear = [number for number, label in enumerate(labels, 2) if label not in ("0", "1")]
    if unclear:
        raise DatasetFormatError(
            f"{len(unclear):,} of {len(entries):,} labels of '{path}' are neither 0 nor 1, that in "
            f"row {unclear[0]} first."
        )
    items = []
    for number, (row, label) in enumerate(zip(entries, labels, strict=True)):
        name = row["image"]
        if (picture := pictures.find(name, f"images/{name}")) is not None:
            items.append(
                Item(str(number), picture, row["text"], label == "0", row["dataset_source"], name)
            )
    return Content(items)


SEETRUE = Benchmark(
    "seetrue", _TITLE, "SeeTRUE.csv", "huggingface.co/datasets/yonatanbitton/SeeTRUE", _read,
    cited_for=("AUC",),
)  # fmt: skip
