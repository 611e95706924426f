"""The export formats. A new one is a module with a writer, and its entry here: the page's choices,
the command line's help, the table in the documentation and the tests of all formats follow. Other
packages add theirs (`backend.plugins`)."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from backend import plugins
from backend.errors import SettingsError

if TYPE_CHECKING:  # the command line's help reads this module
    from backend.datasets.export_row import ExportRow, Target

#: Writes the rows into the target's folder and returns their number.
Writer = Callable[[Iterable["ExportRow"], "Target"], int]
#: From the store, the dataset's id and the choice of an export: by the id of a pair, a function
#: that makes of people's names in the export what its row is written with (`ExportRow.content`).
#: Raises ExportError if there is nothing to write.
Contents = Callable[..., Mapping[int, Callable[[Callable[[str], str]], Any]]]


@dataclass(frozen=True)
class ExportFormat:
    """`name`: by which it is chosen; `writer`: a function, or its name as MODULE:FUNCTION, because
    the command line's help needs no writer; `label`: on the page; `description`: in the
    documentation, Markdown; `is_resumable`: written in shards, so that an interrupted export is
    resumed by the next one; `is_for_hub`: it can be loaded from the Hugging Face hub; `reserved`:
    further names that columns of the source may not have; `contents`: what it writes of each pair
    beside its row, and no row without (of such a format only)."""

    name: str
    writer: str | Writer
    label: str
    description: str
    is_resumable: bool = False
    is_for_hub: bool = False
    reserved: frozenset[str] = frozenset()
    contents: str | Contents | None = None

    def contents_of(
        self, *export: Any
    ) -> Mapping[int, Callable[[Callable[[str], str]], Any]] | None:
        """What `contents` returns; None if the format has a row for every pair."""
        return None if self.contents is None else _resolved(self.contents)(*export)

    def write(self, rows: Iterable["ExportRow"], target: "Target") -> int:
        """Write the rows; returns their number. Raises SettingsError for a writer that does not."""
        number = _resolved(self.writer)(rows, target)
        if not isinstance(number, int):
            raise SettingsError(
                f"The writer of the format '{self.name}' returns {type(number).__name__}, not the "
                "number of rows. Repair its package."
            )
        return number


def _resolved(function: str | Callable[..., Any]) -> Callable[..., Any]:
    return resolve_name(function) if isinstance(function, str) else function


_OURS = (
    ExportFormat(
        "imagefolder",
        "backend.datasets.writing.folder_writing:write_imagefolder",
        "Folder of images with metadata.jsonl",
        "copies of the images and `metadata.jsonl`, split by split (default)",
        is_for_hub=True,
    ),
    ExportFormat(
        "sidecar",
        "backend.datasets.writing.folder_writing:write_sidecars",
        "Images with a .txt beside each",
        "a `.txt` with the caption beside each image, as trainers of image models read them; a "
        "copy of the image per pair",
        is_for_hub=True,
    ),
    ExportFormat(
        "coco",
        "backend.datasets.writing.folder_writing:write_coco",
        "COCO captions (JSON) with images",
        "copies of the images and COCO caption annotations",
        is_for_hub=True,
        reserved=frozenset({"image_id", "pair_id"}),
    ),
    ExportFormat(
        "csv",
        "backend.datasets.writing.table_writing:write_csv",
        "CSV with image paths",
        "a table with the paths of the images; formulas are made harmless for spreadsheets",
    ),
    ExportFormat(
        "jsonl",
        "backend.datasets.writing.table_writing:write_jsonl",
        "JSONL with image paths",
        "the same as JSON lines",
    ),
    ExportFormat(
        "parquet",
        "backend.datasets.writing.table_writing:write_parquet",
        "Parquet with image paths",
        "the same as Parquet",
    ),
    ExportFormat(
        "parquet-images",
        "backend.datasets.writing.shard_writing:write_parquet_images",
        "Parquet with the images",
        "Parquet with the images inside, split by split, in shards",
        is_resumable=True,
        is_for_hub=True,
    ),
    ExportFormat(
        "webdataset",
        "backend.datasets.writing.shard_writing:write_webdataset",
        "WebDataset shards (tar)",
        "tars with the images, split by split, in shards",
        is_resumable=True,
        is_for_hub=True,
    ),
    ExportFormat(
        "huggingface",
        "backend.datasets.writing.shard_writing:write_saved_dataset",
        "Hugging Face dataset on disk",
        "the folder that `datasets.load_from_disk` reads, with the images, in shards",
        is_resumable=True,
    ),
)
#: By name.
EXPORT_FORMATS: dict[str, ExportFormat] = {each.name: each for each in _OURS}


def _join(extension: ExportFormat) -> None:
    """Let the format of a plug-in take part. Raises ValueError."""
    if extension.name in EXPORT_FORMATS:
        raise ValueError(f"There is an export format '{extension.name}' already.")
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,39}", extension.name):
        raise ValueError(f"'{extension.name}' is no name: it takes a-z, 0-9 and hyphens.")
    if not isinstance(extension.writer, str) and not callable(extension.writer):
        raise ValueError("Its writer is no function.")
    EXPORT_FORMATS[extension.name] = extension


plugins.load("formats", ExportFormat, _join)
