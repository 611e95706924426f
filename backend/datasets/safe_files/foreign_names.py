"""Names of pictures as other systems and programs write them, found among those that are there.

One rule for files of a folder and members of an archive: a name is tried as it is, then without
what other systems add to one (blanks, `file:`, Label Studio's address, backslashes, `%20`, folders
of another machine), then in another normal form or case, then with the ending that it lacks. What
is not the only one that it may be is not guessed.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import PurePosixPath
from typing import Protocol
from urllib.parse import unquote

from backend.datasets.cells import BadCell, trim
from backend.datasets.read_options import PICTURES
from db.texts import compose

_ABSOLUTE = re.compile(r"/|[A-Za-z]:/")
#: Label Studio's address of a file in its local storage.
_LOCAL_FILE = re.compile(r"(?:https?://[^/?]+)?/data/local-files/?\?d=", re.IGNORECASE)


class Names(Protocol):
    """The names in a place, with slashes, relative to it."""

    def has(self, name: str) -> bool: ...

    def names_in(self, folder: str) -> dict[str, list[str]]:
        """The names in one of its folders by their form in `fold_name`; empty if there are too
        many."""
        ...


def fold_name(name: str) -> str:
    """What is equal of names that differ in case and in the normal form of letters alone."""
    return compose(name).lower()


def is_absolute_here(name: str) -> bool:
    """Whether it is the absolute path of something on this machine."""
    try:
        return bool(_ABSOLUTE.match(name)) and os.path.exists(name)
    except ValueError:
        return False


class ForeignNames:
    """Finds the names of a table in one place."""

    def __init__(self, place: Names) -> None:
        self._place = place
        #: What names of another machine begin with, instead of the place.
        self._prefix = ""

    def learn(self, names: Collection[str]) -> tuple[int, int]:
        """Choose the prefix of another machine by some names; how many of them are there as they
        are, and how many after all."""
        foreign = [
            other
            for name in names
            for other in _variants(name)
            if _ABSOLUTE.match(other) and not is_absolute_here(other)
        ]
        for is_there in (self._place.has, self._is_matched):
            prefixes: Counter[str] = Counter()
            for name in foreign:
                parts = name.split("/")
                prefixes.update(
                    "/".join(parts[:n]) + "/"
                    for n in range(1, len(parts))
                    if is_there("/".join(parts[n:]))
                )
            if prefixes:
                most = max(prefixes.values())
                self._prefix = min((p for p in prefixes if prefixes[p] == most), key=len)
                break
        return (
            sum(self._place.has(name) for name in names),
            sum(self._is_found(name) for name in names),
        )

    def find(self, name: str) -> tuple[str, str] | None:
        """The name in the place, and how the given one differs from it, "" if it does not; None if
        there is none. Raises BadCell if several may be meant."""
        if self._place.has(name):
            return name, ""
        if is_absolute_here(name):
            return None
        plainer = self._plainer(name)
        for other, how in plainer.items():
            if self._place.has(other):
                return other, how
        for other, how in plainer.items():
            if (match := self._match(other)) is not None:
                return match[0], match[1] or how
        return None

    def _is_matched(self, name: str) -> bool:
        try:
            return self._match(name) is not None
        except BadCell:
            return True

    def _is_found(self, name: str) -> bool:
        try:
            return self.find(name) is not None
        except BadCell:
            return True

    def _plainer(self, name: str) -> dict[str, str]:
        """The name without some of what other systems add to one, and what that is."""
        names = _variants(name)
        for other in list(names):
            if self._prefix and other.startswith(self._prefix):
                how = f"begin with a folder of another machine ('{trim(self._prefix)}')"
                names.setdefault(other.removeprefix(self._prefix), how)
        return names

    def _match(self, name: str) -> tuple[str, str] | None:
        """As `find`, of a name without what other systems add."""
        if self._place.has(name):
            return name, ""
        if (other := self._in_other_form(name)) is not None:
            is_same = compose(other) == compose(name)
            what = "normal form (macOS)" if is_same else "upper and lower case"
            return other, f"differ from their files in {what}"
        if (other := self._with_ending(name)) is not None:
            return other, "lack the ending of their files"
        return None

    def _in_other_form(self, name: str) -> str | None:
        """The only name that differs in case and in the normal form alone."""
        folder = ""
        for part in name.split("/"):
            if not part:
                return None
            if not self._place.has(f"{folder}{part}"):
                names = self._place.names_in(folder.rstrip("/")).get(fold_name(part), [])
                same = [other for other in names if compose(other) == compose(part)]
                if len(same or names) != 1:
                    return None
                (part,) = same or names
            folder += f"{part}/"
        return folder.rstrip("/")

    def _with_ending(self, name: str) -> str | None:
        """The only picture with that name and an ending. Raises BadCell if there are several."""
        if not name or name.endswith("/") or name.lower().endswith(PICTURES):
            return None
        folder, _, last = name.rpartition("/")
        if (place := self._in_other_form(folder) if folder else "") is None:
            return None
        before = f"{place}/" if place else ""
        names = self._place.names_in(place)
        pictures = [n for ending in PICTURES for n in names.get(fold_name(f"{last}{ending}"), [])]
        pictures = [other for other in pictures if PurePosixPath(other).stem == last] or pictures
        if not names:  # too many names, which are asked for one by one
            pictures = [f"{last}{e}" for e in PICTURES if self._place.has(f"{before}{last}{e}")]
        if len(pictures) > 1:
            few = ", ".join(f"'{trim(other)}'" for other in sorted(pictures)[:4])
            raise BadCell(
                f"'{trim(name)}' may be any of {few}. Write the ending of the one that is meant"
            )
        return f"{before}{pictures[0]}" if pictures else None


def _variants(name: str) -> dict[str, str]:
    """The name, and without each combination of what other systems add to one; how it then differs
    from the given one, "" if it does not."""
    variants = {name: ""}
    for step, what in _STEPS:
        for other in list(variants):
            variants.setdefault(step(other), what)
    return variants


def _without_scheme(name: str) -> str:
    if not name.lower().startswith("file:"):
        return name
    return unquote(name[len("file:") :].removeprefix("//localhost").removeprefix("//"))


def _without_local_storage(name: str) -> str:
    """The path on the machine of Label Studio, or below the folder that it serves."""
    match = _LOCAL_FILE.match(name)
    return f"/{unquote(name[match.end() :]).lstrip('/')}" if match else name


def _with_slashes(name: str) -> str:
    return name.replace("\\", "/")


def _without_dots(name: str) -> str:
    return "/".join(part for part in name.split("/") if part != ".")


def _in_images_folder(name: str) -> str:
    """TextCaps' table says `train/ID`, its archive `train_images/ID.jpg`."""
    folder, _, rest = name.partition("/")
    is_plain = rest and ".." not in rest.split("/")  # what leads out of the folder stays as it is
    return f"{folder}_images/{rest}" if folder and is_plain else name


#: What other systems add to a name, and how it is called.
_STEPS: tuple[tuple[Callable[[str], str], str], ...] = (
    (str.strip, "have blanks around them"),
    (_without_local_storage, "are addresses of Label Studio"),
    (_without_scheme, "begin with 'file:'"),
    (_with_slashes, "have backslashes"),
    (unquote, "have characters written as %20"),
    (_without_dots, "begin with './'"),
    (_in_images_folder, "name the folder 'train_images' 'train'"),
)


class NamesByFolder:
    """The names of an archive's members."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)
        self._folders: dict[str, dict[str, list[str]]] | None = None

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def has(self, name: str) -> bool:
        return name in self._names

    def names_in(self, folder: str) -> dict[str, list[str]]:
        if self._folders is None:
            self._folders = {}
            for name in self._names:
                path = PurePosixPath(name)
                places = [path, *path.parents][:-1]
                for place in places:
                    above = "" if str(place.parent) == "." else str(place.parent)
                    names = self._folders.setdefault(above, {}).setdefault(
                        fold_name(place.name), []
                    )
                    if place.name in names:
                        break  # so are the folders above it
                    names.append(place.name)
        return self._folders.get(folder, {})


class NamesBelow:
    """The names of an archive's members below a folder of it."""

    def __init__(self, names: NamesByFolder, folder: str) -> None:
        self._names, self._before = names, f"{folder}/" if folder else ""

    def has(self, name: str) -> bool:
        return self._names.has(f"{self._before}{name}")

    def names_in(self, folder: str) -> dict[str, list[str]]:
        return self._names.names_in(f"{self._before}{folder}".rstrip("/"))
