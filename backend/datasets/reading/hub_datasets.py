"""Which files of a copy of a dataset of the Hugging Face Hub are read.

Its card may list them; otherwise splits are inferred from the names of folders and files. Both
follow the rules of the `datasets` library.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path, PurePosixPath

from backend.datasets.read_options import CAPTIONS, PICTURES, SOURCES, is_hidden
from backend.datasets.reading.hub_cards import choose_subset, configs_in, configs_of, no_subsets
from backend.datasets.reading.named_tables import splits_by_name, tables_among
from backend.datasets.reading.source_tables import SourceTables
from backend.datasets.reading.tar_descriptions import files_about_tars
from backend.datasets.table_readers import table_readers

#: Tables that hold their pictures; others refer to files beside them.
_HOLD_PICTURES = (".parquet", ".arrow", ".tar")
#: What can be read at all.
_READ = (*SOURCES, *PICTURES, *CAPTIONS, ".tar.gz", ".tgz")


def listed_files(folder: Path, subset: str | None = None) -> SourceTables | None:
    """The files of one configuration listed in the card; None if it lists nothing.

    Raises DatasetFormatError if the card is broken, lists missing files, or lists several
    configurations and none is chosen; UnsafePath if it lists files outside the folder.
    """
    configs = configs_in(folder)
    if not configs:
        if subset is not None:
            raise no_subsets(folder.name, subset)
        return None
    config = configs[choose_subset(folder.name, configs, subset)]
    return tables_by_name(folder, config.splits_of(_names_below(folder)))


def found_files(folder: Path, besides: Collection[Path] = ()) -> SourceTables | None:
    """Files and splits inferred from file and folder names, as by `load_dataset(folder)`, leaving
    out those `besides` which are tables; None if there are no data files."""
    others = {path.relative_to(folder).as_posix() for path in besides}
    return tables_by_name(folder, splits_by_name(_names_below(folder) - others))


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
            raise no_subsets(title, subset)
        return readable
    choice = choose_subset(title, configs, subset)
    subset_files = configs[choice].splits_of(names)
    tables = tables_among(subset_files)
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


def _names_below(folder: Path) -> frozenset[str]:
    """The files below a folder, relative to it; links to folders are not followed."""
    return frozenset(
        Path(place, name).relative_to(folder).as_posix()
        for place, _, files in os.walk(folder)
        for name in files
    )


def tables_by_name(folder: Path, splits: Mapping[str, str]) -> SourceTables | None:
    tables = tables_among(splits)
    if not tables:
        return None
    return SourceTables(
        [folder / name for name in tables],
        {folder / name: splits[name] for name in tables if splits[name]},
    )
