"""The tables of a source, their splits, and the folders with their pictures."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from backend.datasets.reading.named_pictures import PICTURE_FOLDERS
from backend.datasets.reading.tar_descriptions import TarDescription
from backend.datasets.splits import splits_of


@dataclass(frozen=True)
class SourceTables:
    """The tables of a source in order, the split of those that have one, and what was not read.
    `described`: what files beside the tars say of them; `text_tars`: those with the texts of the
    pictures in `tables`."""

    tables: list[Path]
    splits: dict[Path, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    described: TarDescription | None = None
    text_tars: tuple[Path, ...] = ()


def splits_below(folder: Path, tables: Iterable[Path]) -> dict[Path, str]:
    """The splits of tables, by their names and those of their folders below `folder`."""
    names = {table.relative_to(folder).as_posix(): table for table in tables}
    return {names[name]: split for name, split in splits_of(names).items()}


def image_folders(table: Path, root: Path, is_root_given: bool) -> list[Path]:
    """The folders that image paths of a table may be relative to, the likeliest first. COCO's
    captions_val2017.json lies in annotations/, and its images in val2017/ beside that."""
    beside = table if table.is_dir() else table.parent
    folders = [root, beside] if is_root_given else [beside, root]
    if table.suffix.lower() == ".json":
        part = table.stem.rpartition("_")[2]
        folders += [root / part, root / "images", root / "images" / part]
    folders += [root / name for name in PICTURE_FOLDERS if (root / name).is_dir()]
    return folders


def root_of(table: Path) -> Path:
    """The folder of a dataset that is one file: COCO's annotations/ lies in it."""
    part = table.stem.rpartition("_")[2]
    above = table.parent.parent
    is_coco = table.parent.name == "annotations" and table.suffix.lower() == ".json"
    return above if is_coco and (above / part).is_dir() else table.parent
