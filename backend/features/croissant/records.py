"""The rows of an export as Parquet tables beside it, for `records()` of Croissant.

Croissant's reader (mlcroissant) has pandas guess the types of CSV and JSON lines: the id "0025"
becomes 25 and the caption "NA" nothing. It reads no tars, COCO annotations or saved datasets at
all. Parquet keeps what is written.
"""

import csv
import json
import re
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from backend.datasets.export_row import FIELDS
from backend.datasets.reading.json_stream import JsonFile
from backend.datasets.safe_files.text_files import LONGEST_LINE
from backend.datasets.writing.card_features import JsonColumns, arrow_features
from backend.features.croissant.names import TABLES

#: The number of a shard: `-000012`, or `-00012-of-00034`.
_SHARD = re.compile(r"-\d+(-of-\d+)?$")
_ROW_GROUP = 5_000
_ARROW = {"string": pa.string(), "float64": pa.float64(), "int64": pa.int64(), "bool": pa.bool_()}
_NUMBERS = {name: kind for name, kind in FIELDS if pa.types.is_floating(kind)}

Row = Mapping[str, Any]


def write_tables(folder: Path) -> dict[str, list[str]]:
    """Write the tables of what is not Parquet already. Returns the Parquet files of each split, or
    of each table of several; names are relative to the folder."""
    tables: dict[str, list[str]] = {}
    for file in sorted(folder.rglob("*")):
        path = PurePosixPath(file.relative_to(folder).as_posix())
        if file.is_file() and _reader_of(path):
            # Shards of a split are one table, as are the tables of a folder.
            parent = path.parent.as_posix()
            name = _SHARD.sub("", path.stem) if parent == "." else parent
            tables.setdefault(name, []).append(path.as_posix())
    return {
        name: shards if _is_described(folder, shards) else [_write_table(folder, name, shards)]
        for name, shards in tables.items()
    }


def _is_described(folder: Path, files: Sequence[str]) -> bool:
    """Whether the files are Parquet already, and none of their texts is within a conversation."""
    return all(
        file.endswith(".parquet") and not _conversations(pq.read_schema(folder / file))
        for file in files
    )


def _conversations(schema: pa.Schema) -> list[str]:
    """The columns that hold turns: lists of a role and its content."""
    return [
        field.name
        for field in schema
        if pa.types.is_list(field.type)
        and pa.types.is_struct(field.type.value_type)
        and {"role", "content"} <= {field.name for field in field.type.value_type}
    ]


def _write_table(folder: Path, name: str, files: Sequence[str]) -> str:
    """Write one table of the rows in these files; returns its name."""
    columns, used = JsonColumns(arrow_features(_NUMBERS.items())), set[str]()
    for row in _rows(folder, files):
        columns.add(row)
        used.update(row)
    kinds = {feature["name"]: feature["dtype"] for feature in columns.features()}
    schema = pa.schema(
        (name, _ARROW[kind]) for name, kind in kinds.items() if name in used and kind in _ARROW
    )
    out = f"{TABLES}/{name.replace('/', '_')}.parquet"
    (folder / TABLES).mkdir(exist_ok=True)
    rows = _rows(folder, files)
    with pq.ParquetWriter(folder / out, schema, compression="zstd") as writer:
        while group := list(islice(rows, _ROW_GROUP)):
            writer.write_table(pa.Table.from_pylist(group, schema))
    return out


def _rows(folder: Path, files: Sequence[str]) -> Iterator[Row]:
    for file in files:
        rows_of = _reader_of(PurePosixPath(file))
        assert rows_of is not None
        yield from rows_of(folder / file)


def _reader_of(path: PurePosixPath) -> Callable[[Path], Iterator[Row]] | None:
    """What reads the rows of such a file; None for a file without rows."""
    if path.suffix == ".json":
        return _annotations if path.name.startswith("captions_") else None
    return _READERS.get(path.suffix)


def _csv_rows(file: Path) -> Iterator[Row]:
    csv.field_size_limit(LONGEST_LINE)
    with file.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t" if file.suffix == ".tsv" else ","):
            numbers = {name: float(row[name]) if row[name] else None for name in _NUMBERS}
            yield row | numbers


def _json_rows(file: Path) -> Iterator[Row]:
    with file.open(encoding="utf-8", newline="\n") as lines:
        yield from map(json.loads, lines)


def _annotations(file: Path) -> Iterator[Row]:
    yield from JsonFile(file).objects("annotations")


def _samples(file: Path) -> Iterator[Row]:
    """The values of each sample of a WebDataset tar, with its key and the shard's name."""
    with tarfile.open(file, "r:") as archive:
        caption = ""
        for member in archive:
            key, ending = PurePosixPath(member.name).stem, PurePosixPath(member.name).suffix
            if ending == ".txt":
                caption = _content(archive, member).decode()
            elif ending == ".json":
                values = json.loads(_content(archive, member))
                yield {"shard": file.name, "key": key, "caption": caption, **values}


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    stream = archive.extractfile(member)
    assert stream is not None
    return stream.read()


def _arrow_rows(file: Path) -> Iterator[Row]:
    with pa.memory_map(str(file)) as source:
        for batch in pa.ipc.open_stream(source):
            yield from batch.drop_columns(["image"]).to_pylist()


def _parquet_rows(file: Path) -> Iterator[Row]:
    """The texts of conversations are columns."""
    table = pq.ParquetFile(file)
    names = [name for name in table.schema_arrow.names if name not in ("image", "images")]
    conversations = _conversations(table.schema_arrow)
    for batch in table.iter_batches(columns=names):
        for row in batch.to_pylist():
            yield row | {name: _text_of(row[name]) for name in conversations}


def _text_of(turns: Sequence[Row]) -> str:
    parts = (part for turn in turns for part in turn["content"])
    return "\n".join(part["text"] for part in parts if part["text"] is not None)


_READERS: dict[str, Callable[[Path], Iterator[Row]]] = {
    ".csv": _csv_rows, ".tsv": _csv_rows, ".jsonl": _json_rows, ".tar": _samples,
    ".arrow": _arrow_rows, ".parquet": _parquet_rows,
}  # fmt: skip
