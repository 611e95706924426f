"""What a source without anything that is read holds instead, and what to do with it."""

from collections.abc import Collection
from pathlib import Path, PurePosixPath

from backend.datasets.cells import trim
from backend.datasets.read_options import CAPTIONS, SOURCES, UNREADABLE_PICTURES, is_hidden
from backend.datasets.reading.caption_fields import texts_unread
from backend.datasets.reading.gzipped_tars import gzipped_tars, is_gzipped_tar
from backend.datasets.reading.sidecars import folders_below, has_images, is_caption_file, is_image
from backend.datasets.safe_files.regular_files import open_regular


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


def unread_folder(folder: Path, has_pictures: bool) -> str:
    """What a folder holds, what is missing, and what to do."""
    if sentence := _of_texts_unread(folder) or _of_line_lists(folder):
        return sentence
    other_form = _of_other_form(folder, has_pictures)
    if other_form and not has_pictures:
        return other_form
    return f"{_not_a_dataset(folder)}. {other_form}" if other_form else _not_a_dataset(folder)


def _not_a_dataset(folder: Path) -> str:
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


#: By the ending of a file or folder.
_ENDINGS = {
    ".beton": "FFCV", ".tfrecord": "TFRecord", ".tfrecords": "TFRecord", ".mdb": "LMDB",
    ".zarr": "Zarr", ".h5": "HDF5", ".hdf5": "HDF5",
}  # fmt: skip


def unread_format(folder: Path) -> str:
    """A sentence about a folder without anything that is read; "" if its format is not known."""
    name = _format_of(folder)
    if not name:
        return ""
    return (
        f"'{trim(folder.name)}' is a dataset in the format {name}, which is not read. Write it "
        "with its own library as WebDataset, as Parquet with the images inside, or as a folder of "
        "images with a metadata.jsonl, and import that."
    )


def _format_of(folder: Path) -> str:
    """By the ending of the folder, or of files in it."""
    try:
        entries = sorted(path.suffix.lower() for path in folder.iterdir())
    except OSError:
        entries = []
    endings = [folder.suffix.lower(), *entries]
    return next((_ENDINGS[ending] for ending in endings if ending in _ENDINGS), "")


def unread_json(arrays: Collection[str], name: str) -> str:
    """A sentence about a JSON object with these lists, if it is known to have no captions that can
    be read; else "". `name`: of the file."""
    if "shapes" in arrays and "images" not in arrays:
        return f"'{trim(name)}' has shapes in one picture, as LabelMe writes them, and no caption."
    if {"features", "rows"} <= {*arrays}:
        return (
            f"'{trim(name)}' is an answer of the hub's viewer, whose pictures are addresses for a "
            "few minutes, and whose long texts are cut. Import the dataset itself: hf:OWNER/NAME."
        )
    return ""


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
