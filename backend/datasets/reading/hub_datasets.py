"""Datasets of the Hugging Face Hub: their names, and which files of a copy are read.

A copy's card (README.md) may list configurations, called subsets on the Hub, with the files of each
split; otherwise splits are inferred from folder and file names. Both follow the rules of the
`datasets` library, but apply to the names of the files that are there, and to nothing else: no
library reads a pattern or a path that somebody else wrote.
"""

import os
import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import translate
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from backend.datasets import splits
from backend.datasets.cells import trim
from backend.datasets.columns import MODEL_WRITERS, WRITERS, usual_name
from backend.datasets.read_options import (
    CAPTIONS,
    JSON_LINES,
    PICTURES,
    SOURCES,
    is_address,
    is_hidden,
    where_to_state,
)
from backend.datasets.reading.tar_descriptions import TarDescription, files_about_tars
from backend.datasets.safe_files.regular_files import open_within, read_within
from backend.datasets.table_readers import table_readers
from backend.errors import DatasetFormatError, DatasetNotFound, SettingsError, UnsafePath

#: Distinguishes the name of a Hub dataset from a path.
PREFIX = "hf:"
_NAME = re.compile(
    r"hf:(?P<repository>[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9_][\w.-]{0,95})"
    r"(?:@(?P<subset>[^<>:/\\|?*@\x00-\x1f]{1,200}))?"
    r"(?::(?P<revision>[A-Za-z0-9_][\w./-]{0,199}))?",
    re.ASCII,
)


def is_hub_name(text: object) -> bool:
    """Whether it is meant as the name of a dataset of the hub, right or wrong; never a path.

    >>> is_hub_name("hf:OWNER/NAME"), is_hub_name("hf:/etc"), is_hub_name("hf://datasets/o/n")
    (True, True, False)
    """
    return str(text).startswith(PREFIX) and not is_address(text)


@dataclass(frozen=True)
class HubName:
    """A dataset of the hub: `OWNER/NAME`, one of its subsets, and a branch, tag or commit."""

    repository: str
    subset: str | None = None
    revision: str | None = None

    @classmethod
    def parse(cls, text: str) -> "HubName":
        """Read `hf:OWNER/NAME[@SUBSET][:REVISION]`. Raises SettingsError for anything else.

        >>> HubName.parse("hf:owner/pets@en:v1.0")
        HubName(repository='owner/pets', subset='en', revision='v1.0')
        """
        match = _NAME.fullmatch(text)
        if match is None or ".." in text or "--" in match["repository"]:
            raise SettingsError(
                f"'{trim(text)}' names no dataset of the hub: write hf:OWNER/NAME, with @SUBSET "
                "for one of several and :REVISION for a branch, a tag or a commit. Datasets "
                "without an owner have one by now (hf:nlphuji/flickr30k); a folder or a file of "
                "this machine is given without hf:."
            )
        return cls(match["repository"], match["subset"], match["revision"])

    @property
    def title(self) -> str:
        """What its dataset is called here by default."""
        subset = f"@{self.subset}" if self.subset else ""
        return self.repository.rpartition("/")[2] + subset + self._at

    def __str__(self) -> str:
        return f"{PREFIX}{self.repository}{f'@{self.subset}' if self.subset else ''}{self._at}"

    @property
    def _at(self) -> str:
        return f":{self.revision}" if self.revision else ""


#: Supported file types, the most common first; only one type is read from a folder.
_KINDS = (
    (".parquet",),
    (".arrow",),
    JSON_LINES,
    (".csv", ".tsv"),
    (".tar",),
    (".json",),
)
#: Metadata files of the Hub and of libraries.
_ABOUT = ("dataset_infos.json", "dataset_info.json", "dataset_dict.json", "state.json")
#: Files that only a pattern with their name means.
_IGNORED = ("README.md", "croissant.json", "config.json", "dummy_data.zip", *_ABOUT[:3])
#: Tables that hold their pictures; others refer to files beside them.
_HOLD_PICTURES = (".parquet", ".arrow", ".tar")
#: What can be read at all.
_READ = (*SOURCES, *PICTURES, *CAPTIONS, ".tar.gz", ".tgz")
MOST_CARD = 4_000_000
_POINTER = b"version https://git-lfs.github.com/"
_POINTER_BYTES = 1024


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


def listed_files(folder: Path, subset: str | None = None) -> SourceTables | None:
    """The files of one configuration listed in the card; None if it lists nothing.

    Raises DatasetFormatError if the card is broken, lists missing files, or lists several
    configurations and none is chosen; UnsafePath if it lists files outside the folder.
    """
    configs = _configs(folder)
    if not configs:
        if subset is not None:
            raise _no_subsets(folder.name, subset)
        return None
    config = configs[_choose_subset(folder.name, configs, subset)]
    return _source_tables(folder, config.splits_of(_names_below(folder)))


def found_files(folder: Path, besides: Collection[Path] = ()) -> SourceTables | None:
    """Files and splits inferred from file and folder names, as by `load_dataset(folder)`, leaving
    out those `besides` which are tables; None if there are no data files."""
    others = {path.relative_to(folder).as_posix() for path in besides}
    return _source_tables(folder, _by_layout(_names_below(folder) - others))


def needed_files(
    title: str, names: Collection[str], card: str, subset: str | None
) -> Sequence[str]:
    """Which files of a repository a copy needs, so that one of its subsets can be read: all that
    its tables may refer to. `card`: the text of its README.md. Raises as `listed_files`."""
    names = frozenset(names)
    readable = _readable(names)
    configs = configs_of(card)
    if not configs:
        if subset is not None:
            raise _no_subsets(title, subset)
        return readable
    choice = _choose_subset(title, configs, subset)
    subset_files = configs[choice].splits_of(names)
    tables = _tables_among(subset_files)
    if tables and all(map(_holds_its_pictures, tables)):
        return [*tables, *filter(_is_about_tars, readable), "README.md"]
    others = {
        name
        for other, config in configs.items() if other != choice
        for name in config.splits_of(names, is_strict=False)
    }  # fmt: skip
    return [
        *(name for name in readable if name not in others or name in subset_files),
        "README.md",
    ]


def _readable(names: frozenset[str]) -> list[str]:
    """Those that anything reads: by their endings, or as parts of a table that is a folder."""
    readers = table_readers()
    endings = (*_READ, *readers)
    folders = {
        reader.folder_of(name)
        for ending, reader in readers.items() if reader.folder_of
        for name in names if name.lower().endswith(ending)
    }  # fmt: skip
    prefixes = tuple(folders)
    return sorted(
        name
        for name in names
        if (not is_hidden(name) and name.lower().endswith(endings))
        or _is_about_tars(name)
        or name.startswith(prefixes)
    )


def _is_about_tars(name: str) -> bool:
    """Whether it says which samples of tars belong to which split, and which are left out."""
    return any(f"/{name}".endswith(f"/{file}") for file in files_about_tars())


def _holds_its_pictures(table: str) -> bool:
    path = PurePosixPath(table)
    return path.suffix.lower() in _HOLD_PICTURES and path.stem != "metadata"


def _no_subsets(title: str, subset: str) -> DatasetFormatError:
    return DatasetFormatError(
        f"'{trim(title)}' has no subset '{trim(subset)}': no README.md in it lists any."
    )


def blobs_of(snapshot: Path) -> Path | None:
    """The folder `blobs` to which the files of a snapshot in the hub's cache are links; None if the
    resolved path is neither a snapshot nor in one."""
    for place in (snapshot, *snapshot.parents):
        blobs = place.parent.parent / "blobs"
        if place.parent.name == "snapshots" and _is_in_cache(blobs):
            return blobs
    return None


def _is_in_cache(blobs: Path) -> bool:
    return "--" in blobs.parent.name and blobs.is_dir() and not blobs.is_symlink()


def is_snapshot(source: Path) -> bool:
    """Whether it is a folder of a snapshot in the hub's cache. Raises DatasetNotFound for other
    parts of the cache, which hold no dataset, and says which does."""
    around = source.parent if source.name == "snapshots" else source
    around = source.parent.parent if source.parent.name == "blobs" else around
    if _is_in_cache(around / "blobs") and (around / "snapshots").is_dir():
        snapshots = sorted(path for path in (around / "snapshots").iterdir() if path.is_dir())
        names = " or ".join(f"'{path}'" for path in snapshots[:3]) or "none yet"
        raise DatasetNotFound(
            f"'{source}' is a part of the hub's cache; its datasets are in its folders "
            f"'snapshots'. Give {names}."
        )
    return source.is_dir() and blobs_of(source) is not None


def check_pointer(table: Path, folders: Sequence[Path]) -> None:
    """Raise DatasetFormatError if the file is only a Git LFS pointer."""
    try:
        if not table.is_file() or table.stat().st_size > _POINTER_BYTES:
            return
        with open_within(folders, table) as file:
            content = file.read(_POINTER_BYTES)
    except (OSError, ValueError):
        return  # reported when the file is read
    if content.startswith(_POINTER):
        raise DatasetFormatError(
            f"'{trim(table.name)}' is a pointer of Git LFS; the file itself is still on the hub. "
            "Run `git lfs pull` in the clone."
        )


@dataclass(frozen=True)
class Config:
    """A configuration of a card. `patterns`: of the files of each split, relative to `folder`;
    None: splits are inferred from the files' names."""

    patterns: Mapping[str, Sequence[str]] | None
    folder: str = ""
    is_default: bool = False

    def all_patterns(self) -> Iterator[str]:
        for patterns in (self.patterns or {}).values():
            yield from patterns

    def splits_of(self, names: frozenset[str], is_strict: bool = True) -> dict[str, str]:
        """The split of each of its files, "" if unknown. `is_strict`: a pattern without a file
        raises DatasetFormatError."""
        below = f"{self.folder}/" if self.folder else ""
        if self.patterns is None:
            inner = _by_layout([n.removeprefix(below) for n in names if n.startswith(below)])
            if not inner and self.folder and is_strict:
                raise DatasetFormatError(
                    f"'README.md' lists the folder '{trim(self.folder)}', which holds no data."
                )
            return {below + name: split for name, split in inner.items()}
        splits: dict[str, str] = {}
        for split, patterns in self.patterns.items():
            for pattern in patterns:
                matches = matching(posixpath.normpath(below + pattern), names)
                if not matches and is_strict:
                    raise DatasetFormatError(
                        f"'README.md' lists '{trim(below + pattern)}' for '{trim(split)}', and "
                        "there is no such file. Is the copy complete?"
                    )
                for name in matches:
                    splits.setdefault(name, split)
        return splits


def _configs(folder: Path) -> dict[str, Config]:
    return configs_of(_card_of(folder))


def _card_of(folder: Path) -> str:
    """The text of a dataset's card; "" without one. Raises DatasetFormatError."""
    card = folder / "README.md"
    if not card.is_file():
        return ""
    try:
        return read_within(folder, card, MOST_CARD).decode("utf-8-sig")
    except (OSError, ValueError) as problem:
        raise DatasetFormatError(f"The card 'README.md' cannot be read: {problem}.") from problem


def stated_writer(folder: Path) -> str:
    """Who or what wrote the captions, by a key of the card's metadata such as `captioner`; "" if it
    does not say, or cannot be read."""
    try:
        data = _metadata_of(_card_of(folder))
    except Exception:  # whatever YAML raises: a card is no source of pairs
        return ""
    key = usual_name(map(str, data), (*WRITERS, *MODEL_WRITERS[:-1]))
    value = data.get(key)
    return value if isinstance(value, str) else ""


def _metadata_of(card: str) -> Mapping[str, Any]:
    """The block of metadata at the beginning of a card. Raises errors of YAML and of nesting."""
    lines = card.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != "---":
        return {}
    ends = (number for number, line in enumerate(lines[1:], 1) if line.rstrip() == "---")
    # Every value is a text then: nothing is constructed, and a subset `no` is none of False.
    data = yaml.load("\n".join(lines[1 : next(ends, None)]), yaml.BaseLoader)
    return data if isinstance(data, dict) else {}


def configs_of(card: str) -> dict[str, Config]:
    """The configurations that a card lists, by name. Raises DatasetFormatError if the list is
    broken, UnsafePath if it lists files outside the dataset."""
    if "configs" not in card:
        return {}
    try:
        entries = _metadata_of(card).get("configs")
        if entries in (None, "", *_NULL):
            return {}
        if not isinstance(entries, list):
            raise ValueError("'configs' is no list")
        configs = dict(map(_config, entries))
    except UnsafePath:
        raise
    except Exception as problem:  # errors of YAML and of nesting, and those below
        reason = (str(problem).strip().splitlines() or [type(problem).__name__])[0][:200]
        raise DatasetFormatError(
            f"The list of configurations in 'README.md' is broken: {trim(reason)}. Repair it, or "
            "give the data files themselves."
        ) from problem
    patterns = [pattern for config in configs.values() for pattern in config.all_patterns()]
    if sum(map(_has_wildcard, patterns)) > _MOST_WILDCARDS:
        raise DatasetFormatError(
            f"'README.md' lists more than {_MOST_WILDCARDS:,} patterns. Give the data files "
            "themselves."
        )
    return configs


#: Patterns with wildcards in a card: each is compared with every name.
_MOST_WILDCARDS = 10_000


def _has_wildcard(pattern: str) -> bool:
    return any(character in pattern for character in "*?[")


def _config(entry: Any) -> tuple[str, Config]:
    """Name and content of an entry of `configs`. Raises ValueError, and UnsafePath."""
    if not isinstance(entry, dict) or not _is_text(entry.get("config_name")):
        raise ValueError("a configuration has no 'config_name'")
    name, folder, files = entry["config_name"], entry.get("data_dir", ""), entry.get("data_files")
    if not isinstance(folder, str):
        raise ValueError(f"'data_dir' of '{name}' is no text")
    folder = posixpath.normpath(_inside(folder)) if folder not in ("", *_NULL) else ""
    return name, Config(
        None if files is None or files in ("", *_NULL) else _patterns(name, files),
        "" if folder == "." else folder,
        entry.get("default") in ("true", "True", "TRUE"),
    )


#: How YAML writes that there is nothing.
_NULL = ("null", "~", "Null", "NULL")


def _patterns(name: str, files: Any) -> dict[str, list[str]]:
    """The patterns of each split: from a pattern, a list of them, or a list of splits with one or
    several."""
    entries = files if isinstance(files, list) else [files]
    by_split: dict[str, list[str]] = {}
    for entry in entries:
        split, paths = "train", [entry]
        if isinstance(entry, dict):
            split, path = entry.get("split", ""), entry.get("path")
            paths = path if isinstance(path, list) else [path]
            if not _is_text(split) or split in by_split:
                raise ValueError(f"'data_files' of '{name}' names a split twice, or not at all")
        if not all(map(_is_text, paths)):
            raise ValueError(f"'data_files' of '{name}' are neither patterns nor splits with them")
        by_split.setdefault(split, []).extend(map(_inside, paths))
    return by_split


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _inside(pattern: str) -> str:
    path = PurePosixPath(pattern)
    if path.is_absolute() or ".." in path.parts or ":" in pattern or "\0" in pattern:
        raise UnsafePath(
            f"'README.md' lists '{trim(pattern)}', which lies outside the dataset's folder. It is "
            "not read."
        )
    return pattern


def _choose_subset(title: str, configs: Mapping[str, Config], subset: str | None) -> str:
    if subset is None:
        default = [name for name, config in configs.items() if config.is_default]
        candidates = default or (["default"] if "default" in configs else list(configs))
        if len(candidates) == 1:
            return candidates[0]
    elif subset in configs:
        return subset
    few = [trim(name) for name in configs][:_MOST_NAMED]
    names = ", ".join(few) + (f" and {len(configs) - len(few):,} more" * (len(configs) > len(few)))
    what = f"has no subset '{trim(subset)}'" if subset else f"has {len(configs)} subsets"
    raise DatasetFormatError(
        f"'{trim(title)}' {what}. Choose one: {names}.", **where_to_state("subset")
    )


#: Subsets that a message names.
_MOST_NAMED = 50


def _names_below(folder: Path) -> frozenset[str]:
    """The files below a folder, relative to it; links to folders are not followed."""
    return frozenset(
        Path(place, name).relative_to(folder).as_posix()
        for place, _, files in os.walk(folder)
        for name in files
    )


def matching(pattern: str, names: Collection[str]) -> list[str]:
    """The names that match, sorted. `*`, `?` and `[…]` stand for characters of one folder, the
    component `**` for any number of folders. Hidden files, folders such as `__MACOSX` and files
    about the repository have to be named.

    >>> matching("**/*.csv", ["a.csv", "x/b.csv", "x/.c.csv", "x/__pycache__/d.csv", "e.tsv"])
    ['a.csv', 'x/b.csv']
    """
    parts = pattern.split("/")
    if any("**" in part and part != "**" for part in parts):
        raise DatasetFormatError(
            f"'README.md' lists '{trim(pattern)}': '**' stands for whole folders, as in "
            "'data/**/*.csv'."
        )
    if not _has_wildcard(pattern):
        return [pattern] if pattern in names else []
    start = re.split(r"[*?[]", pattern, maxsplit=1)[0]
    matchers = [None if part == "**" else _matcher(part) for part in parts]
    return sorted(
        name for name in names
        if name.startswith(start)
        and not _is_hidden(name, pattern)
        and _matches(matchers, name.split("/"))
    )  # fmt: skip


@cache
def _matcher(part: str) -> Callable[[str], object]:
    # The expressions of `fnmatch` never try a position twice: no pattern takes long.
    return re.compile(translate(part)).match


def _matches(matchers: Sequence[Callable[[str], object] | None], parts: Sequence[str]) -> bool:
    """Whether the components match; `**` (None) any number of them, at the end at least one."""
    ends = {0}
    for number, matcher in enumerate(matchers):
        if matcher is None:
            least = min(ends, default=len(parts) + 1) + (number == len(matchers) - 1)
            ends = set(range(least, len(parts) + 1))
        else:
            ends = {end + 1 for end in ends if end < len(parts) and matcher(parts[end])}
    return len(parts) in ends


def _is_hidden(name: str, pattern: str) -> bool:
    """Whether a part of the name is hidden, or a file about the repository, and the pattern does
    not name it."""
    path, glob = PurePosixPath(name), PurePosixPath(pattern)

    def count(parts: Iterable[str], mark: str) -> int:
        return sum(part.startswith(mark) and part not in (".", "..") for part in parts)

    return (
        count(path.parts, ".") != count(glob.parts, ".")
        or count(path.parts[:-1], "__") != count(glob.parts[:-1], "__")
        or (path.name in _IGNORED and path.name != glob.name)
    )


def _by_layout(names: Iterable[str]) -> dict[str, str]:
    """The files to read and the splits that the names of their tables and folders state, "" for
    none."""
    visible = sorted(name for name in names if not _is_hidden(name, ""))
    return dict.fromkeys(visible, "") | splits.splits_of(_tables_among(visible))


def _tables_among(names: Iterable[str]) -> list[str]:
    """The names of tables: those of the most common type that is there."""
    data = [name for name in names if PurePosixPath(name).name not in _ABOUT]
    suffixes = {name: PurePosixPath(name).suffix.lower() for name in data}
    kind = next((k for k in _KINDS if any(suffix in k for suffix in suffixes.values())), ())
    return [name for name in data if suffixes[name] in kind]


def _source_tables(folder: Path, splits: Mapping[str, str]) -> SourceTables | None:
    tables = _tables_among(splits)
    if not tables:
        return None
    return SourceTables(
        [folder / name for name in tables],
        {folder / name: splits[name] for name in tables if splits[name]},
    )
