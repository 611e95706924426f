"""Which files of a folder are the tables of its dataset, and which of them belong together."""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from backend.datasets.cells import EmbeddedImage, json_object, trim
from backend.datasets.columns import IMAGE_NAMES, PICTURE_NAMES, usual_name
from backend.datasets.export_row import MARK
from backend.datasets.read_options import (
    CAPTIONS,
    INSIDE,
    TICKS,
    UNCAPTIONED,
    ReadOptions,
    is_hidden,
)
from backend.datasets.reading import hub_datasets
from backend.datasets.reading.annotations import is_mm_imdb
from backend.datasets.reading.caption_fields import is_caption_name, texts_by_field
from backend.datasets.reading.captions_txt import caption_lists
from backend.datasets.reading.json_captions import caption_field
from backend.datasets.reading.shards import saved_tables, shards_of
from backend.datasets.reading.sidecars import MOST_TEXT, has_images, has_sidecars, owners_of
from backend.datasets.reading.source_tables import SourceTables, splits_below
from backend.datasets.reading.tar_descriptions import TarDescription, describe_tars
from backend.datasets.reading.tar_members import holds_pictures_alone
from backend.datasets.reading.unread_sources import unread_folder, unread_format
from backend.datasets.safe_files.regular_files import read_within
from backend.datasets.splits import split_in
from backend.datasets.table_readers import FoundTables, table_readers, tables_of_readers
from backend.errors import DatasetFormatError, SettingsError, UnsupportedFormat

#: Names of the metadata file in an `imagefolder`, and of the table in an export without images;
#: of several in one folder the first is read.
METADATA = (
    "metadata.jsonl", "metadata.csv", "metadata.parquet", "data.jsonl", "data.csv", "data.parquet",
)  # fmt: skip


def has_tables_or_tars(folder: Path) -> bool:
    """Whether it has a table whose pictures compressed tars beside it may hold, or plain tars."""
    return any((folder / name).is_file() for name in METADATA) or any(folder.glob("*.tar"))


def tables_of(
    folder: Path,
    subset: str | None,
    may_lack_captions: bool = False,
    described: TarDescription | None = None,
) -> SourceTables:
    """The tables to read from a folder, by its content; `may_lack_captions`: pictures alone will
    do; `described`: what files beside tars say. Raises DatasetFormatError if there are none, naming
    what there is."""
    # MM-IMDb has its films in a folder, which is treated as the table.
    films = next((f for f in (folder, folder / "dataset") if f.is_dir() and is_mm_imdb(f)), None)
    if films is not None:
        return SourceTables([films])
    if split_of := saved_tables(folder):
        return SourceTables(list(split_of), split_of)
    if described is not None and described.tars:
        return SourceTables(described.tars, described.splits, described.notes, described)
    ours = (folder / MARK).is_file() and subset is None
    if not ours and (hub_tables := hub_datasets.listed_files(folder, subset)) is not None:
        return hub_tables
    metadata, rest = _metadata_files(folder)
    if not metadata and (other := tables_of_readers(folder)):
        return SourceTables(other.tables, splits_below(folder, other.tables), other.notes)
    kinds = [metadata, shards_of(folder), _tables_in(folder)]
    may_be_pictures = not metadata and not may_lack_captions
    if may_be_pictures and (beside := _captions_beside(kinds[1], folder)):
        return beside
    if tables := next(filter(None, kinds), []):
        others = {path for kind in kinds for path in kind if not _is_index(path)}
        unread = sorted({*others, *rest} - {*tables})
        notes = (*_notes(folder, unread), *_notes_on_texts(tables))
        return SourceTables(tables, splits_below(folder, tables), notes)
    if has_sidecars(folder):
        return SourceTables([folder], notes=_notes(folder, []))
    if lists := caption_lists(folder):
        return SourceTables(lists, notes=_notes(folder, []))
    if parts := _tables_below(folder):
        return parts
    if not has_images(folder) and (sentence := unread_format(folder)):
        raise UnsupportedFormat(sentence)
    advice = {}
    if has_images(folder):
        if may_lack_captions:
            return SourceTables([folder])
        advice = {
            "terminal": "Captions inside the images: --caption-from metadata. Pictures without "
            "captions, to be described: --uncaptioned.",
            "page": f"Captions inside the images: tick “{TICKS[INSIDE]}”. Pictures without "
            f"captions: tick “{TICKS[UNCAPTIONED]}”.",
        }
    raise DatasetFormatError(unread_folder(folder, has_pictures=bool(advice)), **advice)


def _captions_beside(tars: Sequence[Path], folder: Path) -> SourceTables | None:
    """The tables of a folder whose tars hold pictures alone."""
    if not tars or not all(holds_pictures_alone(tar, folder) for tar in tars):
        return None
    if tables := _tables_in(folder) or caption_lists(folder):
        return SourceTables(tables, notes=_notes(folder, []))
    return _tables_below(folder, tars)


def _tables_below(folder: Path, besides: Collection[Path] = ()) -> SourceTables | None:
    """The tables of subfolders without those `besides` which they are looked for: those whose
    formats plug-ins read, such as one of each split, if they hold pairs or are all there is, else
    those that the names of files tell."""
    by_place = _readers_below(folder)
    clone = hub_datasets.found_files(folder, besides) or SourceTables([])
    every = [
        path for path in clone.tables
        if not _is_in_export(path, folder) and by_place.keys().isdisjoint(path.parents)
    ]  # fmt: skip
    of_pictures = _beside_pictures(every)
    usual = [path for path in every if path not in of_pictures]
    sources = [s for s in by_place.values() if not usual or any(map(_holds_pairs, s.tables[:1]))]
    tables = [table for source in sources for table in source.tables] or usual
    of_readers = [table for source in by_place.values() for table in source.tables]
    unread = sorted({*of_readers, *usual, *of_pictures} - {*tables})
    notes = [note for source in sources for note in source.notes]
    splits = splits_below(folder, tables) if sources else clone.splits
    return SourceTables(tables, splits, (*notes, *_notes(folder, unread))) if tables else None


def _beside_pictures(tables: Iterable[Path]) -> set[Path]:
    """Those that are the JSON of one picture each, under another name than is read."""
    by_folder: dict[Path, set[str]] = {}
    for table in tables:
        if table.suffix.lower() == ".json":
            by_folder.setdefault(table.parent, set()).add(table.name)
    return {
        folder / name
        for folder, names in by_folder.items()
        for by_kind in texts_by_field(os.listdir(folder), (".json",)).values()
        for name in names.intersection(by_kind.values())
        if _is_of_one_picture(folder / name)
    }


def _is_of_one_picture(file: Path) -> bool:
    """Whether it is an object with the texts of a caption; a table has rows or names pictures."""
    try:
        about = json_object(read_within(file.parent, file, MOST_TEXT).decode())
    except (DatasetFormatError, OSError, ValueError, RecursionError):
        return False
    caption = about.get(caption_field(about))
    is_text = all(isinstance(e, str) for e in (caption if isinstance(caption, list) else [caption]))
    return is_text and not usual_name(about, IMAGE_NAMES)


def _readers_below(folder: Path) -> dict[Path, FoundTables]:
    """What plug-ins read in subfolders, by these."""
    sources = {}
    for place, folders, files in os.walk(folder):
        is_export = MARK in files and place != str(folder)
        other = None if is_export else tables_of_readers(Path(place))
        if other:
            sources[Path(place)] = other
        if other or is_export:
            folders.clear()
        folders[:] = sorted(name for name in folders if not is_hidden(name))
    return sources


def _holds_pairs(table: Path) -> bool:
    """Whether the first row of a table of a plug-in has a picture and a field named like a caption;
    an index of texts or of vectors has not."""
    try:
        rows = table_readers()[table.suffix.lower()].checked_rows(table)
        values = next((row.values for row in rows if row.values is not None), {})
    except (DatasetFormatError, SettingsError):
        return False
    has_picture = any(isinstance(cell, EmbeddedImage) for cell in values.values())
    names_picture = bool(usual_name(values, PICTURE_NAMES))
    return (has_picture or names_picture) and any(map(is_caption_name, values))


def table_alone(path: Path, options: ReadOptions) -> SourceTables:
    """A table that is given by itself; of a tar, with what files beside it say."""
    if other := tables_of_readers(path):
        return SourceTables(other.tables, splits_below(path.parent, other.tables), other.notes)
    described = describe_tars(path, options) if path.suffix.lower() == ".tar" else None
    if described is None:
        return SourceTables([path], splits_below(path.parent, [path]))
    return SourceTables([path], described.splits, described.notes, described)


def _metadata_files(folder: Path) -> tuple[list[Path], list[Path]]:
    """metadata.* or data.* of the folder and of its splits (train, test, …); without one in the
    folder, those of all its subfolders. And those that are not read."""
    exports = exports_in(folder)
    inner = sorted(p for p in folder.iterdir() if p.is_dir() and not is_hidden(p.name))
    tables: list[Path] = []
    rest: list[Path] = []
    has_own = False
    for place in [folder, *(place for place in inner if place not in exports)]:
        files = [place / name for name in METADATA if (place / name).is_file()]
        is_wanted = not has_own or bool(split_in(place.name))
        has_own = has_own or (place == folder and bool(files))
        tables += files[:1] if is_wanted else []
        rest += files[1:] if is_wanted else files
    return tables, rest


def _tables_in(folder: Path) -> list[Path]:
    """Parquet files, except the lists that img2dataset writes next to image folders; else COCO
    caption files, of its official layout too, or the samples of FiftyOne, whose metadata.json
    holds none."""
    parquet = [p for p in sorted(folder.glob("*.parquet")) if not _is_index(p)]
    return (
        [p for p in parquet if not is_hidden(p.name)]
        or sorted(folder.glob("captions_*.json"))
        or sorted(folder.glob("annotations/captions_*.json"))
        or sorted(folder.glob("samples.json"))
    )


def _is_index(path: Path) -> bool:
    """Whether img2dataset wrote it as a list of what is in a folder or a tar beside it."""
    plain = path.with_suffix("")
    return path.suffix == ".parquet" and (plain.is_dir() or path.with_suffix(".tar").is_file())


def exports_in(folder: Path) -> list[Path]:
    """The direct subfolders that are exports of this program."""
    return sorted(path.parent for path in folder.glob(f"*/{MARK}"))


def _is_in_export(path: Path, folder: Path) -> bool:
    above = (place for place in path.parents if place != folder and place.is_relative_to(folder))
    return any((place / MARK).is_file() for place in above)


def _notes(folder: Path, unread: list[Path]) -> tuple[str, ...]:
    notes = []
    if exports := exports_in(folder):
        notes.append(f"{_listing(exports, folder)}: exports of this program, which are not read.")
    if unread:
        notes.append(
            f"{_listing(unread, folder)}: not read, because another table describes the folder. To "
            "read one, import it by itself."
            + " Of tars, pictures that the table names are read, but no captions."
            * any(path.suffix.lower() == ".tar" for path in unread)
        )
    return tuple(notes)


def _notes_on_texts(tables: Iterable[Path]) -> Iterator[str]:
    """That captions beside pictures are not read because of the table there."""
    for place in dict.fromkeys(table.parent for table in tables):
        if owners := owners_of(os.listdir(place), CAPTIONS):
            yield (
                f"{len(owners):,} texts beside pictures, such as '{trim(min(owners))}', are not "
                "read, because a table describes the folder. To read them, move it elsewhere."
            )
            return


def _listing(paths: list[Path], folder: Path) -> str:
    names = [f"'{trim(path.relative_to(folder).as_posix())}'" for path in paths]
    more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more
