"""Whether a name in a table is that of a picture beside it."""

from pathlib import Path, PurePosixPath

from backend.datasets.read_options import PICTURES

#: What folders of pictures beside a table are called.
PICTURE_FOLDERS = (
    "image", "images", "Images", "img", "imgs", "pictures", "photos", "filtered_images",
    "Flicker8k_Dataset", "Flickr8k_Dataset", "flickr30k_images",
)  # fmt: skip
_LONGEST = 255


def names_picture(table: Path, name: str) -> bool:
    """Whether the name has the ending of a picture, or there is a picture of this stem beside the
    table or in a folder of pictures there."""
    path = PurePosixPath(name.replace("\\", "/"))
    if path.suffix.lower() in PICTURES:
        return True
    if not name or len(name) > _LONGEST or path.is_absolute() or {"..", "."} & {*path.parts}:
        return False
    if "\0" in name:
        return False
    places = (table.parent, *(table.parent / folder for folder in PICTURE_FOLDERS))
    return any((place / f"{path}{ending}").is_file() for place in places for ending in PICTURES)
