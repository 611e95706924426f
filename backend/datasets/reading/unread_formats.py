"""Formats of datasets that are not read, told by their files: what they are, and what to do."""

from collections.abc import Collection
from pathlib import Path

from backend.datasets.cells import trim

#: By the ending of a file or folder.
_ENDINGS = {
    ".beton": "FFCV", ".tfrecord": "TFRecord", ".tfrecords": "TFRecord", ".mdb": "LMDB",
    ".zarr": "Zarr", ".h5": "HDF5", ".hdf5": "HDF5",
}  # fmt: skip


def unread_format(folder: Path) -> str:
    """A sentence about a folder without anything that is read; "" if its format is not known."""
    name = _format_of(folder)
    if not name:
        return ""
    return (
        f"'{trim(folder.name)}' is a dataset in the format {name}, which is not read. Write it "
        "with its own library as WebDataset, as Parquet with the images inside, or as a folder of "
        "images with a metadata.jsonl, and import that."
    )


def unread_json(arrays: Collection[str], name: str) -> str:
    """A sentence about a JSON object with these lists, if it is known to have no captions that can
    be read; else "". `name`: of the file."""
    if "shapes" in arrays and "images" not in arrays:
        return f"'{trim(name)}' has shapes in one picture, as LabelMe writes them, and no caption."
    if {"features", "rows"} <= {*arrays}:
        return (
            f"'{trim(name)}' is an answer of the hub's viewer, whose pictures are addresses for a "
            "few minutes, and whose long texts are cut. Import the dataset itself: hf:OWNER/NAME."
        )
    return ""


def _format_of(folder: Path) -> str:
    """By the ending of the folder, or of files in it."""
    try:
        entries = sorted(path.suffix.lower() for path in folder.iterdir())
    except OSError:
        entries = []
    endings = [folder.suffix.lower(), *entries]
    return next((_ENDINGS[ending] for ending in endings if ending in _ENDINGS), "")
