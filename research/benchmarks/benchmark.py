"""What a benchmark consists of, and what every reader of one needs.

A reader gets the path that the user gave and a `Pictures`, and returns `Content`. It never drops an
entry: what cannot be used is refused with counts, so that no figure is of fewer captions than it
says.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from backend.datasets.cells import trim
from backend.datasets.safe_files.containers import ImageFile
from backend.datasets.safe_files.regular_files import read_regular
from backend.errors import DatasetFormatError

#: left, top, right, bottom in pixels.
Box = tuple[int, int, int, int]


@dataclass(frozen=True)
class Item:
    """A caption of a picture.

    * `kind`: what was made wrong, or where the caption comes from; "" if it belongs to all kinds;
    * `group`: captions that depend on each other share it (one picture, one example): they are
      drawn together in a bootstrap;
    * `wrong_words`: indices in `Caption.parse(caption)`; None where words are not annotated;
    * `box`: the part of the picture that is meant; None: all of it.
    """

    id: str
    picture: ImageFile
    caption: str
    is_wrong: bool
    kind: str = ""
    group: str = ""
    wrong_words: frozenset[int] | None = None
    box: Box | None = None


@dataclass(frozen=True)
class Comparison:
    """A hit if in each of `orders` the first row of `Content.items` scores strictly higher than the
    second. `figure`: what the share of hits is called."""

    group: str
    orders: tuple[tuple[int, int], ...]
    kind: str = ""
    figure: str = "pairwise accuracy"


@dataclass(frozen=True)
class Content:
    """`notes`: sentences about the files that belong in the report."""

    items: list[Item]
    comparisons: list[Comparison] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class PublishedFigure:
    """A figure that others published; `source`: where it can be looked up."""

    who: str
    figure: str
    value: float
    source: str


class Pictures:
    """The pictures under a folder. `skip`: leave out what is not there, and count it."""

    def __init__(self, root: Path, skip: bool = False) -> None:
        self.root, self.skip = root, skip
        self.missing: list[str] = []
        self._wanted = 0

    def find(self, *names: str) -> Path | None:
        """The first of the names that is a file below the folder; None if there is none, which
        `check` reports."""
        self._wanted += 1
        for name in names:
            path = self.root / name
            if path.resolve().is_relative_to(self.root.resolve()) and path.is_file():
                return path
        self.missing.append(names[0])
        return None

    def check(self) -> list[str]:
        """Notes on entries that were left out. Raises DatasetFormatError if pictures are missing
        and are not to be skipped, or if none is there."""
        if not self.missing:
            return []
        count = f"{len(self.missing):,} of {self._wanted:,} entries name a picture that is not in"
        sentence = f"{count} {self.root}, '{trim(self.missing[0])}' first."
        if not self.skip or len(self.missing) == self._wanted:
            raise DatasetFormatError(
                sentence, terminal="Name the pictures' folder with --image-root, or leave those "
                "entries out with --skip-missing.",
            )  # fmt: skip
        return [f"{sentence} They were left out."]


@dataclass(frozen=True)
class Benchmark:
    """`give`: what the user names as its path; `layout`: where the layout of its files is described
    or read by its authors; `cited_for`: the figures it is cited for, which head the report;
    `sizes`: entries of each published file, by its name."""

    name: str
    title: str
    give: str
    layout: str
    read: Callable[[Path, Pictures], Content]
    cited_for: Sequence[str] = ("AUC",)
    published: Sequence[PublishedFigure] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)

    def content(self, path: Path, pictures: Pictures) -> Content:
        """Raises DatasetFormatError for a file that is not of this layout, for missing pictures,
        duplicated ids and empty captions."""
        content = self.read(path, pictures)
        notes = [*content.notes, *pictures.check()]
        twice = [name for name, n in Counter(item.id for item in content.items).items() if n > 1]
        if twice:
            raise DatasetFormatError(
                f"{len(twice):,} of {len(content.items):,} captions of {path} share their id with "
                f"another, '{trim(twice[0])}' first: none of them can be told from its double. "
                f"Take the file as {self.title} publishes it."
            )
        empty = [item.id for item in content.items if not item.caption.strip()]
        if empty:
            raise DatasetFormatError(
                f"{len(empty):,} of {len(content.items):,} captions of {path} are empty, that of "
                f"'{trim(empty[0])}' first."
            )
        if len({item.is_wrong for item in content.items}) < 2:
            raise DatasetFormatError(
                f"{len(content.items):,} captions of {path} can be used, and all are "
                f"{'wrong' if content.items and content.items[0].is_wrong else 'right'}: nothing "
                "can be told apart."
            )
        return Content(content.items, content.comparisons, notes)

    def note_size(self, file: Path, count: int) -> list[str]:
        """A note if the file has another number of entries than the published one."""
        size = self.sizes.get(file.name, count)
        if size == count:
            return []
        return [f"{file.name} has {count:,} entries, the published one {size:,}: another version."]


def read_json(path: Path, title: str) -> Any:
    """Raises DatasetFormatError if the file cannot be read or is no JSON."""
    try:
        return json.loads(read_regular(path).decode("utf-8-sig"))
    except OSError as problem:
        raise DatasetFormatError(
            f"'{path}' cannot be read: {problem.strerror or problem}."
        ) from problem
    except ValueError as problem:
        raise DatasetFormatError(
            f"'{path}' is not a file of {title}: no JSON ({problem})."
        ) from problem


def read_json_lines(path: Path, title: str) -> list[Any]:
    """The objects of a file with one a line; raises DatasetFormatError, which names the line."""
    try:
        lines = read_regular(path).decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise DatasetFormatError(f"'{path}' cannot be read as UTF-8 text.") from problem
    entries = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                entries.append(json.loads(line))
            except ValueError as problem:
                raise DatasetFormatError(
                    f"'{path}' is not a file of {title}: line {number} is no JSON ({problem})."
                ) from problem
    return entries


def check_fields(
    entries: Iterable[Any], fields: Mapping[str, type | tuple[type, ...]], path: Path, title: str
) -> list[dict[str, Any]]:
    """The entries, all of which have these fields with values of these types.

    Raises DatasetFormatError with the number of entries that lack one: another version of a
    benchmark is recognised here and never read in part.
    """
    records = list(entries)
    if not records:
        raise DatasetFormatError(f"'{path}' has no entries.")
    problems = [
        (number, name)
        for number, entry in enumerate(records)
        for name, kinds in fields.items()
        if not isinstance(entry, dict) or not isinstance(entry.get(name), kinds)
    ]
    if problems:
        number, name = problems[0]
        lacking = len({number for number, _ in problems})
        entry = records[number]
        has = ", ".join(map(str, entry)) if isinstance(entry, dict) else type(entry).__name__
        raise DatasetFormatError(
            f"'{path}' is not a file of {title}, or another version of it: {lacking:,} of "
            f"{len(records):,} entries are not of its layout. Entry {number} has no usable "
            f"'{name}'; it has: {trim(has)}."
        )
    return records


def word_indices(caption: str, spans: Iterable[tuple[int, int]]) -> frozenset[int]:
    """The words of a caption that spans of characters touch.

    >>> sorted(word_indices("A red dog.", [(2, 5), (6, 7)]))
    [1, 2]
    """
    from backend.engine.captions import Caption

    ranges = list(spans)
    return frozenset(
        index
        for index, (start, end) in enumerate(Caption.parse(caption).spans)
        if any(start < last and first < end for first, last in ranges)
    )
