"""Lightning's LitData, as its `optimize` writes it.

Read without that package, which unpickles what a dataset brings along.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from backend.errors import DatasetFormatError
from backend.features.streaming.shard_rows import ShardColumn, ShardForm, StreamFormat, index_field


def shards_in(index: Any) -> Mapping[str, ShardForm] | None:
    """The chunks by their files. Raises DatasetFormatError if they are compressed."""
    if not isinstance(index, dict) or not isinstance(config := index.get("config"), dict):
        return None
    chunks = index.get("chunks")
    if not isinstance(chunks, list) or "data_format" not in config:
        return None
    for what in ("compression", "encryption"):
        if config.get(what):
            raise DatasetFormatError(
                f"These chunks of LitData have {what} ({str(config[what])[:50]}), and are not "
                f"read. Write them again with optimize(…, {what}=None)."
            )
    encodings = [str(each) for each in config["data_format"]]
    names = _names(config.get("data_spec"), len(encodings))
    columns = tuple(map(ShardColumn, names, encodings))
    places = [(chunk, f"chunks[{number}]") for number, chunk in enumerate(chunks)]
    return {
        index_field(chunk, place, "filename", str): ShardForm(
            columns, index_field(chunk, place, "chunk_size", int)
        )
        for chunk, place in places
    }


def _names(stated: Any, count: int) -> list[str]:
    """The names of the values of a sample, as many as `count`: a dictionary has names, a tuple
    numbers; those of inner ones are joined by dots."""
    spec = json.loads(stated)[1] if isinstance(stated, str) else stated
    names = list(_leaves(spec, "")) if isinstance(spec, dict) else []
    return names if len(names) == len(set(names)) == count else [str(n) for n in range(count)]


def _leaves(spec: dict[str, Any], before: str) -> Iterator[str]:
    inner = spec["children_spec"]
    if spec["type"] is None:
        yield before or "0"
        return
    context = json.loads(spec["context"]) if isinstance(spec["context"], str) else spec["context"]
    keys = context if isinstance(context, list) else range(len(inner))
    for key, child in zip(keys, inner, strict=False):
        yield from _leaves(child, f"{before}.{key}" if before else str(key))


READER = StreamFormat("LitData", shards_in).reader(".bin")
