"""Shards as MDSWriter of mosaicml-streaming 0.13 and the BinaryWriter of litdata 0.2.76 write them
(`tests/crossings/test_streaming_shards.py` reads theirs)."""

import json
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

Samples = Sequence[dict[str, bytes]]


def shard(samples: Samples, fixed: Sequence[str] = ()) -> bytes:
    """`fixed`: the columns whose size the index tells."""
    bodies = []
    for sample in samples:
        sizes = [len(value) for name, value in sample.items() if name not in fixed]
        bodies.append(struct.pack(f"<{len(sizes)}I", *sizes) + b"".join(sample.values()))
    start = 4 * (len(samples) + 2)
    starts = [start]
    for body in bodies:
        starts.append(starts[-1] + len(body))
    return struct.pack(f"<{len(starts) + 1}I", len(samples), *starts) + b"".join(bodies)


def write_mds(
    folder: Path, encodings: dict[str, str], parts: Sequence[Samples], compression: str = ""
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    sizes = [8 if encoding == "int" else None for encoding in encodings.values()]
    fixed = [name for name, encoding in encodings.items() if encoding == "int"]
    shards: list[dict[str, Any]] = []
    for number, samples in enumerate(parts):
        name, content = f"shard.{number:05d}.mds", shard(samples, fixed)
        about: dict[str, Any] = {
            "format": "mds", "version": 2, "samples": len(samples), "column_names": [*encodings],
            "column_encodings": [*encodings.values()], "column_sizes": sizes,
            "compression": compression or None, "zip_data": None,
            "raw_data": {"basename": name, "bytes": len(content)},
        }  # fmt: skip
        if compression:
            name += f".{compression}"
            about["zip_data"] = {"basename": name}
            content = pa.Codec("zstd").compress(content, asbytes=True)
        (folder / name).write_bytes(content)
        shards.append(about)
    (folder / "index.json").write_text(json.dumps({"version": 2, "shards": shards}))


LEAF = {"type": None, "context": None, "children_spec": []}


def tree(names: Any) -> dict[str, Any]:
    """The tree of a sample: a dictionary (of dictionaries) or a list of None."""
    if names is None:
        return LEAF
    if isinstance(names, dict):
        inner = [tree(value) for value in names.values()]
        return {"type": "builtins.dict", "context": json.dumps([*names]), "children_spec": inner}
    return {
        "type": "builtins.tuple", "context": "null", "children_spec": [tree(n) for n in names],
    }  # fmt: skip


def with_table(rows: Sequence[dict[str, Any]]) -> bytes:
    """A chunk whose values are all plain: they are in a table at its end."""
    sink = pa.BufferOutputStream()
    table = pa.Table.from_pylist(list(rows))
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    content = sink.getvalue().to_pybytes()
    body = shard([{} for _ in rows])
    return body + content + struct.pack("<I", len(content)) + b"LDARW01\0"


def write_litdata(
    folder: Path, form: Sequence[str], names: Any, samples: Samples, chunk: Any = b"", **more: Any
) -> None:
    """`chunk`: instead of that of the samples."""
    folder.mkdir(parents=True, exist_ok=True)
    name = "chunk-0-0.bin"
    (folder / name).write_bytes(chunk or shard(samples))
    config = {"data_format": [*form], "data_spec": json.dumps([1, tree(names)]), **more}
    chunks = [{"filename": name, "chunk_size": len(samples)}]
    (folder / "index.json").write_text(json.dumps({"chunks": chunks, "config": config}))
