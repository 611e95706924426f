"""Exports as folders of images: imagefolder, images with sidecar captions, COCO captions."""

import json
import re
import shutil
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

from backend.counts import counted
from backend.datasets.export_row import FIELDS, ExportRow, Target, json_values, typed_values
from backend.datasets.reading.caption_fields import ending_of, kind_of
from backend.datasets.safe_files.containers import ImageFile
from backend.datasets.safe_files.images import image_size
from backend.datasets.splits import split_in
from backend.datasets.writing.card_features import JsonColumns, arrow_features
from backend.datasets.writing.export_images import ImageCopies, Plain, SplitNames
from backend.datasets.writing.source_texts import SourceText, SourceTexts
from backend.errors import ImageError
from db.texts import is_blank

#: Temporary folder of rows that still have to be written to their metadata files.
_SPOOL = ".rows"
_LINES_AT_ONCE = 1000
#: Hugging Face's loader infers types from the first 10 MB of each split; this is well within them.
_EARLY = 1 << 20
_ANNOTATION_FEATURES = [
    *arrow_features(each for each in FIELDS if each[0] not in ("id", "extra")),
    {"name": "id", "dtype": "int64"}, {"name": "image_id", "dtype": "int64"},
]  # fmt: skip
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def write_imagefolder(rows: Iterable[ExportRow], target: Target) -> int:
    """Write `train/metadata.jsonl` with `file_name`, next to `train/images/…`, for every split."""
    return _metadata_folders(rows, target, sidecars=False)


def write_sidecars(rows: Iterable[ExportRow], target: Target) -> int:
    """Write `train/a.jpg` with its caption in `train/a.txt`, as training scripts for image models
    expect; one copy of the image per pair, unless the source has several captions in one text, or
    of several kinds (`train/a_tags.txt`). The other columns are in `train/metadata.jsonl`."""
    return _metadata_folders(rows, target, sidecars=True)


def _metadata_folders(rows: Iterable[ExportRow], target: Target, sidecars: bool) -> int:
    spool = target.part / _SPOOL
    spool.mkdir()
    copies = ImageCopies(target.part, target.root)
    splits, texts = SplitNames(), _TextsBeside(target, copies)
    columns = _Columns()
    endings: dict[str, set[str]] = defaultdict(set)
    lines: dict[str, list[str]] = defaultdict(list)
    count = several = begins_blank = 0

    def flush(split: str) -> None:
        with (spool / split).open("a", encoding="utf-8", newline="\n") as file:
            file.writelines(lines.pop(split))

    for row in rows:
        split = splits.of(row.split)
        if sidecars:
            name = texts.write(row, split)
            lines_of = row.caption.splitlines()
            several += len(lines_of) > 1
            begins_blank += len(lines_of) > 1 and is_blank(lines_of[0])
        else:
            # Loaders read a split from the file's name only if the folder's name is not one.
            may_say: Plain = "file" if split_in(split) else "nothing"
            name = copies.once(row.image_path, f"{split}/images", may_say)
        endings[split].add(PurePosixPath(name).suffix)
        file_name = PurePosixPath(name).relative_to(split).as_posix()
        values = {"file_name": file_name, **typed_values(row), **row.extra}
        line = json.dumps(values, ensure_ascii=False) + "\n"
        columns.add(split, values, len(line))
        lines[split].append(line)
        if len(lines[split]) == _LINES_AT_ONCE:
            flush(split)
        count += 1
    for split in list(lines):
        flush(split)
    for path in sorted(spool.iterdir()):
        _metadata(path, target.part / path.name / "metadata.jsonl", columns)
        pictures = [f"{path.name}/*{ending}" for ending in sorted(endings[path.name])]
        # With `**`, the library would take the .txt files for a text dataset.
        target.files[path.name] = (
            [f"{path.name}/metadata.jsonl", *pictures] if sidecars else f"{path.name}/**"
        )
    shutil.rmtree(spool)
    target.changes.packed |= columns.packed - {"extra"}
    splits.report(target.changes, "imagefolder")
    if several:
        target.changes.remarks.append(
            f"{counted(several, 'caption has', 'captions have')} several lines, and the first of "
            f"{begins_blank:,} is empty. "
            "Trainers that read the first line of a `.txt` alone (sd-scripts without "
            "`enable_wildcard`) see no more of them."
        )
    return count


class _TextsBeside:
    """Writes pictures with the text beside each. Where the source has such a text, only the caption
    in it changes; captions that it has on lines stay in one file."""

    def __init__(self, target: Target, copies: ImageCopies) -> None:
        self._part, self._copies = target.part, copies
        self._sources = SourceTexts(target.root)
        self._last: tuple[ImageFile, str] | None = None
        #: Of the last picture, by the endings of their names.
        self._texts: dict[str, SourceText | None] = {}
        self._name = ""

    def write(self, row: ExportRow, split: str) -> str:
        """The name of the picture's copy."""
        key, content, kind = (row.image_path, split), None, kind_of(row.extra)
        ending = self._sources.ending(row.image_path, row.extra)
        source = self._texts.get(ending) if key == self._last else None
        if source is not None and source.is_shared:
            content = source.replace(row.original_caption, row.caption)
        if content is None:
            if key != self._last or not kind or ending in self._texts:
                self._name, self._texts = self._copies.flat(row.image_path, split), {}
            source = self._texts[ending] = self._sources.beside(row.image_path, ending)
            if source is not None:
                content = source.replace(row.original_caption, row.caption)
        self._last = key
        picture = self._part / self._name
        if content is not None and source is not None and source.is_metadata:
            picture.with_suffix(".json").write_bytes(content)
            content, ending = None, ending_of(kind)
        text = picture.with_name(f"{picture.stem}{ending}.txt")
        text.write_bytes(row.caption.encode() if content is None else content)
        return self._name


def _metadata(spool: Path, path: Path, columns: "_Columns") -> None:
    """Write the metadata file of a split: all lines have the same columns, of one type each."""
    with (
        spool.open(encoding="utf-8", newline="\n") as lines,
        path.open("w", encoding="utf-8", newline="\n") as file,
    ):
        for line in lines:
            values = json.loads(line)
            direct_values = {name: values.get(name) for name in columns.direct}
            extra = {name: values[name] for name in values if name in columns.packed}
            if columns.packed:
                direct_values["extra"] = json.dumps(extra, ensure_ascii=False) if extra else ""
            file.write(json.dumps(direct_values, ensure_ascii=False) + "\n")


#: Our columns that are always text, even if they look like dates.
_TEXTS = (
    "id",
    "caption",
    "original_caption",
    "caption_kind",
    "split",
    "verdict",
    "tags",
    "own_tags",
)


class _Columns:
    """Determines which columns a loader that infers types from the first rows of each split can
    read directly. The others are packed into one column of JSON text."""

    def __init__(self) -> None:
        self._kinds: dict[str, set[str]] = defaultdict(set)
        self._early: dict[str, set[str]] = defaultdict(set)
        self._written: dict[str, int] = defaultdict(int)

    def add(self, split: str, values: dict[str, Any], size: int) -> None:
        for name, value in values.items():
            kind = _kind(value)
            self._kinds[name] |= {kind} - {""}
            if kind and self._written[split] < _EARLY:
                self._early[name].add(split)
        self._written[split] += size

    @property
    def direct(self) -> list[str]:
        return [name for name in self._kinds if self._is_direct(name)]

    @property
    def packed(self) -> set[str]:
        return {name for name in self._kinds if not self._is_direct(name)}

    def _is_direct(self, name: str) -> bool:
        if name == "file_name":
            return True
        # Hugging Face's loader opens the values of such columns as image files.
        if name.endswith(("file_name", "file_names")):
            return False
        kinds = self._kinds[name]
        if {"text", "date"} >= kinds and name in _TEXTS:
            return True
        return not kinds or (
            len(kinds) == 1 and kinds != {"nested"} and self._early[name] == set(self._written)
        )


def _kind(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int" if -(2**63) <= value < 2**63 else "nested"
    if isinstance(value, float):
        return "float"
    if isinstance(value, str):
        # Arrow parses such text as a timestamp, unless the column has other text.
        return "date" if _DATE.match(value) else "text"
    return "nested"


def write_coco(rows: Iterable[ExportRow], target: Target) -> int:
    """Write `captions_train.json`, … in COCO's caption format, and `images/…`. An annotation's
    `pair_id` is the pair's own id; the other columns are further fields of the annotation, and
    `file_name` for readers of the annotations alone."""
    columns = JsonColumns(_ANNOTATION_FEATURES)
    spool = target.part / _SPOOL
    spool.mkdir()
    copies = ImageCopies(target.part, target.root)
    image_ids: dict[str, int] = {}
    image_sizes: set[tuple[str, int]] = set()
    splits = SplitNames()
    count = 0
    for row in rows:
        count += 1
        split = splits.of(row.split)
        name = copies.once(row.image_path, "images", "path")
        image_id = image_ids.setdefault(name, len(image_ids) + 1)
        if (split, image_id) not in image_sizes:
            image_sizes.add((split, image_id))
            image = {"id": image_id, "file_name": name, **_size(target.part / name)}
            _append(spool / f"{split}.images", image)
        annotation = {
            **json_values(row), "id": count, "image_id": image_id, "pair_id": row.id,
            "file_name": name,
        }  # fmt: skip
        columns.add(annotation)
        _append(spool / f"{split}.annotations", annotation)
    for images in sorted(spool.glob("*.images")):
        split = images.stem
        target.files[split] = f"captions_{split}.json"
        with (target.part / f"captions_{split}.json").open(
            "w", encoding="utf-8", newline="\n"
        ) as file:
            file.write('{"info": {"description": "Exported by TRACED Curator"}, "licenses": [],\n')
            file.write('"images": [\n')
            _join(images, file)
            file.write('],\n"annotations": [\n')
            _join(images.with_suffix(".annotations"), file)
            file.write("]}\n")
    target.loader |= {"field": "annotations", "features": columns.features()}
    splits.report(target.changes)
    shutil.rmtree(spool)
    return count


def _append(path: Path, value: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8", newline="\n") as file:
        file.write(json.dumps(value, ensure_ascii=False) + "\n")


def _join(path: Path, file: Any) -> None:
    """Write the lines of a spool file as the elements of a JSON array."""
    with path.open(encoding="utf-8", newline="\n") as lines:
        for number, line in enumerate(lines):
            file.write(("," if number else "") + line)


def _size(path: Path) -> dict[str, int]:
    """Width and height as COCO fields; empty if the image cannot be opened."""
    try:
        width, height = image_size(path)
    except (ImageError, OSError):
        return {}
    return {"width": width, "height": height}
