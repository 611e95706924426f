"""How a source is named and read: its address, the endings of its files, and what a person may
state about an import (options of the command line, which are fields of the page Add data)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, get_args
from urllib.parse import unquote

from pydantic import AfterValidator, Field

from backend.datasets.cells import text_problem, trim
from backend.errors import DatasetFormatError
from backend.options import Options

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
#: Texts with a caption on each line.
PLURALS = (".captions", ".texts", ".sentences")
#: Tables whose lines are text.
#: Of these, lines of JSON.
JSON_LINES = (".jsonl", ".ndjson", ".jsonlines")
TEXT_TABLES = (".csv", ".tsv", *JSON_LINES)
TABLES = (*TEXT_TABLES, ".parquet")
#: Files of which a dataset usually has several.
SHARDS = (".tar", ".parquet", ".arrow")
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


#: The package that opens each scheme; "" needs none.
SCHEMES: Mapping[str, str] = {
    "s3": "s3fs", "gs": "gcsfs", "az": "adlfs", "hf": "huggingface_hub", "https": "", "http": "",
}  # fmt: skip


def is_address(text: object) -> bool:
    """Whether it is an address.

    >>> is_address("s3://bucket/folder"), is_address("C:/folder"), is_address("hf:OWNER/DATASET")
    (True, False, False)
    """
    scheme, mark, _ = str(text).partition("://")
    return bool(mark) and scheme in SCHEMES


def without_query(address: str) -> str:
    """The address without what follows `?` at a web server, which may hold a signature. In keys of
    object storage it is a character like any other.

    >>> without_query("https://h/a.csv?token=x"), without_query("s3://b/what?.png")
    ('https://h/a.csv', 's3://b/what?.png')
    """
    is_web = address.startswith(("https://", "http://"))
    return address.partition("?")[0] if is_web else address


def is_below(address: str, folder: str) -> bool:
    """Whether the address is `folder` or lies in it, however a server reads dots and escapes.

    >>> is_below("s3://b/f/x", "s3://b/f/"), is_below("s3://b/fx", "s3://b/f")
    (True, False)
    >>> is_below("https://h/f/%2e%2e/x", "https://h/f")
    False
    """
    parts = unquote(address).replace("\\", "/").split("/")
    inside = f"{address.rstrip('/')}/".startswith(f"{folder.rstrip('/')}/")
    return inside and not {".", ".."} & set(parts)


#: What a list of texts in the caption column may be.
ListForm = Literal["captions", "tokens", "tags"]
FORMS: tuple[ListForm, ...] = get_args(ListForm)

#: Fields with text, by the name of the import's argument. An empty one is detected.
LABELS = {
    "name": "Name in this app",
    "image_column": "Column with image paths",
    "caption_column": "Column with captions",
    "id_column": "Column with ids",
    "split_column": "Column with splits",
    "writer_column": "Column with who wrote a caption",
    "writer": "Who or what wrote the captions",
    "image_root": "Folder that image paths are relative to",
    "encoding": "Encoding",
    "delimiter": "Delimiter",
    "subset": "Subset",
    "language": "Language of captions",
    "lists": "Lists of captions, tokens or tags",
    "captions_separator": "Separator of captions in one cell",
    "caption_fields": "Kinds of captions",
    "answers": "Answers",
    "question": "Question",
}
#: Fields to be ticked.
NO_IDS, INSIDE, PER_LINE = "no_id_column", "captions_inside", "captions_per_line"
UNCAPTIONED = "uncaptioned"
TAKE, HIDE = "take_changes", "hide_gone"
TICKS = {
    NO_IDS: "No column contains ids",
    INSIDE: "Captions are embedded in the images",
    PER_LINE: "Each line of a caption file is a caption",
    UNCAPTIONED: "Take pictures without a caption, to write one",
    TAKE: "Take rows that changed since the last import",
    HIDE: "Hide pairs whose rows are gone",
}
FIELDS = (*LABELS, *TICKS)


def where_to_state(field: str, value: str = "") -> dict[str, str]:
    """Where to state something, by interface, as the arguments of an error.

    >>> where_to_state("encoding", "cp1252")["terminal"]
    'State it with --encoding cp1252.'
    >>> where_to_state("encoding")["page"]
    'State it under “Encoding”.'
    """
    option = f"--{field.replace('_', '-')}"
    return {
        "terminal": f"State it with {f'{option} {value}'.rstrip()}.",
        "page": f"State it under “{LABELS[field]}”" + (f": {value}." if value else "."),
    }


#: Caption sources other than tables and caption files.
CAPTIONS_FROM = ("metadata",)


#: Characters that are hard to type or to see, as people call them.
_DELIMITERS = {
    "tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|", "pipe": "|",
    "space": " ", "newline": "\n", "\\n": "\n",
}  # fmt: skip


def as_delimiter(text: str | None) -> str | None:
    """
    >>> as_delimiter("Tab"), as_delimiter(";"), as_delimiter(None)
    ('\\t', ';', None)
    """
    return text and _DELIMITERS.get(text.lower(), text)


class ReadOptions(Options):
    """How a source is read. What is None is detected."""

    image_column: str | None = None
    """Column with the image paths. Default: detected by name."""
    caption_column: str | None = None
    """Column with the captions. Default: detected by name."""
    id_column: str | None = None
    """Column with your own ids. Default: detected by name."""
    split_column: str | None = None
    """Column with train/validation/test. Default: detected by name."""
    writer_column: str | None = None
    """Column with who or what wrote a caption: a person or a model. Default: detected by name."""
    writer: str | None = Field(None, max_length=255)
    """Who or what wrote the captions whose rows do not say it: a person, or a model by its name."""
    writer_prompt: str | None = Field(None, max_length=4000)
    """The prompt of the model that wrote them."""
    writer_date: str | None = Field(None, max_length=64)
    """When they were written, such as 2024-05-01."""
    image_root: str | Path | None = None
    """Folder that image paths are relative to. Default: the file's own folder."""
    encoding: str | None = None
    """Encoding of CSV, TSV, JSON and JSONL, and of captions in tars or beside images, such as
    cp1252. Default: UTF-8, or another if it is detected beyond doubt."""
    delimiter: Annotated[str | None, AfterValidator(as_delimiter)] = None
    """Delimiter of the CSV file. Default: detected from the header."""
    subset: str | None = None
    """Which subset (configuration) of a hub dataset whose README.md lists several."""
    caption_from: str | None = None
    """metadata: captions are embedded in the images (XMP, IPTC, EXIF, PNG text)."""
    captions_per_line: bool = False
    """Each line of a .txt beside an image, or in a tar, is a caption. Default: the whole text is
    one."""
    captions_separator: Annotated[str | None, AfterValidator(as_delimiter)] = Field(
        None, min_length=1, max_length=20
    )
    """What stands between several captions in one cell or text, such as " | ", tab or newline: each
    is a caption. Default: the whole is one."""
    uncaptioned: bool = False
    """Also take pictures without a caption. Scoring suggests one for each; it is exported once
    somebody accepts it."""
    language: str | None = None
    """Which captions to take where there are several languages, such as en."""
    lists: ListForm | None = None
    """What a list of texts in the caption column is: several captions, or the tokens or tags of
    one. Default: detected by the form of all its lists."""
    caption_fields: str | None = None
    """Which kinds of captions to take where a picture has several, such as short,tags: columns,
    fields of captions in JSON, or what texts beside it are called (tags of a_tags.txt); all: every
    one. Default: one kind; the others are columns."""
    answers: Literal["descriptions", "all"] | None = None
    """Which answers of conversations are captions: those to requests to describe the picture (the
    default), or all."""
    question: str | None = None
    """Words of the questions whose answers are captions, instead of requests to describe."""

    def check(self) -> None:
        """Raise DatasetFormatError for a delimiter, a caption source or a writer that cannot be."""
        for value in (self.writer, self.writer_prompt, self.writer_date):
            if problem := text_problem(value or ""):
                raise DatasetFormatError(f"'{trim(value or '')}' names no writer: {problem}.")
        if not (self.writer or "").strip() and (self.writer_prompt or self.writer_date):
            raise DatasetFormatError(
                "A prompt and a date are of a writer.", **where_to_state("writer")
            )
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise DatasetFormatError(
                f"Cells cannot be separated by '{trim(self.delimiter)}': give one character."
            )
        if self.caption_from not in (None, *CAPTIONS_FROM):
            raise DatasetFormatError(
                f"Captions cannot be read from '{trim(str(self.caption_from))}'. "
                f"There is: {', '.join(CAPTIONS_FROM)}."
            )


#: Everything is detected.
DETECTED = ReadOptions()
