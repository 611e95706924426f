"""Megatron-Energon's folder `.nv-meta` beside tars: which shards are of which split and which
samples are left out (`split.yaml`), and which fields are the picture and the caption
(`dataset.yaml`).

Both may be JSON too. Code that a dataset brings along (`sample_loader.py`) is not run.

Exports have one too; `energon prepare FOLDER --tar-index-only` adds what it needs of its own.
"""

import json
import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from backend.counts import counted
from backend.datasets.cells import trim
from backend.datasets.export_row import MARK
from backend.datasets.read_options import ReadOptions, is_hidden, where_to_state
from backend.datasets.reading.sample_fields import SampleChoice
from backend.datasets.reading.source_tables import splits_below
from backend.datasets.reading.tar_descriptions import TarDescriber, TarDescription
from backend.datasets.safe_files.regular_files import read_within
from backend.datasets.splits import WORDS
from backend.errors import DatasetFormatError
from backend.features.energon.brace_ranges import expand
from db.texts import compose

_FOLDER = ".nv-meta"
#: The files of the folder that are read.
_FILES = tuple(
    f"{_FOLDER}/{name}{end}" for name in ("dataset", "split") for end in (".yaml", ".json")
)
_MOST_BYTES = 16_000_000
_MOST_NAMED = 5


@dataclass(frozen=True)
class _Metadata:
    """What the folder says. Shards are named relative to `root`. `splits`: of the shards that have
    one; `excluded_shards`: those that are left out as a whole; `excluded`: the keys of samples that
    are left out, by shard; `captions`, `pictures`: names of fields, "" if it does not say."""

    root: Path
    splits: Mapping[str, str] = field(default_factory=dict)
    excluded_shards: frozenset[str] = frozenset()
    excluded: Mapping[str, frozenset[str]] = field(default_factory=dict)
    captions: str = ""
    pictures: str = ""
    notes: tuple[str, ...] = ()

    def name_of(self, tar: Path) -> str:
        return tar.relative_to(self.root).as_posix()

    def split_of(self, tar: Path) -> str:
        return self.splits.get(self.name_of(tar), "")

    def choice_of(self, tar: Path) -> SampleChoice:
        """What is read of a shard's samples."""
        excluded = self.excluded.get(self.name_of(tar), frozenset())
        return SampleChoice(self.captions, self.pictures, excluded)


def _describe(source: Path, options: ReadOptions) -> TarDescription | None:
    """What `.nv-meta` says about a folder or a tar. Raises DatasetFormatError as `_metadata_of`,
    and if it leaves out all tars of a folder."""
    about = _metadata_of(source, options)
    if about is None:
        return None
    if not source.is_dir():
        splits = {source: split} if (split := about.split_of(source)) else {}
        splits = splits or splits_below(source.parent, [source])
        return TarDescription([source], splits, about.notes, about.choice_of)
    shards = _shards_below(source)
    tars = [tar for tar in shards if about.name_of(tar) not in about.excluded_shards]
    if shards and not tars:
        raise DatasetFormatError(f"No shard is left. {' '.join(about.notes)}")
    splits = {tar: split for tar in tars if (split := about.split_of(tar))}
    if not about.splits:
        splits = splits_below(about.root, tars)
    return TarDescription(tars, splits, about.notes, about.choice_of)


def _metadata_of(source: Path, options: ReadOptions) -> _Metadata | None:
    """What `.nv-meta` says about a folder or a tar; None without one. It is looked for in the
    folders above too: one above a folder, two above a tar.

    Raises DatasetFormatError if a file cannot be read, or if its fields hold no caption and
    `options` name none.
    """
    places = (source, source.parent) if source.is_dir() else list(source.parents)[:2]
    root = next((place for place in places if (place / _FOLDER).is_dir()), None)
    if root is None:
        return None
    dataset, splits = _load(root, "dataset"), _load(root, "split")
    captions, pictures, notes = _fields(dataset, options)
    if splits is None:
        notes.append(f"'{_FOLDER}' has no split.yaml: splits are those that names of files state.")
        return _Metadata(root, captions=captions, pictures=pictures, notes=tuple(notes))
    names = frozenset(path.relative_to(root).as_posix() for path in _shards_below(root))
    split_of_shard, split_notes = _splits(splits, names)
    excluded_shards, excluded, exclude_notes = _excludes(splits, names)
    return _Metadata(
        root, split_of_shard, excluded_shards, excluded, captions, pictures,
        (*notes, *split_notes, *exclude_notes),
    )  # fmt: skip


def _shards_below(root: Path) -> list[Path]:
    """All tars below the folder, but those of exports and in hidden folders."""
    return [
        path for path in sorted(root.rglob("*.tar"))
        if not is_hidden(path.relative_to(root).as_posix())
        and not any((place / MARK).is_file() for place in path.parents if place != root
                    and place.is_relative_to(root))
    ]  # fmt: skip


def _write(root: Path, picture: str, samples: Mapping[str, int]) -> None:
    """Write the folder for tars with texts in `.txt`. `picture`: the ending of pictures, without
    the dot; `samples`: how many each tar holds, by its name, which begins with its split."""
    folder = root / _FOLDER
    folder.mkdir(exist_ok=True)
    parts: dict[str, list[str]] = {}
    for shard in samples:
        split = shard.rpartition("-")[0]
        parts.setdefault({"validation": "val"}.get(split, split), []).append(shard)
    kind = {"__module__": "megatron.energon", "__class__": "CaptioningSample"}
    contents = {
        "dataset.yaml": {
            "sample_type": kind, "field_map": {"image": picture, "caption": "txt"},
        },
        "split.yaml": {"exclude": [], "split_parts": parts},
    }  # fmt: skip
    for name, content in contents.items():
        (folder / name).write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    info = {"energon_version": "7.4.1", "shard_counts": dict(samples)}
    (folder / ".info.json").write_text(json.dumps(info), encoding="utf-8")


def _load(root: Path, name: str) -> Mapping[str, Any] | None:
    """The mapping in `NAME.yaml` or `NAME.json`; None without either. Raises DatasetFormatError."""
    path = next(
        (p for ending in (".yaml", ".json") if (p := root / _FOLDER / f"{name}{ending}").is_file()),
        None,
    )
    if path is None:
        return None
    try:
        # As text alone: `0012` is the key of a sample, and `no` the name of a split. JSON is YAML.
        values = yaml.load(
            read_within(root, path, _MOST_BYTES).decode("utf-8-sig"), yaml.BaseLoader
        )
    except (yaml.YAMLError, ValueError, OSError, RecursionError) as problem:
        mark = getattr(problem, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark is not None else ""
        reason = getattr(problem, "problem", None) or getattr(problem, "strerror", None) or problem
        raise _broken(f"{path.name}{place}", str(reason)) from problem
    if not isinstance(values, dict):
        raise _broken(path.name, "it holds no mapping")
    return values


def _broken(place: str, reason: str) -> DatasetFormatError:
    return DatasetFormatError(
        f"'{_FOLDER}/{place}' cannot be read: {trim(reason, 200)}. Without it excluded samples "
        "would be imported: repair it, or move the folder away to read the tars without it."
    )


def _fields(dataset: Mapping[str, Any] | None, options: ReadOptions) -> tuple[str, str, list[str]]:
    """The fields of captions and of pictures, and notes. Raises DatasetFormatError."""
    dataset = dataset or {}
    kind = dataset.get("sample_type", dataset)
    kind = str(kind.get("__class__", "")) if isinstance(kind, dict) else str(kind)
    if loader := dataset.get("sample_loader"):
        note = (
            f"'{_FOLDER}/dataset.yaml' leaves it to '{trim(str(loader))}' which texts are "
            "captions. Such code is not run: captions are found as in other tars."
        )
        return "", "", [note]
    fields = dataset.get("field_map")
    if fields is None:
        return "", "", []
    if not isinstance(fields, dict) or not all(isinstance(name, str) for name in fields.values()):
        raise _broken("dataset.yaml", "'field_map' is no mapping of names")
    if not fields.get("caption") and options.caption_column is None and not options.uncaptioned:
        names = ", ".join(
            f"'{trim(key)}' ({trim(name)})" for key, name in list(fields.items())[:20]
        )
        kind_words = f" of the type {trim(kind)}" if kind else ""
        raise DatasetFormatError(
            f"'{_FOLDER}/dataset.yaml' describes samples{kind_words} with {names or 'no fields'}; "
            "none is a caption. Choose a field, such as txt or json[detailed].",
            **where_to_state("caption_column"),
        )
    return fields.get("caption", ""), fields.get("image", ""), []


def _expand_all(values: Any, what: str) -> list[str]:
    """A list of names, with its patterns expanded. Raises DatasetFormatError."""
    if values in ("", None, "null", "~"):
        return []
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise _broken("split.yaml", f"'{trim(what)}' is no list of names")
    return [posixpath.normpath(name) for value in values for name in expand(value)]


def _splits(about: Mapping[str, Any], names: frozenset[str]) -> tuple[dict[str, str], list[str]]:
    """The split of each shard, and notes. Raises DatasetFormatError."""
    parts = about.get("split_parts")
    if not isinstance(parts, dict):
        raise _broken("split.yaml", "it has no mapping 'split_parts' of splits to shards")
    splits: dict[str, str] = {}
    gone, several = [], []
    for part, shards in parts.items():
        split = WORDS.get(part.lower(), part)
        for name in _expand_all(shards, f"split_parts: {part}"):
            if name not in names:
                gone.append(name)
            elif splits.setdefault(name, split) != split:
                several.append(name)
    notes = []
    if gone:
        notes.append(f"'{_FOLDER}/split.yaml' names shards that are not here: {_few(gone)}.")
    if several:
        notes.append(f"Shards of more than one split, which count to the first: {_few(several)}.")
    if unnamed := sorted(names - splits.keys() - _whole_shards(about)):
        notes.append(f"'{_FOLDER}/split.yaml' gives no split to {_few(unnamed)}.")
    return splits, notes


def _whole_shards(about: Mapping[str, Any]) -> set[str]:
    return {name for name in _expand_all(about.get("exclude"), "exclude") if name.endswith(".tar")}


def _excludes(
    about: Mapping[str, Any], names: frozenset[str]
) -> tuple[frozenset[str], dict[str, frozenset[str]], list[str]]:
    """The shards that are left out, the keys of samples that are, by shard, and notes."""
    samples: dict[str, set[str]] = {}
    shards, unknown = set(), []
    for name in _expand_all(about.get("exclude"), "exclude"):
        before, mark, key = name.partition(".tar/")
        shard = f"{before}.tar" if mark else name
        if shard not in names:
            unknown.append(name)
        elif mark:
            samples.setdefault(shard, set()).add(compose(key))
        else:
            shards.add(shard)
    notes = []
    if shards:
        notes.append(f"Left out, as '{_FOLDER}/split.yaml' says: {_few(sorted(shards))}.")
    if number := sum(len(keys) for shard, keys in samples.items() if shard not in shards):
        count = counted(number, "sample is", "samples are")
        notes.append(f"{count} left out, as '{_FOLDER}/split.yaml' says.")
    if unknown:
        notes.append(f"'{_FOLDER}/split.yaml' excludes what is not here: {_few(unknown)}.")
    excluded = {shard: frozenset(keys) for shard, keys in samples.items() if shard not in shards}
    return frozenset(shards), excluded, notes


def _few(names: Iterable[str]) -> str:
    unique = list(dict.fromkeys(names))
    more = f" and {len(unique) - _MOST_NAMED:,} more" if len(unique) > _MOST_NAMED else ""
    return ", ".join(f"'{trim(name)}'" for name in unique[:_MOST_NAMED]) + more


DESCRIBER = TarDescriber(_FILES, _describe, _write)
