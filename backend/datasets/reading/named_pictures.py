"""Whether a name in a table is that of a picture beside it, and which pictures below a folder it
may be that of, if it lacks folders."""

import os
import re
from os.path import splitext
from pathlib import Path, PurePosixPath

from backend.datasets.read_options import PICTURES
from backend.datasets.reading.on_disk import temporary_database
from backend.datasets.reading.sidecars import folders_below, is_image
from backend.datasets.safe_files.foreign_names import fold_name

#: What folders of pictures beside a table are called.
PICTURE_FOLDERS = (
    "image", "images", "Images", "img", "imgs", "pictures", "photos", "filtered_images",
    "Flicker8k_Dataset", "Flickr8k_Dataset", "flickr30k_images",
)  # fmt: skip
_LONGEST = 255
#: COCO's names of pictures: a number of twelve digits, since 2017 alone, which no two of its splits
#: share.
_COCO_NAME, _COCO_DIGITS = re.compile(r"(?:COCO_[a-z]+\d{4}_)?\d{12}"), 12
_COCO_PARTS = ("train2014", "val2014", "test2014", "test2015")


def is_picture_name(name: str) -> bool:
    return name.lower().endswith(PICTURES)


def names_picture(table: Path, name: str, root: Path | None = None) -> bool:
    """Whether the name has the ending of a picture, or there is a picture of this stem beside the
    table, in a folder of pictures there, or in `root`, that of all pictures."""
    if is_picture_name(name):
        return True
    path = PurePosixPath(name.replace("\\", "/"))
    if not name or len(name) > _LONGEST or path.is_absolute() or {"..", "."} & {*path.parts}:
        return False
    if "\0" in name:
        return False
    places = [table.parent, *(table.parent / folder for folder in PICTURE_FOLDERS)]
    places += [root] if root is not None else []
    return any((place / f"{path}{ending}").is_file() for place in places for ending in PICTURES)


def is_coco_name(path: str) -> bool:
    """Whether a picture is called as COCO calls its own.

    >>> is_coco_name("val2014/COCO_val2014_000000391895.jpg"), is_coco_name("val/0001.jpg")
    (True, False)
    """
    return bool(_COCO_NAME.fullmatch(PurePosixPath(path).stem))


def coco_names(name: str) -> list[str]:
    """What COCO may call the picture of a number, without its ending; empty for another name.

    >>> coco_names("391895")[:2], coco_names("a1")
    (['000000391895', 'COCO_train2014_000000391895'], [])
    """
    if not (name.isascii() and name.isdecimal() and len(name) <= _COCO_DIGITS):
        return []
    digits = name.zfill(_COCO_DIGITS)
    return [digits, *(f"COCO_{part}_{digits}" for part in _COCO_PARTS)]


class PicturesBelow:
    """The pictures below a folder by the ends of their paths, in a temporary file: looked for when
    the first is asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._database = temporary_database("CREATE TABLE pictures (stem BLOB, path BLOB)")
        self._is_filled = False

    def ending_in(self, name: str) -> list[str]:
        """The paths below the folder that end in the name, with or without their ending; those that
        are written as it is, if there are any. Of a number that no picture is called by, that of
        COCO's picture."""
        if not self._is_filled:
            self._fill()
        name = name.replace("\\", "/").removeprefix("./")
        return next(filter(None, map(self._ending_in, (name, *coco_names(name)))), [])

    def _ending_in(self, name: str) -> list[str]:
        last = name.rpartition("/")[2]
        paths = [
            os.fsdecode(path)
            for key in {last, splitext(last)[0]}
            for (path,) in self._database.execute(
                "SELECT path FROM pictures WHERE stem = ?", (_key(key),)
            )
        ]
        for form in (str, fold_name):
            end = f"/{form(name)}"
            by_end = {path: form(f"/{path}") for path in paths}
            whole = [path for path, text in by_end.items() if text.endswith(end)]
            if found := whole or [
                p for p, text in by_end.items() if splitext(text)[0].endswith(end)
            ]:
                return sorted(found)
        return []

    def close(self) -> None:
        self._database.close()

    def _fill(self) -> None:
        self._is_filled = True
        self._database.executemany(
            "INSERT INTO pictures VALUES (?, ?)",
            (
                (_key(splitext(name)[0]), os.fsencode((place / name).relative_to(self._folder)))
                for place, names in folders_below(self._folder)
                for name in names if is_image(name)
            ),
        )  # fmt: skip
        self._database.execute("CREATE INDEX by_stem ON pictures (stem)")


def _key(stem: str) -> bytes:
    return fold_name(stem).encode("utf-8", "surrogatepass")
