"""Datasets of the Hugging Face Hub: downloaded once and read from disk, or a local clone.

A clone's card (README.md) may list configurations, called subsets on the Hub, with the files of
each split; otherwise splits are inferred from folder and file names. Both follow the rules of the
`datasets` library, but nothing outside the folder is ever accessed.
"""

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath, PurePosixPath
from typing import Any

from backend.datasets.cells import shown
from backend.datasets.read_options import is_hidden, where_to_state
from backend.datasets.regular_files import open_within, read_within
from backend.datasets.splits import splits_of
from backend.errors import DatasetFormatError, DatasetNotFound, UnsafePath

#: Distinguishes the name of a Hub dataset from a path.
PREFIX = "hf:"


def fetch(name: str, folder: Path) -> Path:
    """Save the dataset `name` (`owner/dataset` or `owner/dataset@configuration`) below `folder`;
    return its directory. A dataset that is already present is not downloaded again.

    Raises DatasetNotFound if it cannot be downloaded.
    """
    plain, _, configuration = name.removeprefix(PREFIX).partition("@")
    target = folder / "".join(c if c.isalnum() or c in "._-" else "_" for c in name)
    if (target / "dataset_dict.json").is_file():
        return target
    import datasets

    datasets.disable_progress_bars()
    try:
        dataset = datasets.load_dataset(plain, configuration or None)
    except Exception as problem:
        # The library raises arbitrary errors: network, parser, missing permissions.
        message = str(problem.__cause__ or problem).splitlines() or [type(problem).__name__]
        reason = message[0][:200].rstrip(".")
        raise DatasetNotFound(
            f"The dataset '{plain}' could not be fetched from the hub: {reason}. Check the name "
            "and the network; gated data needs HF_TOKEN."
        ) from problem
    part = target.with_name(f".{target.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    dataset.save_to_disk(str(part))
    part.rename(target)
    return target


#: Supported file types, the most common first; only one type is read from a folder.
_KINDS = (
    (".parquet",),
    (".arrow",),
    (".jsonl", ".ndjson"),
    (".csv", ".tsv"),
    (".tar",),
    (".json",),
)
#: Metadata files of the Hub and of libraries.
_ABOUT = ("dataset_infos.json", "dataset_info.json", "dataset_dict.json", "state.json")
_MOST_CARD = 4_000_000
_POINTER = b"version https://git-lfs.github.com/"
_POINTER_BYTES = 1024


@dataclass(frozen=True)
class SourceTables:
    """The tables of a source in order, the split of those that have one, and what was not read."""

    tables: list[Path]
    splits: dict[Path, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def listed_files(folder: Path, subset: str | None = None) -> SourceTables | None:
    """The files of one configuration listed in the card; None if it lists nothing.

    Raises DatasetFormatError if the card is broken, lists missing files, or lists several
    configurations and none is chosen; UnsafePath if it lists files outside the folder.
    """
    configs = _configs(folder)
    if not configs:
        if subset is not None:
            raise DatasetFormatError(
                f"'{shown(folder.name)}' has no subset '{shown(subset)}': no README.md "
                "in it lists any."
            )
        return None
    config = configs[_chosen(folder, configs, subset)]
    by_split = _by_split(folder, config.get("data_files"), config.get("data_dir"))
    return _files(folder, by_split) if by_split else found_files(folder)


def found_files(folder: Path) -> SourceTables | None:
    """The files of the most common type below the folder, and the splits that their names and
    folders state; None if there are no data files."""
    paths = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*"))}
    names = [name for name, path in paths.items()
             if not is_hidden(name) and path.name not in _ABOUT and path.is_file()]  # fmt: skip
    kind = _kind_of(map(PurePosixPath, names))
    tables = [name for name in names if paths[name].suffix.lower() in kind]
    if not tables:
        return None
    splits = splits_of(tables)
    return SourceTables(
        [paths[name] for name in tables], {paths[name]: split for name, split in splits.items()}
    )


def _kind_of(files: Iterable[PurePath]) -> tuple[str, ...]:
    """The endings of the most common type of tables among files; () if none is a table."""
    endings = {file.suffix.lower() for file in files}
    return next((kind for kind in _KINDS if not endings.isdisjoint(kind)), ())


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
            f"'{shown(table.name)}' is a pointer of Git LFS; the file itself is still on the hub. "
            "Run `git lfs pull` in the clone."
        )


def _configs(folder: Path) -> dict[str, dict[str, Any]]:
    card = folder / "README.md"
    if not card.is_file():
        return {}
    try:
        text = read_within(folder, card, _MOST_CARD).decode("utf-8-sig")
    except (OSError, ValueError) as problem:
        raise DatasetFormatError(f"The card 'README.md' cannot be read: {problem}.") from problem
    if not text.startswith("---") or "configs" not in text:
        return {}
    from datasets.utils.metadata import MetadataConfigs
    from huggingface_hub import DatasetCard

    try:
        configs = MetadataConfigs.from_dataset_card_data(DatasetCard(text, True).data)
    except Exception as problem:  # YAML errors, and the library's own for invalid content
        reason = (str(problem).strip().splitlines() or [type(problem).__name__])[0][:200]
        raise DatasetFormatError(
            f"The list of configurations in 'README.md' is broken: {reason}. Repair it, or give "
            "the data files themselves."
        ) from problem
    return {name: about for name, about in configs.items() if isinstance(about, dict)}


def _chosen(folder: Path, configs: dict[str, dict[str, Any]], subset: str | None) -> str:
    if subset is None:
        default = [name for name, about in configs.items() if about.get("default")]
        candidates = default or (["default"] if "default" in configs else list(configs))
        if len(candidates) == 1:
            return candidates[0]
    elif subset in configs:
        return subset
    names = ", ".join(shown(name) for name in configs)
    what = f"has no subset '{shown(subset)}'" if subset else f"has {len(configs)} subsets"
    raise DatasetFormatError(
        f"'{shown(folder.name)}' {what}. Choose one: {names}.", **where_to_state("subset")
    )


def _by_split(folder: Path, data_files: Any, data_dir: Any) -> dict[str, list[str]]:
    from datasets.data_files import get_data_patterns, sanitize_patterns

    if data_files is None and isinstance(data_dir, str):
        _check_inside(data_dir)
        try:
            patterns = get_data_patterns((folder / data_dir).as_posix())
        except FileNotFoundError:
            raise DatasetFormatError(
                f"'README.md' lists the folder '{shown(data_dir)}', which holds no data."
            ) from None
        return {s: [f"{data_dir.strip('/')}/{p}" for p in patterns[s]] for s in patterns}
    return dict(sanitize_patterns(data_files)) if data_files is not None else {}


def _files(folder: Path, by_split: dict[str, list[str]]) -> SourceTables | None:
    from datasets.data_files import resolve_pattern

    splits: dict[Path, str] = {}
    for split, patterns in by_split.items():
        for pattern in patterns:
            _check_inside(pattern)
            try:
                names = resolve_pattern(pattern, folder.as_posix())
            except FileNotFoundError:
                raise DatasetFormatError(
                    f"'README.md' lists '{shown(pattern)}' for '{shown(str(split))}', and there "
                    "is no such file. Is the clone complete?"
                ) from None
            for name in sorted(names):
                splits.setdefault(Path(name), str(split))
    data = [p for p in splits if p.name not in _ABOUT]
    kind = _kind_of(data)
    tables = [p for p in data if p.suffix.lower() in kind]
    if not tables:
        return None
    # Without any indication, the library assigns everything to "train".
    says_nothing = list(by_split) == ["train"] and all(p == "**" for p in by_split["train"])
    return SourceTables(tables, {} if says_nothing else {p: splits[p] for p in tables})


def _check_inside(pattern: str) -> None:
    path = PurePosixPath(pattern)
    if path.is_absolute() or ".." in path.parts or ":" in pattern or "\0" in pattern:
        raise UnsafePath(
            f"'README.md' lists '{shown(pattern)}', which lies outside the dataset's folder. It is "
            "not read."
        )
