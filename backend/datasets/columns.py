"""Which column holds what: by the user's word, or by the names people give."""

from collections.abc import Iterable
from dataclasses import dataclass

from backend.errors import DatasetFormatError

_IMAGE = (
    "file_name", "image_path", "image_file", "filename", "filepath", "image", "img", "path",
    "file", "img_path", "image_name",
)  # fmt: skip
#: Names that people give to the column of the captions.
CAPTION_NAMES = (
    "caption", "captions", "text", "texts", "sentence", "sentences", "description", "raw",
    "alt_text", "title",
)  # fmt: skip
_ID = ("id", "pair_id", "caption_id", "sentid", "uid", "key", "image_id")
_SPLIT = ("split", "subset", "partition")


@dataclass(frozen=True)
class Columns:
    """Names of columns; None where the dataset has none."""

    image: str
    caption: str
    id: str | None
    split: str | None


def find_columns(
    there: Iterable[str],
    file: str,
    image: str | None = None,
    caption: str | None = None,
    id: str | None = None,
    split: str | None = None,
) -> Columns:
    """Names given must exist; others are found, case aside.

    Raises DatasetFormatError naming the columns that there are.
    """
    names = list(there)
    return Columns(
        _find(names, file, image, _IMAGE, "image path", "--image-column") or "",
        _find(names, file, caption, CAPTION_NAMES, "caption", "--caption-column") or "",
        _find(names, file, id, _ID, None, "--id-column"),
        _find(names, file, split, _SPLIT, None, "--split-column"),
    )


def _find(
    names: list[str],
    file: str,
    given: str | None,
    usual: tuple[str, ...],
    needed: str | None,
    option: str,
) -> str | None:
    listed = ", ".join(f"'{name}'" for name in names) or "none"
    if given is not None:
        if given in names:
            return given
        raise DatasetFormatError(
            f"'{file}' has no column '{given}' ({option}). Its columns: {listed}."
        )
    lower = {name.strip().lower(): name for name in reversed(names)}
    for name in usual:
        if name in lower:
            return lower[name]
    if needed is None:
        return None
    raise DatasetFormatError(
        f"'{file}' has no column that looks like the {needed}. Its columns: {listed}. "
        f"Name it with {option}."
    )
