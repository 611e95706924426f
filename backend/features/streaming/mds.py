"""MosaicML's MDS, as `MDSWriter` of mosaicml-streaming writes it.

Read without that package, whose releases need older ones of NumPy and of the hub's client than this
program.
"""

from collections.abc import Mapping
from typing import Any

from backend.datasets.cells import trim
from backend.errors import DatasetFormatError
from backend.features.streaming.shard_rows import (
    ShardColumn,
    ShardForm,
    StreamFormat,
    index_field,
    index_problem,
)


def shards_in(index: Any) -> Mapping[str, ShardForm] | None:
    """The shards by their files. Raises DatasetFormatError for another compression than zstd."""
    shards = index.get("shards") if isinstance(index, dict) else None
    if not isinstance(shards, list):
        return None
    formats = {shard.get("format", "mds") for shard in shards if isinstance(shard, dict)}
    if shards and formats != {"mds"}:
        return None
    return dict(_form_of(shard, f"shards[{number}]") for number, shard in enumerate(shards))


def _form_of(shard: Any, place: str) -> tuple[str, ShardForm]:
    columns = _columns_of(shard, place)
    samples = index_field(shard, place, "samples", int)
    raw = index_field(shard, place, "raw_data", dict)
    if shard.get("zip_data") is None:
        return _file_of(raw, f"{place}.raw_data"), ShardForm(columns, samples)
    packed = index_field(shard, place, "zip_data", dict)
    method = index_field(shard, place, "compression", str)
    if method.partition(":")[0] != "zstd":
        raise DatasetFormatError(
            f"Shards of MDS that are compressed by {trim(method, 20)} are not read. Write them "
            "again with compression='zstd', or without."
        )
    unpacked = index_field(raw, f"{place}.raw_data", "bytes", int)
    return _file_of(packed, f"{place}.zip_data"), ShardForm(columns, samples, unpacked=unpacked)


def _file_of(about: Any, place: str) -> str:
    return str(index_field(about, place, "basename", str))


def _columns_of(shard: Any, place: str) -> tuple[ShardColumn, ...]:
    names, encodings, sizes = (
        index_field(shard, place, f"column_{what}", list)
        for what in ("names", "encodings", "sizes")
    )
    if not len(names) == len(encodings) == len(sizes):
        raise index_problem(
            f"{place}.column_names",
            f"has {len(names):,} entries, column_encodings {len(encodings):,}, column_sizes "
            f"{len(sizes):,}",
        )
    try:
        return tuple(map(ShardColumn, names, encodings, sizes))
    except TypeError as problem:
        raise index_problem(f"{place}.column_*", f"cannot be used: {problem}") from problem


READER = StreamFormat("MosaicML's MDS", shards_in).reader(".mds", ".zstd")
