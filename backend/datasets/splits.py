"""Which split the names of folders and files state: one rule for all readers, and for the names
that exports write.

It is the rule of the Hugging Face hub's loaders (`datasets.data_files`): a word for a split,
delimited by anything but letters (`dev`, `my-train2014`), stands for train, validation or test.
Those loaders leave out what lies beside such a folder or file under any other name (`testmini`);
here it is a split of that name.
"""

import re
from collections.abc import Iterable
from pathlib import PurePath, PurePosixPath

#: The split that each word stands for.
WORDS = {
    "train": "train", "training": "train",
    "validation": "validation", "valid": "validation", "dev": "validation", "val": "validation",
    "test": "test", "testing": "test", "eval": "test", "evaluation": "test",
}  # fmt: skip
_WORD = "|".join(sorted(WORDS, key=len, reverse=True))
#: The place before a word for a split, and the word.
STATED = re.compile(rf"(?:^|(?<=[-._ 0-9]))(?=({_WORD})(?:[-._ 0-9]|$))", re.IGNORECASE)
#: Shards whose name says their split, whatever it is called.
_SHARD = re.compile(r"data/(\w+(?:\.\w+)*)-\d{5}-of-\d{5}[^/]*\.[^/]+")
_COCO = re.compile(r"captions_(.+?)[-_]?20\d\d")
#: What tells the shards of a split apart; a short number may belong to its name (`fold_1`).
_NUMBER = re.compile(r"[-_. ]*(?:\d+-of-\d+|\d{3,})$")


def split_in(name: str) -> str:
    """train, validation or test if the name of a folder or file holds a word for it, else "".

    >>> split_in("my-Eval2014"), split_in("dev"), split_in("testmini"), split_in("contest")
    ('test', 'validation', '', '')
    """
    match = STATED.search(name)
    return WORDS[match[1].lower()] if match else ""


def leading_split(name: str) -> str:
    """As `split_in`, for a name that begins with such a word.

    >>> leading_split("test-2"), leading_split("my-test-2")
    ('test', '')
    """
    match = STATED.match(name)
    return WORDS[match[1].lower()] if match else ""


class SplitFolders:
    """The splits that folders state. `folders`: those with files, relative to the source."""

    def __init__(self, folders: Iterable[PurePath]) -> None:
        every = {place for folder in folders for place in (folder, *folder.parents)}
        #: The folders that hold a folder per split.
        self._above = {folder.parent for folder in every if leading_split(folder.name)}

    def of(self, folder: PurePath) -> str:
        """The split of the files in a folder; "" if neither it nor one above states any."""
        places = [*reversed(folder.parents), folder][1:]
        splits = (split_in(place.name) for place in places)
        beside = (place.name for place in places if place.parent in self._above)
        return next(filter(None, (*splits, *beside)), "")


def splits_of(paths: Iterable[str]) -> dict[str, str]:
    """The splits of tables and shards, by their paths relative to the source; those that state none
    are missing.

    >>> splits_of(["train-0.tar", "testmini-000.tar", "testmini-001.tar"])
    {'train-0.tar': 'train', 'testmini-000.tar': 'testmini', 'testmini-001.tar': 'testmini'}
    >>> splits_of(["dev/0.tar", "minival/0.tar"])
    {'dev/0.tar': 'validation', 'minival/0.tar': 'minival'}
    >>> splits_of(["cats/0.tar", "dogs/0.tar"])
    {}
    """
    files = {path: PurePosixPath(path) for path in paths}
    folders = SplitFolders(file.parent for file in files.values())
    splits = {path: _split_of_file(file, folders) for path, file in files.items()}
    #: The folders that hold a file per split.
    above = {file.parent for path, file in files.items()
             if _SHARD.fullmatch(path) or leading_split(_plain(file))}  # fmt: skip
    for path, file in files.items():
        if not splits[path] and file.parent in above:
            splits[path] = _plain(file)
    return {path: split for path, split in splits.items() if split}


def split_of_shard(shard: PurePath) -> str:
    """The split of a shard that is read by itself, if its name is one of several, from its folder.

    >>> split_of_shard(PurePath("val2017/00001.tar")), split_of_shard(PurePath("dev/pets.tar"))
    ('validation', '')
    """
    return leading_split(shard.parent.name) if shard.stem[-1:].isdigit() else ""


def _split_of_file(file: PurePath, folders: SplitFolders) -> str:
    if shard := _SHARD.fullmatch(str(file)):
        return shard[1]
    if split := folders.of(file.parent) or split_in(file.stem):
        return split
    coco = _COCO.fullmatch(file.stem)
    return coco[1] if coco else ""


def _plain(file: PurePath) -> str:
    """The name of a file without its number, its ending and COCO's prefix.

    >>> [_plain(PurePath(name)) for name in ("my-0001-of-0002.parquet", "captions_val2017.json")]
    ['my', 'val']
    """
    return _NUMBER.sub("", file.stem).removeprefix("captions_")
