"""Formats of datasets that are not read, told by their files: what they are, and what to do."""

import json
from pathlib import Path

from backend.datasets.cells import trim
from backend.datasets.regular_files import read_within

_MOST_INDEX = 16_000_000
#: By the ending of a file or folder.
_ENDINGS = {
    ".mds": "MosaicML's MDS (streaming)", ".lance": "Lance", ".beton": "FFCV",
    ".tfrecord": "TFRecord", ".tfrecords": "TFRecord", ".mdb": "LMDB", ".zarr": "Zarr",
    ".h5": "HDF5", ".hdf5": "HDF5",
}  # fmt: skip


def indexed_format(source: Path) -> str:
    """A sentence about a folder, or its index.json, that is no table of captions but the index of
    a format that is not read; "" for others. A file that cannot be read tells nothing."""
    if not source.is_dir() and source.name != "index.json":
        return ""
    return _refusal(source, _by_index(source if source.is_dir() else source.parent))


def unread_format(folder: Path) -> str:
    """A sentence about a folder without anything that is read; "" if its format is not known."""
    return _refusal(folder, _by_endings(folder))


def _refusal(source: Path, name: str) -> str:
    if not name:
        return ""
    return (
        f"'{trim(source.name)}' is a dataset in the format {name}, which is not read. Write it "
        "with its own library as WebDataset, as Parquet with the images inside, or as a folder of "
        "images with a metadata.jsonl, and import that."
    )


def _by_index(folder: Path) -> str:
    """MDS and LitData have an index.json that lists their shards or chunks."""
    path = folder / "index.json"
    if not path.is_file():
        return ""
    try:
        index = json.loads(read_within(folder, path, _MOST_INDEX))
    except (OSError, ValueError, RecursionError):
        return ""
    if not isinstance(index, dict):
        return ""
    if isinstance(index.get("chunks"), list) and isinstance(index.get("config"), dict):
        return "LitData (Lightning)"
    shards = index.get("shards")
    if not isinstance(shards, list) or not all(isinstance(shard, dict) for shard in shards):
        return ""
    is_streaming = any("raw_data" in shard or shard.get("format") == "mds" for shard in shards)
    return _ENDINGS[".mds"] if is_streaming else ""


def _by_endings(folder: Path) -> str:
    """The format of most files of a folder; of Lance, the folder of its versions tells too."""
    if folder.suffix.lower() in (".lance", ".zarr") or (folder / "_versions").is_dir():
        return _ENDINGS.get(folder.suffix.lower(), "Lance")
    try:
        entries = sorted(path.suffix.lower() for path in folder.iterdir())
    except OSError:
        return ""
    return next((_ENDINGS[ending] for ending in entries if ending in _ENDINGS), "")
