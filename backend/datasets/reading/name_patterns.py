"""Patterns of file names as a dataset's card lists them, and which files they mean.

A pattern is compared with the names of the files that are there, and opens nothing.
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from fnmatch import translate
from functools import cache
from pathlib import PurePosixPath

from backend.datasets.cells import trim
from backend.errors import DatasetFormatError

#: Metadata files of the Hub and of libraries.
ABOUT = ("dataset_infos.json", "dataset_info.json", "dataset_dict.json", "state.json")
#: Files that only a pattern with their name means.
_IGNORED = ("README.md", "croissant.json", "config.json", "dummy_data.zip", *ABOUT[:3])


def has_wildcard(pattern: str) -> bool:
    return any(character in pattern for character in "*?[")


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
    if not has_wildcard(pattern):
        return [pattern] if pattern in names else []
    start = re.split(r"[*?[]", pattern, maxsplit=1)[0]
    matchers = [None if part == "**" else _matcher(part) for part in parts]
    return sorted(
        name for name in names
        if name.startswith(start)
        and not is_skipped(name, pattern)
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


def is_skipped(name: str, pattern: str) -> bool:
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
