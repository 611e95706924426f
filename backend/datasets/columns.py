"""Find the image, caption and id columns, by option or by common names."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from backend.datasets.cells import trim
from backend.datasets.read_options import where_to_state
from backend.errors import DatasetFormatError

#: Common names of the image column.
IMAGE_NAMES = (
    "file_name", "image_path", "image_file", "filename", "filepath", "image", "img", "path",
    "file", "img_path", "image_name", "name",
)  # fmt: skip
#: Ids that are the names of pictures without their ending, where no column is named as above.
IMAGE_IDS = ("image_id", "img_id", "imageid", "picture_id", "photo_id")
#: Common names of the columns that name pictures.
PICTURE_NAMES = (*IMAGE_NAMES, *IMAGE_IDS)
#: Common names of the caption column.
CAPTION_NAMES = (
    "caption", "captions", "text", "texts", "sentence", "sentences", "description", "raw",
    "alt_text", "title", "comment", "caption_str",
)  # fmt: skip
#: Names of columns with lists that are one caption each, if nothing has it as text.
LIST_NAMES = ("tokens", "tags")
#: Fields of an object that hold its caption, in this order: `raw` stands beside the tokens of the
#: same sentence, a long caption before a short one.
OBJECT_NAMES = (
    "raw", "caption", "captions", "text", "texts", "sentence", "sentences", "description",
    "high_level_description", "detailed_caption", "detailed_description", "long_caption", "long",
    "detailed", "short_caption", "short_description", "short", "summary", "alt_text", "title",
    "comment", "caption_str", *LIST_NAMES, "keywords",
)  # fmt: skip
ID_NAMES = ("id", "pair_id", "caption_id", "sentid", "uid", "key", "__key__", "image_id")
#: Ids of images and of samples in a shard: used as pair ids only if they are unique.
WEAK_IDS = ("__key__", "image_id")
#: Common names of the column that says who wrote a caption: of either kind, of models, of people.
WRITERS = ("writer", "caption_writer", "written_by", "captions_by", "caption_by", "captioned_by")
MODEL_WRITERS = ("captioner", "caption_model", "captioning_model", "generated_by", "model")
PEOPLE_WRITERS = ("annotator", "annotator_id", "worker_id", "workerid", "caption_author")
#: Beside one of these a column `model` names what took the picture.
_OF_CAMERAS = ("make", "camera", "camera_make", "brand", "manufacturer")
#: Common names of columns with addresses of pictures.
_ADDRESSES = ("url", "image_url", "img_url", "image_link", "jpg_url", "photo_url")
_SPLIT = ("split", "subset", "partition")


@dataclass(frozen=True)
class Columns:
    """Names of columns; None if the dataset has none."""

    image: str
    caption: str
    id: str | None
    split: str | None
    writer: str | None = None
    #: What the table says besides of a caption's writer; "": nothing.
    writer_kind: str = ""
    writer_prompt: str = ""
    writer_date: str = ""


def find_columns(
    columns: Iterable[str],
    file: str,
    image: str | None = None,
    caption: str | None = None,
    id: str | None = None,
    split: str | None = None,
    writer: str | None = None,
    image_columns: Collection[str] = (),
    unread: Collection[str] = (),
) -> Columns:
    """Given names must exist; others are detected, ignoring case. An empty name means no column.

    `image_columns`: columns that contain the images themselves; they are preferred among common
    names, because a file name next to them is only the image's original name. `unread`: columns
    with bytes that are neither pictures nor text, which can be no column here.

    Raises DatasetFormatError, which lists the existing columns.
    """
    names = list(columns)
    images = names
    if image is None and image_columns:
        usual = [name for name in image_columns if name.strip().lower() in IMAGE_NAMES]
        images = usual or names
        if len(image_columns) == 1 and not usual:
            image = next(iter(image_columns))
    captions = [name for name in names if name not in image_columns or name == caption]
    there = f"Its columns: {listed_names(names)}."
    if unread:
        there += f" Of bytes that are neither pictures nor text: {listed_names(unread)}."
    address = usual_name(names, _ADDRESSES)
    download = f" If '{address}' leads to the pictures, download them first." if address else ""
    return Columns(
        _find(
            images,
            file,
            there + download,
            image,
            PICTURE_NAMES,
            "image path",
            "image_column",
        )
        or "",
        _find(
            captions,
            file,
            there,
            caption,
            (*CAPTION_NAMES, *LIST_NAMES),
            "caption",
            "caption_column",
        )
        or "",
        _find(names, file, there, id, ID_NAMES, None, "id_column"),
        _find(names, file, there, split, _SPLIT, None, "split_column"),
        _find(names, file, there, writer, _writers(names), None, "writer_column"),
        usual_name(names, ("writer_kind",)),
        usual_name(names, ("writer_prompt", "caption_prompt", "captioner_prompt")),
        usual_name(names, ("writer_date", "caption_date", "captioned_at")),
    )


def _writers(names: Iterable[str]) -> tuple[str, ...]:
    models = MODEL_WRITERS if not usual_name(names, _OF_CAMERAS) else MODEL_WRITERS[:-1]
    return (*WRITERS, *models, *PEOPLE_WRITERS)


def usual_name(names: Iterable[str], usual: Sequence[str]) -> str:
    """The column whose name, ignoring case, is the first of the usual ones; "" if there is none.

    >>> usual_name(["URL", " Text ", "Caption"], CAPTION_NAMES)
    'Caption'
    """
    lower = {name.strip().lower(): name for name in reversed(list(names))}
    return next((lower[name] for name in usual if name in lower), "")


def listed_names(names: Iterable[str]) -> str:
    """The first names, for a message."""
    return ", ".join(f"'{trim(name)}'" for name in list(names)[:50]) or "none"


def _find(
    names: list[str],
    file: str,
    there: str,
    column: str | None,
    usual: tuple[str, ...],
    requirement: str | None,
    field: str,
) -> str | None:
    """`there`: what columns the table has, as a sentence."""
    if column == "" and requirement is None:
        return None
    if column is not None:
        if column in names:
            return column
        raise DatasetFormatError(
            f"'{file}' has no column '{column}'. {there}", **where_to_state(field)
        )
    if name := usual_name(names, usual):
        return name
    if requirement is None:
        return None
    raise DatasetFormatError(
        f"'{file}' has no column that looks like the {requirement}. {there}",
        **where_to_state(field),
    )
