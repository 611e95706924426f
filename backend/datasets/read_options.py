"""How a source is read: what a user says beyond its path, and the endings of its files."""

from dataclasses import dataclass
from pathlib import Path

from backend.datasets.cells import shown
from backend.errors import DatasetFormatError

#: Pictures. Formats of single icons and of design programs are left out: in a folder of photographs
#: they stand beside pictures and are none.
PICTURES = (
    ".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".gif", ".bmp", ".dib", ".tif", ".tiff",
    ".avif", ".ppm", ".pgm", ".pbm", ".pnm", ".jp2", ".j2k", ".jpx", ".qoi", ".tga",
)  # fmt: skip
#: Pictures and films that cannot be read.
UNREADABLE_PICTURES = (
    ".heic", ".heif", ".jxl", ".svg", ".eps", ".pdf", ".raw", ".dng", ".cr2", ".cr3", ".nef",
    ".arw", ".orf", ".rw2", ".exr", ".hdr", ".xcf", ".mp4", ".mov", ".webm", ".npy",
)  # fmt: skip
#: Texts with a caption.
CAPTIONS = (".txt", ".caption", ".text", ".cap")
#: Tables whose lines are text.
TEXT_TABLES = (".csv", ".tsv", ".jsonl", ".ndjson")
TABLES = (*TEXT_TABLES, ".parquet")
#: Every file that is a source by itself.
SOURCES = (*TABLES, ".json", ".tar", ".zip", ".arrow")


def is_hidden(path: str) -> bool:
    """Whether a file, or a folder above it, is hidden, or a copy that macOS makes of attributes.

    >>> is_hidden("train/._0001.jpg"), is_hidden("./train/0001.jpg"), is_hidden("__MACOSX/a.jpg")
    (True, False, True)
    """
    return any(
        (part.startswith(".") and part not in (".", "..")) or part == "__MACOSX"
        for part in path.split("/")
    )


#: Caption sources other than tables and caption files.
CAPTIONS_FROM = ("metadata",)


@dataclass(frozen=True)
class ReadOptions:
    """Columns, encoding and delimiter that are None are detected; `id_column` "" means none.

    `image_root`: the folder that no image path may leave, by default the source's own. `subset`:
    the configuration of a Hub dataset with several. `caption_from` "metadata": captions are
    embedded in the images. `captions_per_line`: each line of a caption file is a caption.
    `language`: of captions in several languages, by its code. `uncaptioned`: pictures without a
    caption are read too, with an empty one.
    """

    image_column: str | None = None
    caption_column: str | None = None
    id_column: str | None = None
    split_column: str | None = None
    image_root: str | Path | None = None
    encoding: str | None = None
    delimiter: str | None = None
    subset: str | None = None
    caption_from: str | None = None
    captions_per_line: bool = False
    language: str | None = None
    uncaptioned: bool = False

    def check(self) -> None:
        """Raise DatasetFormatError for a delimiter or a caption source that cannot be."""
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise DatasetFormatError(
                f"Cells cannot be separated by '{shown(self.delimiter)}': give one character."
            )
        if self.caption_from not in (None, *CAPTIONS_FROM):
            raise DatasetFormatError(
                f"Captions cannot be read from '{shown(str(self.caption_from))}'. "
                f"There is: {', '.join(CAPTIONS_FROM)}."
            )


#: Everything is detected.
DETECTED = ReadOptions()
