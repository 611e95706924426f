"""A clone of a dataset of the Hugging Face hub: which files are data, and of which split.

The card (README.md) may list configurations, called subsets on the hub, with the files of each
split; without that the names of folders and files say it. Both are found by the `datasets`
library's own rules, but nothing outside the folder is ever looked at.
"""

from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from backend.datasets.cells import shown
from backend.datasets.regular_files import read_regular, read_within
from backend.errors import DatasetFormatError, UnsafePath

#: The files that are read, the most usual first; of a folder without a card only one kind.
_KINDS = (
    (".parquet",),
    (".arrow",),
    (".jsonl", ".ndjson"),
    (".csv", ".tsv"),
    (".tar",),
    (".json",),
)
#: Files of the hub and of libraries that are no data.
_ABOUT = ("dataset_infos.json", "dataset_info.json", "dataset_dict.json", "state.json")
_MOST_CARD = 4_000_000
_POINTER = b"version https://git-lfs.github.com/"
_POINTER_BYTES = 1024


@dataclass(frozen=True)
class DataFiles:
    """Tables in order, and the split of each where one is said."""

    tables: list[Path]
    splits: dict[Path, str] = field(default_factory=dict)


def listed_files(folder: Path, subset: str | None = None) -> DataFiles | None:
    """What the card lists, of one configuration; None if it lists nothing.

    Raises DatasetFormatError if the card is broken, lists files that are not there, or lists
    several configurations and none is chosen; UnsafePath if it lists what lies elsewhere.
    """
    configs = _configs(folder)
    if not configs:
        if subset is not None:
            raise DatasetFormatError(
                f"'{shown(folder.name)}' has no subset '{shown(subset)}' (--subset): no README.md "
                "in it lists any."
            )
        return None
    chosen = configs[_chosen(folder, configs, subset)]
    by_split = _by_split(folder, chosen.get("data_files"), chosen.get("data_dir"))
    return _files(folder, by_split) if by_split else found_files(folder)


def found_files(folder: Path) -> DataFiles | None:
    """What the names of files and folders say, as `load_dataset(folder)` reads them."""
    from datasets.data_files import get_data_patterns

    try:
        return _files(folder, get_data_patterns(folder.as_posix()))
    except FileNotFoundError:
        return None


def check_pointer(table: Path) -> None:
    """Raise DatasetFormatError if a clone left the file itself on its server."""
    try:
        if not table.is_file() or table.stat().st_size > _POINTER_BYTES:
            return
        content = read_regular(table, _POINTER_BYTES)
    except (OSError, ValueError):
        return  # whoever reads it says why
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
    except Exception as problem:  # YAML's own errors, and what the library says of its content
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
    listed = ", ".join(shown(name) for name in configs)
    what = f"has no subset '{shown(subset)}'" if subset else f"has {len(configs)} subsets"
    raise DatasetFormatError(f"'{shown(folder.name)}' {what}. Choose one with --subset: {listed}.")


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


def _files(folder: Path, by_split: dict[str, list[str]]) -> DataFiles | None:
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
    kind = next((k for k in _KINDS if any(p.suffix.lower() in k for p in data)), ())
    tables = [p for p in data if p.suffix.lower() in kind]
    if not tables:
        return None
    # Where nothing is said, the library says "train".
    says_nothing = list(by_split) == ["train"] and all(p == "**" for p in by_split["train"])
    return DataFiles(tables, {} if says_nothing else {p: splits[p] for p in tables})


def _check_inside(pattern: str) -> None:
    path = PurePosixPath(pattern)
    if path.is_absolute() or ".." in path.parts or ":" in pattern or "\0" in pattern:
        raise UnsafePath(
            f"'README.md' lists '{shown(pattern)}', which lies outside the dataset's folder. It is "
            "not read."
        )
