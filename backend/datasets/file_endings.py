"""The endings of pictures, captions and tables: one list for all readers."""

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
