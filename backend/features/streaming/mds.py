"""MosaicML's MDS, as `MDSWriter` of mosaicml-streaming writes it.

Read without that package, whose releases need older ones of NumPy and of the hub's client than this
program.
"""

from collections.abc import Mapping
from typing import Any

from backend.errors import DatasetFormatError
from backend.features.streaming.shard_rows import ShardColumn, ShardForm, StreamFormat


def shards_in(index: Any) -> Mapping[str, ShardForm] | None:
    """The shards by their files. Raises DatasetFormatError for another compression than zstd."""
    shards = index.get("shards") if isinstance(index, dict) else None
    if not isinstance(shards, list) or not all(
        isinstance(shard, dict) and shard.get("format") == "mds" for shard in shards
    ):
        return None
    return dict(map(_form_of, shards))


def _form_of(shard: dict[str, Any]) -> tuple[str, ShardForm]:
    columns = tuple(
        ShardColumn(*each)
        for each in zip(
            shard["column_names"], shard["column_encodings"], shard["column_sizes"], strict=True
        )
    )
    packed = shard.get("zip_data")
    if packed is None:
        return str(shard["raw_data"]["basename"]), ShardForm(columns, int(shard["samples"]))
    method = str(shard["compression"])
    if method.partition(":")[0] != "zstd":
        raise DatasetFormatError(
            f"Shards of MDS that are compressed by {method[:20]} are not read. Write them again "
            "with compression='zstd', or without."
        )
    unpacked = int(shard["raw_data"]["bytes"])
    return str(packed["basename"]), ShardForm(columns, int(shard["samples"]), unpacked=unpacked)


READER = StreamFormat("MosaicML's MDS", shards_in).reader(".mds", ".zstd")
