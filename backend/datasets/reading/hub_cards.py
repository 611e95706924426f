"""What the card of a dataset (README.md) lists: configurations, called subsets on the Hugging Face
Hub, with the files of each split.

The rules are those of the `datasets` library, but apply to the names of the files that are there,
and to nothing else: no library reads a pattern or a path that somebody else wrote.
"""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from backend.datasets.cells import trim
from backend.datasets.columns import MODEL_WRITERS, WRITERS, usual_name
from backend.datasets.read_options import where_to_state
from backend.datasets.reading.name_patterns import has_wildcard, matching
from backend.datasets.reading.named_tables import splits_by_name
from backend.datasets.safe_files.regular_files import read_within
from backend.errors import DatasetFormatError, UnsafePath

MOST_CARD = 4_000_000


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
            inner = splits_by_name([n.removeprefix(below) for n in names if n.startswith(below)])
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


def configs_in(folder: Path) -> dict[str, Config]:
    return configs_of(card_of(folder))


def card_of(folder: Path) -> str:
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
        data = _metadata_of(card_of(folder))
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
    if sum(map(has_wildcard, patterns)) > _MOST_WILDCARDS:
        raise DatasetFormatError(
            f"'README.md' lists more than {_MOST_WILDCARDS:,} patterns. Give the data files "
            "themselves."
        )
    return configs


#: Patterns with wildcards in a card: each is compared with every name.
_MOST_WILDCARDS = 10_000


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


def choose_subset(title: str, configs: Mapping[str, Config], subset: str | None) -> str:
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


def no_subsets(title: str, subset: str) -> DatasetFormatError:
    return DatasetFormatError(
        f"'{trim(title)}' has no subset '{trim(subset)}': no README.md in it lists any."
    )
