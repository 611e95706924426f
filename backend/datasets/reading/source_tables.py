"""Which files of a folder are the tables of its dataset, and what there is instead if none is.

A compressed tar (`.tar.gz`, `.tgz`) is decompressed once: images in a tar are read by offset.
"""

import gzip
import hashlib
import os
import shutil
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from backend.datasets.cells import EmbeddedImage, json_object, trim
from backend.datasets.columns import IMAGE_NAMES, PICTURE_NAMES, usual_name
from backend.datasets.export_row import MARK
from backend.datasets.read_options import (
    CAPTIONS,
    INSIDE,
    SOURCES,
    TICKS,
    UNCAPTIONED,
    UNREADABLE_PICTURES,
    ReadOptions,
    is_hidden,
)
from backend.datasets.reading import hub_datasets
from backend.datasets.reading.annotations import is_mm_imdb
from backend.datasets.reading.caption_fields import is_caption_name, texts_by_field, texts_unread
from backend.datasets.reading.captions_txt import caption_lists
from backend.datasets.reading.hub_datasets import SourceTables
from backend.datasets.reading.json_captions import caption_field
from backend.datasets.reading.named_pictures import PICTURE_FOLDERS
from backend.datasets.reading.shards import saved_tables, shards_of
from backend.datasets.reading.sidecars import (
    MOST_TEXT,
    folders_below,
    has_images,
    has_sidecars,
    is_caption_file,
    is_image,
    owners_of,
)
from backend.datasets.reading.tar_descriptions import TarDescription, describe_tars
from backend.datasets.reading.tar_members import holds_pictures_alone
from backend.datasets.reading.unread_formats import unread_format
from backend.datasets.safe_files.regular_files import open_regular, read_within
from backend.datasets.splits import split_in, splits_of
from backend.datasets.table_readers import FoundTables, table_readers, tables_of_readers
from backend.errors import DatasetFormatError, SettingsError, UnsafePath, UnsupportedFormat

ENDINGS = (".tar.gz", ".tgz")
_BLOCK = 1 << 20
#: Bytes that must stay free on the disk while unpacking.
_LEFT_FREE = 2_000_000_000


def is_gzipped_tar(path: Path) -> bool:
    return path.name.lower().endswith(ENDINGS)


def gzipped_tars(source: Path) -> list[Path]:
    """The file itself if it is a compressed tar, or the compressed tars in a folder, sorted."""
    if source.is_dir():
        return sorted(path for path in source.iterdir() if is_gzipped_tar(path))
    return [source] if is_gzipped_tar(source) else []


def plain_name(path: Path) -> str:
    """The file name without `.tar.gz` or `.tgz`."""
    lower = path.name.lower()
    return path.name[: -len(next(e for e in ENDINGS if lower.endswith(e)))] or path.name


def unpack(source: Path, folder: Path) -> Path:
    """Decompress `source`, a file or a folder of them, below `folder`; return the path of the tar,
    or of the folder of tars. Existing newer tars are reused. Raises DatasetFormatError, and
    UnsafePath for a link that leads out of the source folder."""
    tars = gzipped_tars(source)
    for path in tars if source.is_dir() else []:
        if not path.resolve().is_relative_to(source.resolve()):
            raise UnsafePath(f"'{path.name}' is a link that leads out of the folder.")
    target = unpacked_folder(source, folder)
    target.mkdir(parents=True, exist_ok=True)
    unpacked_tars = [_unpack(path, target / f"{plain_name(path)}.tar") for path in tars]
    return target if source.is_dir() else unpacked_tars[0]


def unpacked_folder(source: Path, folder: Path) -> Path:
    """Where `unpack` puts the tars of `source`."""
    digest = hashlib.sha256(os.fsencode(source)).hexdigest()[:8]
    name = source.name if source.is_dir() else plain_name(source)
    return folder / f"{name}-{digest}"


def _unpack(source: Path, tar: Path) -> Path:
    if tar.exists() and tar.stat().st_mtime >= source.stat().st_mtime:
        return tar
    part = tar.with_name(f"{tar.name}.part")
    try:
        with (
            open_regular(source, float("inf")) as raw,
            gzip.open(raw) as file,
            part.open("wb") as out,
        ):
            while block := file.read(_BLOCK):
                if shutil.disk_usage(tar.parent).free < _LEFT_FREE + len(block):
                    raise DatasetFormatError(
                        f"'{source.name}' unpacks into more than fits on the disk "
                        f"({out.tell():,} bytes so far). Unpack it where there is room, and give "
                        "the .tar."
                    )
                out.write(block)
        os.replace(part, tar)
    except (OSError, EOFError, zlib.error) as problem:
        raise DatasetFormatError(f"'{source.name}' cannot be unpacked: {problem}.") from problem
    finally:
        part.unlink(missing_ok=True)
    return tar


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
    sentence = _of_texts_unread(folder) or _of_line_lists(folder)
    if not sentence and (sentence := _of_other_form(folder, bool(advice))) and advice:
        sentence = f"{not_a_dataset(folder)}. {sentence}"
    raise DatasetFormatError(sentence or not_a_dataset(folder), **advice)


def _captions_beside(tars: Sequence[Path], folder: Path) -> SourceTables | None:
    """The tables of a folder whose tars hold pictures alone."""
    if not tars or not all(holds_pictures_alone(tar, folder) for tar in tars):
        return None
    if tables := _tables_in(folder) or caption_lists(folder):
        return SourceTables(tables, notes=_notes(folder, []))
    return _tables_below(folder, tars)


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


def _of_texts_unread(folder: Path) -> str:
    """How texts beside pictures are called so that they are read, if there are any that are not;
    else ""."""
    for place, names in folders_below(folder):
        file, name = texts_unread(names)
        if file:
            shown_path = (place / file).relative_to(folder).as_posix()
            return (
                f"'{trim(shown_path)}' lies beside a picture, but files so named are not read. "
                f"If it and others hold captions, name them as '{trim(name)}'."
            )
    return _of_texts_elsewhere(folder)


def _of_texts_elsewhere(folder: Path) -> str:
    """That the texts of pictures lie in another folder than these; "" if they do not."""
    pictures: dict[str, Path] = {}
    texts: dict[str, Path] = {}
    for place, names in folders_below(folder):
        for name in names:
            kind = pictures if is_image(name) else texts if name.lower().endswith(CAPTIONS) else {}
            kind.setdefault(PurePosixPath(name).stem, place / name)
    if not texts or len(texts.keys() & pictures.keys()) < len(texts) / 2:
        return ""
    stem = min(texts.keys() & pictures.keys())
    text, image = (kind[stem].relative_to(folder).as_posix() for kind in (texts, pictures))
    return (
        f"Texts have the names of pictures in another folder: '{trim(text)}' and '{trim(image)}'. "
        "If they are captions, put each beside its picture."
    )


def _of_line_lists(folder: Path) -> str:
    """That one text has the names of pictures and another as many lines, which may be their
    captions; "" if there are no such texts."""
    texts = [path for path in _files_in(folder) if path.suffix.lower() == ".txt"]
    names = [path for path in texts if _names_pictures_alone(path)]
    if len(names) != 1:
        return ""
    count = _line_count(names[0])
    captions = next(
        (
            path
            for path in texts
            if path not in names and is_caption_file(path.name) and _line_count(path) == count
        ),
        None,
    )
    if captions is None:
        return ""
    return (
        f"'{trim(names[0].name)}' names a picture in each line, and '{trim(captions.name)}' may "
        "hold their captions in the same order. Lists that belong together by their lines alone "
        "are not read: one line too many would give every picture another one's caption. Write "
        "both into one TSV with the columns file_name and caption."
    )


def _of_other_form(folder: Path, has_pictures: bool) -> str:
    """What a file is that may hold the captions and is not read; "" if there is none. Beside
    pictures, YAML says how they are used (YOLO)."""
    tars = gzipped_tars(folder)
    for path in _files_in(folder):
        ending = path.suffix.lower()
        if ending == ".txt" or path in tars or (has_pictures and ending in (".yaml", ".yml")):
            continue
        if form := _OTHER_FORMS.get(ending):
            return f"No captions are read in '{trim(folder.name)}'. '{trim(path.name)}' is {form}."
    return ""


def _files_in(folder: Path) -> list[Path]:
    """Those that are not hidden, sorted; none of a folder that cannot be read."""
    try:
        return sorted(p for p in folder.iterdir() if not is_hidden(p.name) and p.is_file())
    except OSError:
        return []


def _line_count(text: Path) -> int:
    """How many lines it has that are not empty; -1 if it cannot be read."""
    try:
        with open_regular(text) as content:
            return sum(1 for line in content if line.strip())
    except (OSError, ValueError):
        return -1


#: Bytes of a text by which is told what its lines are.
_BEGINNING = 4096


def _names_pictures_alone(file: Path) -> bool:
    """Whether the first lines of a text are names of pictures and nothing else."""
    try:
        with open_regular(file) as content:
            lines = content.read(_BEGINNING).decode("utf-8", "replace").splitlines()[:3]
    except (OSError, ValueError):
        return False
    return bool(lines) and all(
        is_image(line.strip()) and "\t" not in line and "," not in line for line in lines
    )


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


def exports_in(folder: Path) -> list[Path]:
    """The direct subfolders that are exports of this program."""
    return sorted(path.parent for path in folder.glob(f"*/{MARK}"))


def _is_in_export(path: Path, folder: Path) -> bool:
    above = (place for place in path.parents if place != folder and place.is_relative_to(folder))
    return any((place / MARK).is_file() for place in above)


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


#: Unsupported formats that users try, by extension: what they are and what to do.
_OTHER_FORMS = {
    ".gz": "compressed; unpack it, and give what is in it",
    ".xz": "compressed; unpack it, and give what is in it",
    ".bz2": "compressed; unpack it, and give what is in it",
    ".7z": "compressed; unpack it, and give what is in it",
    ".rar": "compressed; unpack it, and give what is in it",
    ".zst": "compressed; unpack it, and give what is in it",
    ".xlsx": "an Excel workbook; save its sheet as CSV (UTF-8)",
    ".xls": "an Excel workbook; save its sheet as CSV (UTF-8)",
    ".pkl": "a pickle, which may run arbitrary code; write it as Parquet (DataFrame.to_parquet)",
    ".pickle": "a pickle, which may run arbitrary code; write it as Parquet (DataFrame.to_parquet)",
    ".feather": "a Feather file; write it as Parquet (DataFrame.to_parquet)",
    ".xml": "XML, such as CVAT and Pascal VOC export; write a CSV of it, with the columns "
    "file_name and caption",
    ".yaml": "YAML, such as a metadataset of Energon; import the folders of tars that it names",
    ".yml": "YAML, such as a metadataset of Energon; import the folders of tars that it names",
    ".h5": "an HDF5 file; write it as Parquet or as a folder of images",
    ".hdf5": "an HDF5 file; write it as Parquet or as a folder of images",
    ".tfrecord": "a TFRecord; write it as WebDataset or as a folder of images",
    ".txt": "a text file; if it is a table, name it .csv or .tsv; if it is a caption, give its "
    "folder",
}


def not_a_table(path: Path) -> str:
    if is_gzipped_tar(path):
        form = "a compressed tar, which only an import reads; unpack it (gunzip) for other uses"
    else:
        form = _OTHER_FORMS.get(path.suffix.lower(), "")
    form_words = f" is {form}. It" if form else ""
    return (
        f"'{trim(path.name)}'{form_words} is not a dataset: give a folder with metadata.jsonl or "
        f"metadata.csv, or a file that ends in one of {', '.join(SOURCES)}."
    )


def not_a_dataset(folder: Path) -> str:
    """The contents of the folder, what is missing, and what to do."""
    try:
        inside = sorted(p.name + "/" if p.is_dir() else p.name for p in folder.iterdir())
    except OSError as problem:
        return f"The folder '{folder}' cannot be read: {problem.strerror or problem}."
    few = ", ".join(f"'{trim(name, 60)}'" for name in inside[:8])
    more = f" and {len(inside) - 8:,} more" if len(inside) > 8 else ""
    if gzipped_tars(folder):
        saw = "compressed tars, which only an import reads; unpack them (gunzip) for other uses"
    elif any(name.lower().endswith(UNREADABLE_PICTURES) for name in inside):
        endings = sorted({Path(name).suffix.lower() for name in inside} & {*UNREADABLE_PICTURES})
        saw = (
            f"files in formats that cannot be read ({', '.join(endings)}; {few}{more}), and no "
            "metadata.jsonl or metadata.csv; convert pictures to JPEG or PNG"
        )
    elif sum(name.lower().endswith(".zip") for name in inside) > 1:
        saw = (
            f"several archives ({few}{more}), which are imported one by one; unpack them into one "
            "folder if some hold the texts of others' pictures"
        )
    elif has_images(folder):
        saw = (
            f"images ({few}{more}) without captions: there is no metadata.jsonl or metadata.csv, "
            "and no a.txt or a.caption next to an a.jpg"
        )
    else:
        saw = f"{few}{more}, and no metadata.jsonl or metadata.csv" if inside else "nothing"
    return (
        f"The folder '{folder}' holds {saw}. Put a metadata.jsonl next to the images with "
        'a line per image, such as {"file_name": "0001.jpg", "caption": "A dog on a beach."}'
    )
